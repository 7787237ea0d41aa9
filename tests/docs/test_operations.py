"""What docs/operations.md names exists: metrics, labels and their values, codes, settings."""

import re
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from hubless_service.access.authentication import FAILURES
from hubless_service.app import create_app
from hubless_service.http.problems import PROBLEM_TYPES
from hubless_service.observing.live_version import RANKINGS
from hubless_service.searching.slots import STATES
from hubless_service.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "operations.md").read_text("utf-8")
ALERTS = (DOCS.parent / "deploy" / "monitoring" / "alerts.yml").read_text("utf-8")
RULES = [rule for group in yaml.safe_load(ALERTS)["groups"] for rule in group["rules"]]
DOCUMENTED = dict(re.findall(r"(?m)^\| `(hubless_\w+)` \| (.*?) \|", (DOCS / "metrics.md").read_text("utf-8")))
VALUES = {
    "state": {*STATES, "served", "refused"},
    "code": set(PROBLEM_TYPES),
    "ranking": set(RANKINGS),
    "reason": set(FAILURES),
}


def series(expression):
    """Each metric of an expression, without the ending of a histogram, and its matchers: label -> value."""
    for name, matchers in re.findall(r"\b((?:hubless|process)_\w+)(?:\{((?:[^\"}]|\"[^\"]*\")*)\})?", expression):
        yield re.sub(r"_(bucket|sum|count)$", "", name), dict(re.findall(r'(\w+)=~?"([^"]*)"', matchers))


@pytest.fixture(scope="module")
def of_the_process(tmp_path_factory):
    """Metrics that are shown beside our own."""
    app = create_app(Settings(catalog=tmp_path_factory.mktemp("catalog")))
    page = app.state.hubless.metrics.page().decode()
    return {family.name for family in text_string_to_metric_families(page)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_alert_looks_at_metrics_that_there_are(rule, of_the_process):
    found = list(series(rule["expr"]))
    assert found or rule["expr"].startswith("up{")
    for name, matchers in found:
        if name.startswith("process_"):
            assert name in of_the_process
            continue
        assert name in DOCUMENTED  # as the page of metrics is held to the code
        assert {f"`{label}`" for label in matchers} <= {*DOCUMENTED[name].split(", ")}
        for label, pattern in matchers.items():
            for value in pattern.split("|") if label in VALUES else ():
                assert value in VALUES[label]


def test_route_of_an_alert_is_one(tmp_path):
    paths = create_app(Settings(catalog=tmp_path)).openapi()["paths"]
    patterns = [matchers["route"] for rule in RULES for _, matchers in series(rule["expr"]) if "route" in matchers]
    assert patterns
    for pattern in patterns:
        assert pattern in paths or any(re.fullmatch(pattern, path) for path in paths)


def test_alerts_that_the_page_names_are_there():
    named = set(re.findall(r"`(Hubless[A-Z]\w+)`", PAGE))
    assert len(named) > 5
    assert named <= {rule["alert"] for rule in RULES}


def test_settings_that_are_named_exist():
    named = set(re.findall(r"HUBLESS_([A-Z_]+)", PAGE))
    assert len(named) > 8
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_codes_that_are_named_exist():
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", PAGE)) - {"timeout_ms"} - DOCUMENTED.keys()
    assert {"bundle_damaged", "unsupported_bundle", "encoder_failed"} <= named <= set(PROBLEM_TYPES)
