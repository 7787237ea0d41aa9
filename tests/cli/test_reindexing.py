import httpx
import pytest
from support import jobs
from support.answering import answering, statuses
from support.dripping import DRIPS, dripping
from support.jobs import NAME, names, write_targets
from support.proxies import proxies_set
from support.serving import serving_catalog

import hubless
from hubless.errors import InputError
from hubless.jobs import waiting
from hubless.store.locks import lease


@pytest.fixture
def job(tmp_path):
    return jobs.write(tmp_path / "job")


@pytest.fixture
def reindex(run, job):
    return lambda *words: run("reindex", job, "--catalog", job.parent / "catalog", *words)


def test_plan_prints_what_would_be_done_in_80_columns_and_does_nothing(reindex, job, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    first = reindex("--plan")
    assert (first.code, first.err) == (0, "")
    assert "there is no version yet" in first.out
    assert not (job.parent / "catalog").exists()
    reindex()
    assert "nothing" in reindex("--plan").out
    write_targets(job.parent / "items" / "a.parquet", names(0, 40), seed=1)
    (job.parent / "items" / "b.parquet").unlink()
    write_targets(job.parent / "items" / "c.parquet", ["item-80"])
    planned = reindex("--plan")
    assert max(map(len, planned.out.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "200")
    cells = {line[0]: line[1:] for line in reindex("--plan").table}
    assert cells["items/a.parquet"] == ["changed", "40", "", "40", ""]
    assert cells["items/b.parquet"] == ["gone", "", "", "", "20"]
    assert cells["items/c.parquet"] == ["new", "1", "1", "", ""]
    told = reindex("--plan", "--json").json
    assert told["targets"] == {"new": 1, "changed": 40, "gone": 20}
    assert (told["changed"], told["correction"], told["index"]) == (True, "fit", "train")
    assert len(hubless.Catalog(job.parent / "catalog").version_ids(NAME)) == 1


def test_summary_says_what_came_in_and_why(reindex, job):
    reindex()
    write_targets(job.parent / "items" / "c.parquet", names(60, 63))
    ended = reindex()
    assert ended.code == 0
    cells = {line[0]: line[1] for line in ended.table}
    assert cells["targets"] == "63: 3 new, 0 changed, 0 gone in the files"
    assert cells["because"] == "3 targets of files are new"
    assert cells["frozen offsets"] == "3, 4.8 % of the targets"
    assert cells["index"] == "flat, added to"
    assert cells["skewness of N_10"].endswith(" by chance")
    again = reindex()
    assert (again.code, again.out.strip()) == (0, "nothing changed, so nothing was built")


def test_failed_gate_exits_with_4_and_names_number_and_bound(reindex, job):
    jobs.rewrite(job.parent, gates={"rows": {"min": 61}})
    ended = reindex("--json")
    assert ended.code == 4
    assert ended.err == "error: gate rows.min: 60 is below the bound, 61\n"
    assert (ended.json["built"], ended.json["published"]) == (False, False)
    assert ended.json["gates"] == [{"gate": "rows.min", "value": 60, "bound": 61.0, "passed": False, "note": ""}]


def test_job_that_runs_already_exits_with_3_and_wrong_usage_with_2(reindex, run, job):
    with lease(job.parent / "catalog" / NAME, "another job"):
        ended = reindex()
    assert ended.code == 3
    assert "is being changed by another job" in ended.err
    assert run("reindex").code == 2
    job.write_text("version: 1")
    ended = reindex()
    assert ended.code == 1
    assert ended.err == "error: job.yaml: collection: expected a value, got none\n"


def test_schema_is_that_of_a_job_file(run):
    schema = run("reindex", "--schema").json
    assert {"version", "collection", "targets", "query_bank"} == set(schema["required"])


@pytest.fixture
def again(reindex, job, monkeypatch):
    """The job after a first one, to leave one version."""
    monkeypatch.setattr(waiting, "PAUSE_SECONDS", 0.01)
    reindex()
    jobs.rewrite(job.parent, retention={"versions": 1})
    return lambda *words: reindex("--set", "full=true", "--set", *words)


def test_it_waits_until_the_service_has_switched_before_it_deletes(again, job):
    with serving_catalog(job.parent / "catalog", poll_seconds=0.02) as url:
        ended = again(f"wait_for={url}", "--json")
        assert (ended.code, ended.json["switched"], len(ended.json["deleted"])) == (0, True, 1)
        assert httpx.get(f"{url}/v1/collections/{NAME}").json()["version"] == ended.json["version"]


@pytest.mark.parametrize("status", [401, 403])
def test_service_that_refuses_the_key_is_named_before_the_work_and_when_there_is_none(reindex, job, status):
    expected = f"HUBLESS_API_KEY: expected an API key that may read {NAME!r}, got status {status} from "
    asked = []
    with answering(statuses(lambda request: asked.append(request.path) or status)) as url:
        ended = reindex("--set", f"wait_for={url}")
        assert (ended.code, f"{expected}{url}/v1/collections/{NAME}" in ended.err) == (1, True)
        assert len(asked) == 1
        assert not (job.parent / "catalog").exists()
        assert reindex().code == 0
        nothing_to_do = reindex("--set", f"wait_for={url}")
        assert (nothing_to_do.code, expected in nothing_to_do.err) == (1, True)


def test_key_that_is_refused_later_ends_the_wait_at_once(reindex):
    asked = []
    with answering(statuses(lambda request: asked.append(request.path) or (404 if len(asked) == 1 else 401))) as url:
        ended = reindex("--set", f"wait_for={url}")
    assert (ended.code, len(asked)) == (5, 2)
    assert "it said status 401: set HUBLESS_API_KEY to an API key that may read" in ended.err


@pytest.mark.parametrize(
    ("variable", "value", "url", "said"),
    [
        ("ALL_PROXY", "socks5://me:hunter2@127.0.0.1:9", "http://hubless.test", "pip install 'httpx[socks]'"),
        ("HTTPS_PROXY", "nonsense://proxy.test", "https://hubless.test", "got nonsense://proxy.test"),
        ("SSL_CERT_FILE", "/not/there.pem", "https://hubless.test", "got /not/there.pem"),
        ("HUBLESS_API_KEY", "schlüssel", "http://hubless.test", "printable ASCII"),
        ("wait_for", "", "hubless.test:8000", "expected http:// or https:// and a host, got hubless.test:8000"),
    ],
)
def test_what_would_keep_a_job_from_asking_the_service_is_said_before_it_works(
    reindex, job, monkeypatch, variable, value, url, said
):
    proxies_set(monkeypatch, {})
    monkeypatch.setenv(variable, value)
    ended = reindex("--set", f"wait_for={url}")
    assert (ended.code, f"{variable}: " in ended.err, said in ended.err) == (1, True, True), ended.err
    assert "hunter2" not in ended.err
    assert not (job.parent / "catalog").exists()


def test_service_on_this_machine_is_waited_for_without_the_proxy_and_another_failure_names_it(
    reindex, job, monkeypatch
):
    monkeypatch.setattr(waiting, "PAUSE_SECONDS", 0.01)
    proxies_set(monkeypatch, {"HTTP_PROXY": "http://me:hunter2@127.0.0.1:1"})
    ended = reindex("--set", "wait_for=http://hubless.invalid", "--set", "timeout=0.1")
    assert "by the proxy http://127.0.0.1:1 of HTTP_PROXY for 0.1 seconds" in ended.err
    proxies_set(monkeypatch, {})
    with serving_catalog(job.parent / "catalog", poll_seconds=0.02) as url:
        proxies_set(monkeypatch, {"HTTP_PROXY": "http://127.0.0.1:1"})
        ended = reindex("--set", "full=true", "--set", f"wait_for={url}", "--json")
        proxies_set(monkeypatch, {})
    assert (ended.code, ended.json["switched"]) == (0, True)


@pytest.mark.parametrize("what", ["headers", "chunks", "a failure"])
def test_service_that_drips_is_waited_for_no_longer_than_said(reindex, what):
    with dripping(*DRIPS[what]) as peer:
        ended = reindex("--set", f"wait_for=http://{peer}", "--set", "timeout=0.3")
    assert ended.code == 5
    assert "did not switch" in ended.err
    assert "too long for 0.3 seconds" in ended.err or "timed out for 0.3 seconds" in ended.err


def test_catalog_is_asked_for_where_neither_command_nor_job_names_one(run, job, tmp_path, monkeypatch):
    monkeypatch.delenv("HUBLESS_CATALOG", raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    for words in ([], ["--plan"]):
        ended = run("reindex", job, *words)
        assert (ended.code, ended.out) == (2, "")
        assert "--catalog (HUBLESS_CATALOG): give it, or `catalog:` in job.yaml" in ended.err
    with pytest.raises(InputError, match="catalog: expected a folder or an address, or `catalog:` in job"):
        hubless.reindex(job)
    jobs.rewrite(job.parent, catalog="kept")
    assert run("reindex", "../job/job.yaml").code == 0
    assert hubless.Catalog(job.parent / "kept").collections() == [NAME]
    assert list((tmp_path / "home").iterdir()) == []
    assert run("reindex", job, "--catalog", "other").code == 0
    assert hubless.Catalog(tmp_path / "home" / "other").collections() == [NAME]


def test_plan_evaluates_the_gates_of_the_number_of_targets(reindex, job):
    gates = {"rows": {"min": 40, "max": 70, "max_change": 0.2}, "recall": {"min": 0.5}}
    jobs.rewrite(job.parent, gates=gates)
    assert [each["passed"] for each in reindex("--plan", "--json").json["gates"]] == [True, True, True]
    assert reindex().code == 0
    (job.parent / "items" / "b.parquet").unlink()
    write_targets(job.parent / "items" / "c.parquet", ["item-80", "own-0"])
    planned = reindex("--plan", "--json")
    values = {each["gate"]: (each["value"], each["passed"]) for each in planned.json["gates"]}
    assert planned.code == 4
    assert planned.err.startswith("error: gate rows.max_change: ")
    assert "rows.max_change" in reindex("--plan").out
    assert values == {each["gate"]: (each["value"], each["passed"]) for each in reindex("--json").json["gates"]}
    assert values["rows.min"] == (40 + 2, True)


def test_service_that_does_not_switch_exits_with_5_and_old_versions_stay(again, job):
    ended = again("wait_for=http://127.0.0.1:1", "--set", "timeout=0.1")
    assert ended.code == 5
    assert "did not switch; it said" in ended.err
    assert "for 0.1 seconds" in ended.err
    assert len(hubless.Catalog(job.parent / "catalog").version_ids(NAME)) == 2
