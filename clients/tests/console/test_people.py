"""What people and their devices need: no barriers, any width, light and dark, the keyboard, little to load."""

from importlib.resources import files

import pytest
from playwright.sync_api import expect
from support import catalogs, kept
from support.serving import serving_catalog

VIEWS = ["", "search", "hubs", "map", "versions", "writes", "report"]
WIDTHS = [360, 768, 1280, 3840]
LOOKED_AT = {360: "dark", 1280: "light"}
LARGEST = 100_000
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    path = catalogs.build(tmp_path_factory.mktemp("full"))
    kept.scan_of_words(path)
    with serving_catalog(path) as base:
        yield base


def serious(page):
    """What axe finds that keeps people out."""
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("view", VIEWS)
def test_view_has_no_barriers_and_fits_any_window_in_light_and_dark(visit, full, view):
    page = visit(view and "words", view, base=full, q="amber", id=catalogs.AWKWARD_IDS[0])
    page.locator("main h1").wait_for(state="attached")
    expect(page.get_by_text("Loading …")).to_have_count(0)
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width in LOOKED_AT:
            page.emulate_media(color_scheme=LOOKED_AT[width])
            found[width, LOOKED_AT[width]] = serious(page)
    assert [each for each in found.items() if each[1]] == []


def test_keyboard_reaches_search_and_explains_a_hit(visit):
    page = visit("words")
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Text")).to_be_focused()
    page.get_by_role("searchbox").focus()
    page.keyboard.type("amber")
    page.keyboard.press("Enter")
    expect(page.locator(".example")).to_have_count(0)
    expect(page.locator("pre")).to_contain_text("amber")
    page.locator(".side.corrected .hit .row").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".why")).to_contain_text("Raw rank")
    page.locator(".term", has_text="Strength").focus()
    expect(page.get_by_role("tooltip")).to_contain_text("0 is the raw ranking")
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_be_hidden()


def test_keyboard_opens_a_hub_and_moves_the_map(visit, server):
    page = visit("words", "hubs")
    page.locator("tbody .clip button").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".found-by tbody tr").first).to_be_visible()
    page.goto(f"{server}/console/#/words/map")
    canvas = page.locator(".map canvas")
    canvas.focus()
    page.evaluate(DRAWN)
    for key in ("+", "ArrowLeft", "-"):
        before = canvas.evaluate("c => c.toDataURL()")
        page.keyboard.press(key)
        page.wait_for_function("before => document.querySelector('.map canvas').toDataURL() != before", arg=before)


def test_first_view_is_small(browser, server):
    context = browser.new_context()
    page, sizes = context.new_page(), []
    page.on("response", lambda answer: sizes.append(len(answer.body())) if "/console" in answer.url else None)
    page.goto(f"{server}/console/")
    expect(page.get_by_role("link", name="words", exact=True)).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert 20_000 < sum(sizes) < LARGEST
    context.close()
