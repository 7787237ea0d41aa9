"""What Prometheus and Grafana are given: files that there are, metrics that the service prints."""

import json
import re
from pathlib import Path

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from support import catalogs
from support.serving import serving_catalog

from hubless_service.access.authentication import FAILURES
from hubless_service.app import create_app
from hubless_service.http.problems import PROBLEM_TYPES
from hubless_service.searching.shelf import STATES
from hubless_service.settings import Settings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "monitoring"
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
DASHBOARD = json.loads((FOLDER / "dashboards" / "hubless.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ALERTS = [rule for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"] for rule in group["rules"]]
EXPRESSIONS = [
    *(target["expr"] for panel in PANELS for target in panel["targets"]),
    *(rule["expr"] for rule in ALERTS),
    *(query["definition"] for query in DASHBOARD["templating"]["list"]),
    *(note["expr"] for note in DASHBOARD["annotations"]["list"]),
]
ROWS = re.findall(r"(?m)^\| `(hubless_\w+)(.*?)` \| (.*) \|$", (ROOT / "docs" / "metrics.md").read_text("utf-8"))
DOCUMENTED = {name: re.findall(r"\w+", labels) for name, labels, _ in ROWS}
VALUES = {
    "state": {*STATES, "served", "refused"},
    "code": {*PROBLEM_TYPES},
    "reason": {*FAILURES},
}
# what appears only once something happens that a test does not wait for: queries in hundreds, failures, several workers
LATE = {
    *("hubless_drift", "hubless_confidence_drift", "hubless_encoder_breaker_open"),
    *("hubless_query_sample_failing", "hubless_store_failing"),
}


def metrics_of(expression):
    """The metrics of an expression, without the endings of histograms."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\b(?:hubless|process)_\w+", expression)}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The labels of each metric that a service prints after a query, an error and a wrong key."""
    catalog = catalogs.build(tmp_path_factory.mktemp("monitored"))
    given = {"read_keys": "reader-0123456789", "metrics_public": True}
    with serving_catalog(catalog, **given) as base, httpx.Client(base_url=base) as http:
        key = {"X-API-Key": "reader-0123456789"}
        query = {"vector": [1.0] * catalogs.DIM}
        assert http.post("/v1/collections/words/query", json=query, headers=key).status_code == 200
        assert http.post("/v1/collections/words/query", json={}, headers=key).status_code == 422
        assert http.get("/v1/collections").status_code == 401
        text = http.get("/metrics").text
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = re.sub(r"_(total|created|bucket|sum|count)$", "", sample.name)
            for each in {sample.name, family.name, name, f"{family.name}_total"}:
                found.setdefault(each, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_metrics_and_labels_of_an_expression_are_those_that_the_service_prints(expression, printed):
    names = metrics_of(expression)
    assert names or expression.startswith("up{")
    for name in names:
        assert name.startswith("process_") or name in DOCUMENTED
        assert name in printed or name in LATE, name
    for name, matchers in re.findall(r"\b(hubless_\w+)\{((?:[^\"}]|\"[^\"]*\")*)\}", expression):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        for label, values in re.findall(r'(\w+)=~?"([^"]*)"', matchers):
            assert label in DOCUMENTED[base]
            assert base in LATE or label in printed[base]
            assert label not in VALUES or set(values.split("|")) <= VALUES[label]


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_alert_has_a_severity_and_says_what_happens_by_labels_that_it_keeps(rule):
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert {*rule["annotations"]} == {"summary", "description"}
    assert not rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["description"].endswith(".")
    text = " ".join(rule["annotations"].values())
    templates = re.findall(r"{{ (\$value|\$labels\.\w+)(?: \| humanize\w*)? }}", text)
    assert len(templates) == text.count("{{") == text.count("}}")
    aggregated = re.search(r"\b(?:sum|max)(?: by \(([^)]*)\))?", rule["expr"])
    documented = {label for name in metrics_of(rule["expr"]) for label in DOCUMENTED.get(name, [])}
    kept = set((aggregated[1] or "").split(", ")) if aggregated else {*documented, "instance", "job"}
    assert {each.removeprefix("$labels.") for each in templates} - {"$value"} <= kept


def test_metrics_of_a_moment_are_called_timestamps_and_others_are_not():
    moments = {name for name, _, meaning in ROWS if "since 1970" in meaning}
    assert moments
    assert moments == {name for name in DOCUMENTED if name.endswith("_timestamp_seconds")}


def test_routes_that_are_looked_at_are_those_of_the_service(tmp_path):
    paths = create_app(Settings(catalog=tmp_path)).openapi()["paths"]
    patterns = {pattern for expression in EXPRESSIONS for pattern in re.findall(r'route=~?"([^"]*)"', expression)}
    assert len(patterns) > 2
    for pattern in patterns:
        assert pattern in paths or any(re.fullmatch(pattern, path) for path in paths), pattern


def test_grafana_asks_the_prometheus_that_asks_the_service():
    (source,) = yaml.safe_load((FOLDER / "grafana.yml").read_text())["datasources"]
    assert {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]} == {source["uid"]}
    host, port = re.fullmatch(r"http://(\w+):(\d+)", source["url"]).groups()
    assert any(each.endswith(f":{port}") for each in SERVICES[host]["ports"])
    (scraped,) = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    assert 'job="hubless"' in " ".join(EXPRESSIONS)
    assert scraped["job_name"] == "hubless"
    assert scraped["static_configs"] == [{"targets": ["service:8000"]}]


@pytest.mark.parametrize("name", ["prometheus", "grafana"])
def test_files_that_are_mounted_are_there_and_found(name):
    mounts = [volume.split(":") for volume in SERVICES[name]["volumes"] if volume.startswith("./")]
    assert mounts
    assert all((ROOT / source).exists() and mode == "ro" for source, _, mode in mounts)
    inside = {target for _, target, _ in mounts}
    if name == "prometheus":
        assert set(yaml.safe_load((FOLDER / "prometheus.yml").read_text())["rule_files"]) <= inside
    else:
        (provider,) = yaml.safe_load((FOLDER / "dashboards" / "dashboards.yml").read_text())["providers"]
        assert provider["options"]["path"] in inside
        home = SERVICES[name]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
        assert home == f"{provider['options']['path']}/hubless.json"
