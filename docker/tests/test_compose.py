import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
import yaml
from support import jobs, small
from support.problems import with_hubs
from support.serving import serving_catalog

import hubless

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "docker.md").read_text("utf-8")
COMPOSE = ROOT / "docker-compose.yml"
DESCRIBED = yaml.safe_load(COMPOSE.read_text())
SERVICES, VOLUMES = DESCRIBED["services"], DESCRIBED["volumes"]


def validate(path: Path) -> int:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_compose_file_follows_the_compose_schema(tmp_path):
    assert validate(COMPOSE) == 0
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(COMPOSE.read_text().replace("read_only: true", "read_only: [1]"))
    assert validate(wrong) == 1


@pytest.mark.parametrize("name", ["service", "build", "reindex", "hubless"])
def test_container_is_hardened(name):
    container = SERVICES[name]
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert "tmpfs" not in container


OTHERS = {
    "prometheus": "monitoring",
    "grafana": "monitoring",
    "store": "store",
    "bucket": "store",
    "milvus": "milvus",
}


@pytest.mark.parametrize("name", OTHERS)
def test_container_of_others_is_pinned_kept_to_this_machine_and_starts_by_its_profile_only(name):
    container = SERVICES[name]
    assert container["profiles"] == [OTHERS[name]]
    assert re.fullmatch(r"[\w./-]+:\D*\d[\w.-]+(@sha256:[0-9a-f]{64})?", container["image"])
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in container.get("ports", []))
    assert {volume.split(":")[0] for volume in container.get("volumes", []) if volume[0] != "."} <= set(VOLUMES)


def test_every_container_is_known_here():
    assert SERVICES.keys() == {"service", "build", "reindex", "hubless", *OTHERS}


def test_page_names_every_profile_of_others():
    assert set(re.findall(r"--profile (\w+)", DOCS)) == set(OTHERS.values())


@pytest.mark.parametrize("line", re.findall(r"docker compose run --rm hubless (.*)", DOCS))
def test_documented_commands_take_their_catalog_from_the_image(run, line, tmp_path, monkeypatch):
    """They run here with the environment of the image, its folders in the place of /catalog and /input."""
    (catalog,) = re.findall(r"HUBLESS_CATALOG=(\S+)", (ROOT / "Dockerfile").read_text())
    assert catalog == "/catalog"
    (tmp_path / "input").mkdir()
    np.save(tmp_path / "input" / "targets.npy", small.targets())
    np.save(tmp_path / "input" / "query-bank.npy", small.query_bank())
    for _ in range(2):
        small.build(tmp_path / "catalog", "default")
    monkeypatch.setenv("HUBLESS_CATALOG", str(tmp_path / "catalog"))
    ended = run(*line.replace("/input", str(tmp_path / "input")).split())
    assert ended.code == 0, ended.err


def test_service_is_published_on_this_machine_only_unless_told_otherwise():
    assert SERVICES["service"]["ports"] == ["${HUBLESS_PUBLISH:-127.0.0.1:8000}:8000"]


def test_job_may_ask_the_service_with_the_keys_that_page_and_file_tell_to_make(run, tmp_path, monkeypatch):
    told = [re.findall(r"(?m)^(?:#   )?((?:KEY=|printf ).*)$", text)[:2] for text in (DOCS, COMPOSE.read_text())]
    assert told[0] == told[1]
    subprocess.run(["bash", "-ec", "\n".join(told[0])], cwd=tmp_path, check=True)
    for name in ("service", "reindex"):
        assert SERVICES[name]["env_file"] == [{"path": "hubless.env", "required": False}]
        for line in (tmp_path / "hubless.env").read_text().splitlines():
            monkeypatch.setenv(*line.split("=", 1))
    jobs.write(tmp_path)
    small.build(tmp_path / "catalog", jobs.NAME, ids=jobs.names(0, small.COUNT))
    with serving_catalog(tmp_path / "catalog", poll_seconds=0.1) as url:
        assert httpx.get(f"{url}/v1/collections", timeout=60).status_code == 401
        places = {
            "/catalog": tmp_path / "catalog",
            "/input/job.yaml": tmp_path / "job.yaml",
            "wait_for=http://service:8000": f"wait_for={url}",
        }
        _, *words = [*SERVICES["reindex"]["entrypoint"], *SERVICES["reindex"]["command"]]
        assert run(*(places.get(word, word) for word in words)).code == 0


ASKED = re.findall(r"(?ms)^(python3 -c .*?@-)$", DOCS)


def test_page_asks_after_each_way_to_start():
    ways = DOCS.count("build --catalog") + DOCS.count("compose run --rm build")
    assert len(ASKED) + DOCS.count("Ask as above") == ways == 2


@pytest.mark.parametrize("asked", ASKED)
def test_first_answer_of_the_page_is_corrected(asked, tmp_path):
    given = with_hubs()
    (tmp_path / "input").mkdir()
    np.save(tmp_path / "input" / "query-bank.npy", given.bank)
    hubless.build(tmp_path / "catalog", "default", given.targets, given.bank, metric="cosine", correction="csls")
    python = Path(sys.executable).parent
    with serving_catalog(tmp_path / "catalog") as url:
        line = asked.replace("http://127.0.0.1:8000", url).replace("python3", f"{python}/python")
        answer = subprocess.run(["bash", "-ec", line], cwd=tmp_path, check=True, capture_output=True, env={"KEY": "x"})
    hits = [hit["id"] for hit in json.loads(answer.stdout)["hits"]]
    with hubless.open(tmp_path / "catalog", "default") as served:
        first = given.bank[:1]
        corrected, raw = (served.query(first, limit=3, strength=strength).ids[0] for strength in (1.0, 0.0))
    assert hits == corrected
    assert corrected != raw


def test_cron_job_of_kubernetes_calls_the_command_rightly(run, tmp_path):
    described = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "reindex.yaml").read_text())
    assert (described["kind"], described["spec"]["concurrencyPolicy"]) == ("CronJob", "Forbid")
    (container,) = described["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    jobs.write(tmp_path)
    places = {"/catalog": str(tmp_path / "catalog"), "/job/job.yaml": str(tmp_path / "job.yaml")}
    _, *words = [places.get(word, word) for word in container["command"]]
    assert run(*words[: words.index("--set")], "--plan").code == 0


def test_job_file_of_kubernetes_is_one(run, tmp_path):
    text = (ROOT / "deploy" / "kubernetes" / "job.yaml").read_text()
    (tmp_path / "targets").mkdir()
    np.save(tmp_path / "targets" / "a.npy", small.targets())
    np.save(tmp_path / "query-bank.npy", small.query_bank())
    (tmp_path / "job.yaml").write_text(text.replace("/input", str(tmp_path)))
    assert run("reindex", tmp_path / "job.yaml", "--catalog", tmp_path / "catalog").code == 0
    assert hubless.open(tmp_path / "catalog", "default").count == len(small.targets())
