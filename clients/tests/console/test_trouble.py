"""Keys, servers that go and come back, payload that is no friend, and people who use no mouse or see no colours."""

import json
from time import sleep

import httpx
import pytest
from playwright.sync_api import expect
from support import catalogs

READ_KEY = "reader-0123456789"
WRONG_KEY = "wrong-0123456789"


def give(page, key):
    page.get_by_role("textbox", name="Key").fill(key)
    page.get_by_role("button", name="Use this key").click()


def test_key_is_asked_for_a_wrong_one_again_and_it_stays_in_the_tab(open_page, console):
    with console(read_keys=READ_KEY) as base:
        page = open_page(f"{base}/console/#/words/search?q=amber")
        expect(page.get_by_role("dialog")).to_contain_text("The server asks for an API key")
        give(page, WRONG_KEY)
        expect(page.get_by_role("dialog")).to_contain_text("It is wrong")
        give(page, READ_KEY)
        expect(page.locator(".side.raw .hit")).to_have_count(10)
        expect(page.locator("header")).to_contain_text("read")
        page.reload()
        expect(page.locator(".side.raw .hit")).to_have_count(10)
        assert page.evaluate("Object.keys(localStorage).length") == 0
        assert READ_KEY not in page.url
        page.get_by_role("button", name="Forget it").click()
        expect(page.get_by_role("dialog")).to_be_visible()


def test_key_that_is_taken_back_is_asked_for_anew(open_page, console, tmp_path):
    keys = tmp_path / "keys.json"

    def allow(key):
        keys.write_text(json.dumps({"keys": [{"key": key, "role": "read"}]}))

    allow(READ_KEY)
    with console(keys_file=keys) as base:
        page = open_page(f"{base}/console/#/words/search?q=amber")
        give(page, READ_KEY)
        expect(page.locator(".side.raw .hit")).to_have_count(10)
        allow("another-0123456789")
        while httpx.get(f"{base}/v1/access", headers={"X-API-Key": READ_KEY}).status_code == 200:
            sleep(0.01)
        page.get_by_role("slider", name="Strength").fill("0.5")
        expect(page.get_by_role("dialog")).to_contain_text("it was taken back")
        give(page, "another-0123456789")
        expect(page.locator(".slider output").first).to_have_text("0.50")
        expect(page.locator(".side.raw .hit")).to_have_count(10)


@pytest.mark.parametrize(
    ("collection", "asks", "failed"),
    [
        (None, lambda page: None, "list the collections."),  # it does so by itself
        ("words", lambda page: page.get_by_role("slider", name="Strength").fill("0.5"), "read the bank query."),
        ("words", lambda page: page.get_by_role("button", name="draw another").click(), "read the bank queries."),
    ],
)
def test_server_that_goes_is_named_the_old_answer_goes_and_its_return_is_noticed(visit, collection, asks, failed):
    page = visit(collection, kind="bank", q=3)
    alert, answer = page.get_by_role("alert"), page.locator("td, .hit")
    expect(answer.first).to_be_visible()
    page.route("**/v1/**", lambda route: route.abort())
    asks(page)
    expect(alert).to_contain_text(f"Could not {failed} The server cannot be reached")
    expect(answer).to_have_count(0)
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").click()
    expect(answer.first).to_be_visible()
    expect(alert).to_have_count(0)


def test_failure_says_what_failed_with_the_request_id_and_another_try(visit, server):
    page = visit("nothing", q="amber")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Could not read the collection. There is no such collection")
    expect(alert).to_contain_text("collection_not_found")
    assert len(alert.locator("code").nth(1).inner_text()) == 32
    expect(alert.get_by_role("button", name="Try again")).to_be_visible()


def test_view_that_is_not_there_is_named(visit):
    expect(visit("words", "nonsense").get_by_role("alert")).to_contain_text("There is no such view")


def test_refused_collection_says_why(open_page, console):
    def build(path):
        catalogs.build(path)
        (broken,) = (path / "numbers" / "segments").glob("*/offsets.npy")
        broken.unlink()

    with console(build) as base:
        page = open_page(f"{base}/console/")
        expect(page.locator(".problem")).to_contain_text("numbers cannot be served. offsets.npy: missing")
        expect(page.get_by_role("link", name="words", exact=True)).to_be_visible()


def test_hostile_payload_is_text(open_page, console, hostile):
    with console(hostile) as base:
        fields = json.dumps(["title", "link", "image", "photo", "a,b"])
        page = open_page(f"{base}/console/#/words/search?q=amber&fields={fields}")
        hits = page.locator(".side.corrected .hit")
        expect(hits).to_have_count(10)
        hits.first.locator(".row").click()
        expect(page.locator(".why")).to_contain_text("<script>")
        assert page.locator("main img").count() == 0
        assert page.locator('a[href^="javascript"]').count() == 0
        links = page.locator(".why a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
        assert links == ["http://127.0.0.1:9/x.png"]
        assert "broken" not in page.title()


def test_console_works_below_a_prefix(visit, server):
    """A proxy takes the prefix off. clients/tests/console/test_files.py follows the address without a slash."""
    base = f"{server}/tools/hubless"
    page = visit()
    page.route(f"{base}/**", lambda route: route.fulfill(response=route.fetch(url=unprefixed(route.request.url))))
    page.goto(f"{base}/console/#/words/search?q=amber")
    expect(page.locator(".side.raw .hit")).to_have_count(10)
    expect(page.locator("pre")).to_contain_text(f"{base}/v1/collections/words/query")


def unprefixed(url):
    return url.replace("/tools/hubless", "", 1)
