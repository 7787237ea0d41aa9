"""Search in a browser: raw and corrected side by side."""

import json
import re

import httpx
import pytest
from playwright.sync_api import expect
from support import catalogs

import hubless

QUESTION = "amber cedar"


def titles(page, side):
    return page.locator(f".side.{side} .hit .title").all_inner_texts()


def answered(base, body):
    hits = httpx.post(f"{base}/v1/collections/words/query", json={**body, "with": ["payload"]}).json()["hits"]
    return [hit["payload"]["title"] for hit in hits]


def settled(page, side, expected):
    expect(page.locator(f".side.{side} .hit .title")).to_have_text(expected)


def test_both_rankings_are_those_of_the_service_with_lines_between_times_and_recall(visit, server):
    page = visit("words", q=QUESTION)
    settled(page, "raw", answered(server, {"text": QUESTION, "strength": 0}))
    settled(page, "corrected", answered(server, {"text": QUESTION, "strength": 1}))
    assert titles(page, "raw") != titles(page, "corrected")
    expect(page.locator(".summary")).to_contain_text("hits are in both rankings")
    expect(page.locator(".lines path")).to_have_count(len(set(titles(page, "raw")) & set(titles(page, "corrected"))))
    expect(page.locator(".timing")).to_contain_text(re.compile(r"search \d+\.\d\d .*total \d+\.\d\d"))
    expect(page.locator(".summary")).not_to_contain_text("Recall")
    page.get_by_label("Exact").check()
    expect(page.locator(".summary")).to_contain_text("Recall of this query 100 %")


def test_slider_changes_the_order_and_zero_is_the_raw_ranking(visit, server):
    page = visit("words", q=QUESTION)
    settled(page, "corrected", answered(server, {"text": QUESTION, "strength": 1}))
    page.get_by_role("slider", name="Strength").fill("2")
    settled(page, "corrected", answered(server, {"text": QUESTION, "strength": 2}))
    page.get_by_role("slider", name="Strength").fill("0")
    settled(page, "corrected", titles(page, "raw"))
    assert "strength=0" in page.url


def test_answers_show_how_sure_they_are_and_a_slider_leaves_out_the_others(visit, server):
    page = visit("words", q=QUESTION)
    body = {"text": QUESTION, "strength": 1}
    sure = httpx.post(f"{server}/v1/collections/words/query", json=body).json()
    shown = page.locator(".side.corrected .certainty")
    expect(shown).to_contain_text(f"Confidence {sure['confidence']:.2f}, presence {sure['presence']:.2f}")
    expect(shown).to_contain_text("not calibrated")
    page.get_by_role("slider", name="Least confidence").fill("1")
    expect(shown).to_contain_text("left out")
    settled(page, "corrected", [])
    assert "sure=1" in page.url
    expect(page.locator(".calls pre")).to_contain_text('"min_confidence":1')
    page.get_by_role("slider", name="Least confidence").fill("0")
    settled(page, "corrected", answered(server, body))


def test_typing_searches_and_back_returns(visit, server):
    page = visit("words", q=QUESTION)
    settled(page, "raw", answered(server, {"text": QUESTION, "strength": 0}))
    page.get_by_role("searchbox").fill("pearl ridge")
    page.get_by_role("searchbox").press("Enter")
    settled(page, "raw", answered(server, {"text": "pearl ridge", "strength": 0}))
    page.go_back()
    settled(page, "raw", answered(server, {"text": QUESTION, "strength": 0}))


def test_filter_is_built_from_rows_and_searched_with(visit, server):
    page = visit("words", q=QUESTION)
    page.get_by_text("Filter").click()
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("Column").select_option("rank")
    page.get_by_label("Operator").select_option("lt")
    page.get_by_label("Value").fill("50")
    page.get_by_label("Value").press("Tab")
    wanted = {"field": "rank", "lt": 50}
    expect(page.get_by_label("JSON")).to_have_value(json.dumps(wanted, separators=(",", ":")))
    settled(page, "corrected", answered(server, {"text": QUESTION, "filter": wanted}))
    page.get_by_label("JSON").fill('{"field": "rank", "lt": "x"}')
    expect(page.get_by_role("alert")).to_contain_text("filter")
    expect(page.get_by_role("alert")).to_contain_text("request id")
    settled(page, "corrected", [])


def test_more_like_this_asks_with_the_id_also_an_awkward_one(visit, server):
    for wanted in catalogs.AWKWARD_IDS:
        page = visit("words", kind="id", q=wanted)
        expected = answered(server, {"id": wanted, "strength": 0})
        settled(page, "raw", expected)
    page.locator(".side.raw .hit .row").first.click()
    page.get_by_role("button", name="More like this").click()
    expect(page).to_have_url(re.compile("kind=id"))
    expect(page.locator(".side.raw .hit .title").first).not_to_have_text(expected[0])


