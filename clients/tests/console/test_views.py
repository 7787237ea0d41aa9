"""The other views: hubs, map, versions, writes and bank, report."""

import json
import re
import shutil

import httpx
import pytest
from playwright.sync_api import expect
from support import catalogs, kept
from support.serving import serving_catalog

import hubless

READ_KEY, ADMIN_KEY = "reader-0123456789", "admin-0123456789"


def occurrence(server):
    return httpx.get(f"{server}/v1/collections/words/occurrence").json()


def title_of(server, wanted):
    answer = httpx.post(f"{server}/v1/collections/words/points", json={"ids": [wanted]}).json()
    return answer["points"][0]["payload"]["title"]


def test_hubs_are_those_of_the_build_and_the_histogram_counts_all_targets(visit, server):
    built = occurrence(server)
    page = visit("words", "hubs")
    first = page.locator("tbody .clip button").first
    expect(first).to_have_text(title_of(server, built["raw"]["hubs"][0]["id"]))
    expect(page.locator(".figures").first).to_contain_text(f"{built['raw']['skewness']:.2f}")
    unfound = f"{built['chance']['antihub_share'] * catalogs.COUNT:.0f}"
    expect(page.locator(".figures").first).to_contain_text(f"{unfound} by chance")
    expect(page.locator(".uplot canvas")).to_be_visible()
    page.get_by_text("The same in numbers").click()
    counted = page.locator(".numbers tbody td:nth-child(2)").all_inner_texts()
    assert sum(int(text.replace(",", "")) for text in counted) == catalogs.COUNT


def test_first_page_says_what_hubs_are_and_where_to_go(visit):
    page = visit()
    expect(page.locator(".intro")).to_contain_text("found by far too many queries")
    for name, title in (("search numbers", "Search"), ("Hubs", "Hubs"), ("Report", "Report")):
        page.locator(".intro").get_by_role("link", name=name).click()
        expect(page.get_by_role("link", name=title, exact=True)).to_have_attribute("aria-current", "page")
        page.go_back()


def test_newcomer_sees_the_largest_hub_corrected_in_three_clicks(visit, server):
    page = visit("words", "search")
    page.get_by_role("link", name="Hubs").click()
    page.locator("tbody .clip button").first.click()
    page.locator(".found-by tbody a").first.click()
    expect(page).to_have_url(re.compile("kind=bank"))
    hub = occurrence(server)["raw"]["hubs"][0]["id"]
    expect(page.locator(f'.side.raw .hit[data-id="{hub}"]')).to_be_visible()


def test_live_queries_are_counted_beside_those_of_the_build(visit, console):
    with console(catalogs.build) as base:
        numbers = f"{base}/v1/collections/numbers"
        httpx.post(f"{numbers}/query", json={"id": catalogs.LARGEST_ID})
        page = visit("numbers", "hubs", base=base)
        expect(page.get_by_role("heading", name="Live queries")).to_be_visible()
        vector = httpx.get(f"{numbers}/bank/1").json()["vector"]
        httpx.post(f"{numbers}/query", json={"vector": vector})
        page.reload()
        expect(page.get_by_text("Found most often")).to_be_visible()
        expect(page.get_by_text("Skewness as served")).to_be_visible()
        # of a few, their skewness is of chance
        expect(page.get_by_text("queries, raw and corrected")).to_have_count(0)
        expect(page.get_by_text("by 1 different query, too few to go by")).to_be_visible()
        expect(page.get_by_text("clicks or labels tell")).to_be_visible()


def test_hubs_show_the_kept_scan(visit, console):
    def build(path):
        catalogs.build(path)
        kept.scan_of_words(path)

    with console(build) as base:
        page = visit("words", "hubs", base=base)
        planted = page.get_by_role("region", name="Planted hubs")
        expect(planted).to_contain_text("1 target at 0.60 or above")
        expect(planted.locator("tbody tr")).to_have_count(2)
        expect(planted.locator("tbody tr").first).to_contain_text(kept.WHY)
        page.goto(f"{base}/console/#/numbers/hubs")
        expect(planted).to_contain_text("hubless scan --catalog catalog --collection numbers")
        page.close()


