import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
SERVICES = yaml.safe_load(COMPOSE.read_text())["services"]


def validate(path: Path) -> int:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_compose_file_follows_the_compose_schema(tmp_path):
    assert validate(COMPOSE) == 0
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(COMPOSE.read_text().replace("read_only: true", "read_only: [1]"))
    assert validate(wrong) == 1


@pytest.mark.parametrize("name", ["service", "build"])
def test_container_is_hardened(name):
    container = SERVICES[name]
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert "tmpfs" not in container


def test_service_and_build_share_the_catalog_and_only_the_build_may_write_it():
    assert SERVICES["service"]["volumes"] == ["catalog:/catalog:ro"]
    assert "catalog:/catalog" in SERVICES["build"]["volumes"]


def test_build_job_starts_only_when_asked_for_and_does_not_come_back():
    assert SERVICES["build"]["profiles"] == ["build"]
    assert SERVICES["build"]["restart"] == "no"
    assert "profiles" not in SERVICES["service"]


def test_service_is_published_on_this_machine_only_unless_told_otherwise():
    assert SERVICES["service"]["ports"] == ["${HUBLESS_PUBLISH:-127.0.0.1:8000}:8000"]