def test_id_beyond_what_javascript_can_count_stays_what_it_is(visit):
    page = visit("numbers", kind="id", q=catalogs.LARGEST_ID)
    expect(page.locator(".side.raw .hit")).to_have_count(10)
    expect(page.locator("pre")).to_contain_text(f'"id":{catalogs.LARGEST_ID}')
    other = page.locator(".side.raw .hit .title").first.inner_text()
    page = visit("numbers", kind="id", q=other, limit=50)
    expect(page.locator(f'.side.raw .hit[data-id="{catalogs.LARGEST_ID}"]')).to_have_count(1)


def test_explanation_adds_up_and_shows_where_the_hit_stood(visit, server):
    page = visit("words", q=QUESTION)
    page.locator(".side.corrected .hit .row").first.click()
    asked = {"text": QUESTION, "explain": True, "limit": 1}
    (hit,) = httpx.post(f"{server}/v1/collections/words/query", json=asked).json()["hits"]
    why = page.locator(".why")
    expect(why.locator(".sum b")).to_have_text(f"{hit['score']:.4f}".replace("-", "−"))
    expect(why).to_contain_text(f"Raw rank {hit['explanation']['raw_rank']}")
    expect(why).to_contain_text(f"raw {hit['explanation']['raw_occurrence']}, corrected")


def test_bank_query_is_drawn_and_a_vector_pasted(visit, server):
    page = visit("numbers")
    page.get_by_role("button", name="Draw a bank query").click()
    expect(page.locator(".side.corrected .hit")).to_have_count(10)
    vector = httpx.get(f"{server}/v1/collections/numbers/bank/3").json()["vector"]
    page.get_by_role("button", name="Vector").click()
    page.get_by_role("textbox", name="Vector").fill(json.dumps(vector))
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(re.compile("kind=vector"))
    expect(page.locator(".side.corrected .hit")).to_have_count(10)
    page.get_by_role("textbox", name="Vector").fill("[1, 2]")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("alert")).to_contain_text("dimension_mismatch")


@pytest.mark.parametrize("collection", ["words", "numbers"])
def test_search_opens_with_the_answers_to_a_bank_query_until_something_is_asked(visit, collection):
    page = visit(collection)
    for side in ("raw", "corrected"):
        expect(page.locator(f".side.{side} .hit")).to_have_count(10)
    expect(page.locator(".example")).to_contain_text(re.compile(r"An example: query \d+ of the bank"))
    expect(page.locator(".example")).to_contain_text("Raw, it finds the largest hub, ")
    expect(page.locator(".side.raw .hit.largest")).to_have_count(1)
    first = page.locator("pre").inner_text()
    expect(page.locator("pre")).to_contain_text('"vector":[')
    page.get_by_role("slider", name="Strength").fill("0")
    settled(page, "corrected", titles(page, "raw"))
    assert page.locator("pre").inner_text().partition('"vector"')[2][:60] == first.partition('"vector"')[2][:60]
    if collection == "words":
        page.get_by_role("searchbox").fill(QUESTION)
        page.get_by_role("searchbox").press("Enter")
        expect(page.locator("pre")).to_contain_text(QUESTION)
    else:
        page.get_by_role("button", name="Id").click()
    expect(page.locator(".example")).to_have_count(0)


def test_collection_without_a_correction_says_how_to_get_one(visit, console):
    def build(path):
        data = catalogs.words()
        hubless.build(path, "plain", data.targets, correction="none", ids=data.ids, progress=False)

    with console(build) as base:
        for view in ("search", "hubs", "report"):
            page = visit("plain", view, base=base)
            expect(page.locator(".notice pre")).to_contain_text("--collection plain --targets targets.npy --query-bank")
            page.close()


def test_scores_are_there_on_a_phone_and_nothing_is_wider_than_it(visit):
    page = visit("words", q=QUESTION)
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator(".side.corrected .score").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_image_is_shown_whatever_its_place_among_the_columns(open_page, console):
    pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    rows = [{"title": f"thing {row}", "a": row, "b": row, "c": row, "d": pixel} for row in range(catalogs.COUNT)]

    def build(path):
        data = catalogs.words()
        hubless.build(path, "words", data.targets, data.query_bank, payload=rows, progress=False)

    with console(build) as base:
        page = open_page(f"{base}/console/#/words/search")
        expect(page.locator(".side.raw .hit img.thumb")).to_have_count(10)


def test_copied_python_call_gives_the_hits_on_the_screen(visit, server, capsys):
    wanted = {"field": "title", "prefix": "a"}
    page = visit("words", q=QUESTION, strength=0.5, limit=5, filter=json.dumps(wanted))
    expect(page.locator(".side.corrected .hit")).to_have_count(5)
    expect(page.locator("pre")).to_contain_text(f"curl {server}/v1/collections/words/query")
    page.get_by_role("button", name="Python").click()
    exec(page.locator("pre").inner_text())  # noqa: S102
    printed = capsys.readouterr().out
    assert [title for title in titles(page, "corrected") if title not in printed] == []
    assert len(printed.splitlines()) == 5