def test_map_draws_selects_by_lasso_and_finds_words(visit, server):
    page = visit("words", "map", column="title")
    canvas = page.locator(".map canvas")
    expect(canvas).to_be_visible()
    drawn = "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    page.wait_for_function(f"() => ({drawn})(document.querySelector('.map canvas')) > 10")
    page.get_by_role("button", name="Lasso").click()
    box = canvas.bounding_box()
    left, top, width, height = (box[name] for name in ("x", "y", "width", "height"))
    corners = [(left + 2, top + 60), (left + width - 2, top + 60)]
    corners += [(left + width - 2, top + height - 2), (left + 2, top + height - 2)]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=3)
    page.mouse.up()
    expect(page.get_by_role("heading", name=re.compile(r"\d+ selected"))).to_be_visible()
    assert int(page.get_by_role("heading", name="selected").inner_text().split()[0]) > catalogs.COUNT / 2
    page.get_by_role("searchbox").fill("ember")
    matching = [row for row in catalogs.payload() if "ember" in row["title"]]
    expect(page.get_by_role("heading", name=f"{len(matching)} selected")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the ids").click()
    assert len(json.loads(saved.value.path().read_text())) == len(matching)


def test_map_says_what_is_under_the_pointer_and_zooms(visit):
    page = visit("words", "map")
    canvas = page.locator(".map canvas")
    expect(canvas).to_be_visible()
    box = canvas.bounding_box()
    cards = page.locator(".map .card")
    spots = [(x / 24, y / 24) for y in range(4, 22) for x in range(4, 22)]
    for x, y in spots:
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if cards.count():
            break
    expect(cards).to_contain_text("offset")
    before = canvas.evaluate("c => c.toDataURL()")
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_function("before => document.querySelector('.map canvas').toDataURL() != before", arg=before)


@pytest.fixture(scope="module")
def two(catalog, tmp_path_factory):
    path = shutil.copytree(catalog, tmp_path_factory.mktemp("two") / "catalog")
    data = catalogs.words()
    hubless.build(
        path, "words", data.targets[5:], data.query_bank, ids=data.ids[5:], encoder=catalogs.encoder(), progress=False
    )
    with serving_catalog(path, read_keys=READ_KEY, admin_keys=ADMIN_KEY) as base:
        yield base, hubless.Catalog(path)


@pytest.fixture
def with_key(open_page, two):

    def with_key(key):
        page = open_page(f"{two[0]}/console/#/words/versions")
        page.get_by_role("textbox", name="Key").fill(key)
        page.get_by_role("button", name="Use this key").click()
        expect(page.get_by_role("heading", name="Versions of words")).to_be_visible()
        return page

    return with_key


def test_versions_are_compared_and_a_read_key_changes_nothing(with_key):
    page = with_key(READ_KEY)
    expect(page.get_by_text("5 are gone: a/b, ä ö, %41, .., ?x=1#y")).to_be_visible()
    row = page.locator("tr", has=page.get_by_text("count", exact=True))
    expect(row).to_contain_text("300")
    expect(row).to_contain_text("295")
    expect(page.get_by_text("of 16 have other first tens")).to_be_visible()
    expect(page.get_by_role("button", name="Roll back")).to_be_disabled()
    expect(page.get_by_text("Changing aliases needs a key of role admin.")).to_be_visible()


def test_rolls_back_and_activates_after_a_confirmation(with_key, two):
    _, catalog = two
    old, new = catalog.version_ids("words")
    page = with_key(ADMIN_KEY)
    page.get_by_role("button", name="Roll back").click()
    expect(page.get_by_role("dialog")).to_contain_text(old)
    page.get_by_role("button", name="Cancel").click()
    assert catalog.current("words") == new
    page.get_by_role("button", name="Roll back").click()
    page.get_by_role("button", name="Serve it").click()
    expect(page.get_by_role("status").first).to_contain_text(f"{old} is current")
    assert catalog.current("words") == old
    page.get_by_role("button", name="Activate").click()
    page.get_by_role("button", name="Serve it").click()
    expect(page.get_by_role("status").first).to_contain_text(f"{new} is current")
    assert catalog.current("words") == new


def test_alias_is_set_and_removed(with_key, two):
    _, catalog = two
    page = with_key(ADMIN_KEY)
    page.get_by_label("Alias").fill("nouns")
    page.get_by_role("button", name="Set it").click()
    expect(page.get_by_role("listitem").filter(has_text="nouns")).to_be_visible()
    assert catalog.resolve("nouns") == "words"
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Yes, remove it").click()
    expect(page.get_by_text("It has no other name.")).to_be_visible()
    assert catalog.aliases() == {}


def test_writes_and_bank_are_those_of_the_collection(visit, console, open_page, server):
    with console() as base:
        body = {"points": [{"id": "new", "vector": [1.0] * catalogs.DIM, "payload": {"title": "new"}}]}
        assert httpx.put(f"{base}/v1/collections/words/points", json=body).status_code == 200
        page = open_page(f"{base}/console/#/words/writes")
        expect(page.locator(".figure", has_text="Targets beside the index").locator("dd")).to_contain_text("1")
        expect(page.locator(".figure", has_text="Size of the log").locator("dd")).to_contain_text("KiB")
        expect(page.get_by_text("hubless merge")).to_be_visible()
        bank = httpx.get(f"{base}/v1/collections/words").json()["bank"]
        expect(page.locator(".figure", has_text="Coverage")).to_contain_text(f"{100 * bank['coverage']:.0f} %")
        expect(page.locator(".regions > span")).to_have_count(64)
        page.close()


def test_report_says_it_in_a_sentence(visit, server):
    built = occurrence(server)
    page = visit("words", "report")
    share = f"{100 * built['raw']['most'] / built['queries']:.0f} %"
    expect(page.locator(".lead")).to_contain_text(f"one target is among the first ten of {share} of the searches")
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    expect(page.locator(".uplot canvas")).to_be_visible()


def test_empty_collection_has_every_view(open_page, console):
    with console() as base:
        wanted = {"dim": 4, "metric": "cosine", "id_type": "string"}
        assert httpx.put(f"{base}/v1/collections/empty", json=wanted).status_code == 201
        page = open_page(f"{base}/console/")
        expect(page.get_by_role("link", name="empty", exact=True)).to_be_visible()
        for view, text in {
            "hubs": "Nobody has counted",
            "map": "There are no targets to draw",
            "versions": "There is one version",
            "writes": "There is no query bank",
            "report": "nothing is corrected",
        }.items():
            page.goto(f"{base}/console/#/empty/{view}")
            expect(page.get_by_text(text).first).to_be_visible()
        page.close()


def test_read_key_sees_who_finds_a_hub_and_not_the_queries_themselves(with_key, two):
    page = with_key(READ_KEY)
    page.goto(f"{two[0]}/console/#/words/hubs")
    page.locator("tbody .clip button").first.click()
    expect(page.locator(".found-by tbody tr").first).to_be_visible()
    expect(page.locator(".found-by a")).to_have_count(0)
    page.get_by_role("link", name="Search", exact=True).click()
    expect(page.get_by_role("button", name="Bank query")).to_have_count(0)
