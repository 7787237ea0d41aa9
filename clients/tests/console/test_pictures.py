"""Pictures in the console: hits and hubs as pictures, and a picture to ask with."""

import re

import pytest
from playwright.sync_api import expect
from support import small
from support.photos import built_photos, solid
from support.serving import serving_catalog

DROP = """bytes => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([new Uint8Array(bytes)], "dropped.png", { type: "image/png" }));
  dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def pictured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    with built_photos(folder) as catalog:
        small.build(catalog, "unpictured")
        with serving_catalog(catalog, pictures=folder / "shown") as url:
            yield url


def expect_shown(pictures, count):
    expect(pictures).to_have_count(count)
    assert (
        pictures.evaluate_all("async all => { for (const one of all) await one.decode(); return all.length; }") == count
    )


def test_chosen_picture_is_asked_with_and_hits_are_pictures(visit, pictured):
    page = visit("photos", base=pictured, kind="image", strength=0)
    lime = {"name": "mine.png", "mimeType": "image/png", "buffer": solid("lime")}
    page.get_by_label("Picture to ask with").set_input_files(lime)
    expect(page.locator(".side.raw .hit .title").first).to_have_text("lime.png")
    expect_shown(page.locator(".side.raw .hit .picture img"), 10)
    expect_shown(page.locator(".given img"), 1)
    expect(page.locator(".calls pre")).to_contain_text("base64 -w 0 picture.jpg")
    page.get_by_role("button", name="Python").click()
    expect(page.locator(".calls pre")).to_contain_text('image="picture.jpg"')


def test_dropped_picture_is_asked_with(visit, pictured):
    page = visit("photos", base=pictured, strength=0)
    expect(page.get_by_role("button", name="Picture", exact=True)).to_be_visible()
    page.evaluate(DROP, list(solid("blue")))
    expect(page.locator(".side.raw .hit .title").first).to_have_text("blue.png")
    assert "kind=image" in page.url
    page.evaluate(DROP, list(b"no picture"))
    expect(page.get_by_role("alert")).to_contain_text("cannot read dropped.png")
    expect(page.locator(".hit")).to_have_count(0)


def test_file_that_is_no_picture_is_named(visit, pictured):
    page = visit("photos", base=pictured, kind="image")
    text = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no picture"}
    page.get_by_label("Picture to ask with").set_input_files(text)
    expect(page.get_by_role("alert")).to_have_text("The browser cannot read notes.txt as a picture.")


def test_pictures_may_be_a_list(visit, pictured):
    page = visit("photos", base=pictured, kind="id", q="red")
    page.get_by_role("button", name="List").click()
    expect(page.locator(".lines path").first).to_be_attached()
    assert "as=list" in page.url
    expect_shown(page.locator(".side.raw .hit .picture img"), 10)


def test_hubs_are_shown_as_pictures_that_open_by_keyboard(visit, pictured):
    page = visit("photos", "hubs", base=pictured)
    tiles = page.locator(".hub-tiles button")
    expect(tiles).to_have_count(10)
    expect(tiles.first).to_have_text(re.compile(r"found by \d+ → .*\d+"))
    expect_shown(page.locator(".hub-tiles img"), 10)
    tiles.first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Who finds")).to_be_visible()


def test_nothing_of_it_shows_without_an_encoder_of_pictures(visit, pictured):
    page = visit("unpictured", base=pictured)
    expect(page.get_by_role("button", name="Vector")).to_be_visible()
    expect(page.get_by_role("button", name="Picture", exact=True)).to_have_count(0)
    expect(page.get_by_text("Nothing is corrected in unpictured")).to_be_visible()


def test_on_a_phone_raw_and_corrected_stand_side_by_side(visit, pictured):
    page = visit("photos", base=pictured, kind="id", q="red")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".side.corrected .hit .score").first).to_be_visible()
    expect_shown(page.locator(".side.corrected .hit .picture img"), 10)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
