import re
from pathlib import Path

from hubless_service.http.problems import PROBLEM_TYPES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")
ALERTS = (ROOT / "deploy" / "monitoring" / "alerts.yml").read_text("utf-8")
METRICS = set(re.findall(r"(?m)^\| `(hubless_\w+)", (ROOT / "docs" / "metrics.md").read_text("utf-8")))


def test_alerts_that_the_page_names_are_there():
    named = set(re.findall(r"`(Hubless[A-Z]\w+)`", PAGE))
    assert len(named) > 5
    assert named <= set(re.findall(r"alert: (\w+)", ALERTS))


def test_codes_that_are_named_exist():
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", PAGE)) - {"timeout_ms"} - METRICS
    assert {"bundle_damaged", "unsupported_bundle", "encoder_failed"} <= named <= set(PROBLEM_TYPES)
