"""Looking is not asking: whatever is opened and moved, live hubness, the query sample and lists stay empty."""

import httpx
from playwright.sync_api import expect


def test_all_tabs_and_sliders_and_the_page_of_the_contract_ask_nothing_that_counts(visit, console, tmp_path):
    with console(query_sample=tmp_path / "sample") as base:
        learner, lists = f"{base}/v1/scores/learner", [{"ids": ["a", "b"], "scores": [2.0, 1.0]}]
        assert httpx.put(learner, json={"lists": lists, "learn": True}).json()["learning"] == 0
        page = visit("words", base=base)
        expect(page.locator(".side.corrected .hit")).to_have_count(10)
        for slider in page.get_by_role("slider").all():
            for value in ("0.5", "0", "1"):
                with page.expect_response("**/query"):
                    slider.fill(value)
        for tab in page.get_by_role("navigation").get_by_role("link").all():
            tab.click()
            expect(page.get_by_text("Loading …")).to_have_count(0)
        with page.expect_request("**/openapi.json") as asked:
            page.goto(f"{base}/docs")
        assert asked.value.headers["x-no-sample"] == "1"  # as whatever is tried there
        assert httpx.get(f"{base}/v1/collections/words/hubness").json()["seen"] == 0
        assert httpx.get(learner).json()["learning"] == 0
        page.close()
    assert not list((tmp_path / "sample").rglob("*.parquet"))
