import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from hubless_service.app import create_app
from hubless_service.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
NAMES = re.findall(r"(?m)^\| `(hubless_\w+)", PAGE)


def families(folder):
    settings = Settings(catalog="s3://bucket/catalog", cache=folder / "cache", query_sample=folder / "sample")
    page = create_app(settings).state.hubless.engine.metrics.page()
    found = text_string_to_metric_families(page.decode())
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in found
        if family.name.startswith("hubless_") and not family.name.endswith("_created")
    }


def test_metrics_are_those_of_the_code(tmp_path):
    assert set(NAMES) == families(tmp_path)
