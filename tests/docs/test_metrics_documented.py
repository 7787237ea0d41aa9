import json
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from hubless_service.http.trace import STAGES
from hubless_service.observing.metrics import Metrics
from hubless_service.searching.remote import StoreState

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
ROWS = re.findall(r"(?m)^\| `(hubless_\w+)` \|(.*?)\| (.*) \|$", PAGE)


def families():
    """Every family of metrics that a server has, by its name on the page."""
    metrics = Metrics()
    metrics.show(dict, *[list] * 13, int)
    metrics.show_store(StoreState)
    found = text_string_to_metric_families(metrics.page().decode())
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in found
        if family.name.startswith("hubless_") and not family.name.endswith("_created")
    }


def test_metrics_are_those_of_the_code():
    assert {name for name, _, _ in ROWS} == families()


def test_stages_are_those_of_the_code():
    (listed,) = re.findall(r"(?s)\nStages are (.*?), as in", PAGE)
    assert re.findall(r"`(\w+)`", listed) == list(STAGES)


def test_lines_in_json_are_json():
    lines = [json.loads(line) for line in re.findall(r"(?ms)^```json\n(.*?)^```", PAGE)]
    assert [line["logger"] for line in lines] == ["hubless.requests"]
