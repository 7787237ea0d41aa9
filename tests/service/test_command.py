"""`hubless serve` as people start it: a process of its own."""

import socket
from importlib import metadata
from unittest.mock import patch

import httpx
import pytest
import typer
from support.processes import python
from support.server_process import served
from typer.testing import CliRunner

import hubless
from hubless_service import needs
from hubless_service.command import serve


def run(*arguments, **environment):
    """The result of a command line that does not come to serving."""
    app = typer.Typer()
    app.command()(serve)
    with patch("hubless_service.start.configure"):  # the log of this process stays as it is
        return CliRunner().invoke(app, [*map(str, arguments)], env={"NO_COLOR": "1", "COLUMNS": "120", **environment})


def test_missing_catalog_is_made_and_takes_a_collection(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with served("catalog") as server:
        assert any(f"made an empty catalog, {tmp_path / 'catalog'}" in line for line in server.log)
        made = httpx.put(
            f"{server.url}/v1/collections/notes", json={"dim": 2, "metric": "cosine", "id_type": "string"}, timeout=60
        )
        assert made.status_code == 201, made.text
    assert [entry.name for entry in tmp_path.iterdir()] == ["catalog"]
    assert hubless.Catalog("catalog").collections() == ["notes"]


@pytest.mark.parametrize("missing", ["none/catalog", "file"])
def test_catalog_that_cannot_be_made_is_told_in_a_line(tmp_path, missing):
    (tmp_path / "file").write_text("")
    ended = run("--catalog", tmp_path / missing)
    assert ended.exit_code == 1
    assert ended.stderr == f"error: {tmp_path / missing}: there is no catalog here (hubless build makes one)\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_catalog_that_was_not_given_is_told_in_a_line():
    ended = run()
    assert ended.exit_code == 2
    assert ended.stderr == "error: --catalog (HUBLESS_CATALOG) is required\n"


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["--port", "99999"], {}, "--port (HUBLESS_PORT): Input should be less than or equal to 65535, got 99999"),
        ([], {"HUBLESS_LOG_LEVEL": "loud"}, "HUBLESS_LOG_LEVEL: "),
        ([], {"HUBLESS_KEEP_VERSIONS": "many"}, "HUBLESS_KEEP_VERSIONS: Input should be a valid integer"),
        ([], {"HUBLESS_DEFAULT_TIMEOUT_MS": "70000"}, "Input should be less than or equal to 60000"),
        ([], {"HUBLESS_ENCODERS": "{secret"}, "HUBLESS_ENCODERS: expected a JSON object with collections as keys"),
        ([], {"HUBLESS_ENCODERS": '{"words": {"type": "secret"}}'}, "HUBLESS_ENCODERS, words.type: expected one of"),
    ],
)
def test_impossible_setting_is_told_in_a_line(catalog, arguments, environment, said):
    ended = run("--catalog", catalog, *arguments, **environment)
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104
def test_without_keys_other_machines_are_not_let_in_unless_told(catalog, host, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port: [])  # all names are known
    ended = run("--catalog", catalog, "--host", host)
    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"error: host {host} lets other machines in: set HUBLESS_READ_KEYS")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("settings", "status"),
    [({"insecure": True}, 200), pytest.param({"admin_keys": "secret-0123456789"}, 401, marks=pytest.mark.slow)],
)
def test_with_a_key_or_told_so_other_machines_are_let_in_and_no_key_is_shown(catalog, settings, status):
    with served(catalog, "--host", "0.0.0.0", **settings) as server:  # noqa: S104
        assert httpx.post(f"{server.url}/v1/collections/words/query", json={"text": "amber"}).status_code == status
        server.process.terminate()
        server.process.wait(30)
    assert any("there are no API keys" in line for line in server.log) == ("insecure" in settings)
    assert "secret" not in "".join(server.log)


def test_file_of_keys_that_is_missing_is_told_in_a_line(catalog, tmp_path):
    ended = run("--catalog", catalog, HUBLESS_KEYS_FILE=str(tmp_path / "none.json"))
    assert (ended.exit_code, ended.stderr) == (1, f"error: {tmp_path / 'none.json'}: no such file or folder\n")


def test_port_that_is_taken_is_told_without_a_traceback(catalog, monkeypatch):
    monkeypatch.setattr("hubless_service.start._PORT_SECONDS", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("--catalog", catalog, "--port", taken.getsockname()[1])
        port = taken.getsockname()[1]
    assert ended.exit_code == 1
    assert ended.stderr == f"error: cannot listen on 127.0.0.1, port {port}: Address already in use\n"


def test_help_imports_nothing_heavy():
    code = "import sys; import hubless_service.command; print(*sys.modules)"
    assert not {*python("-c", code).split()} & {"faiss", "fastapi", "hubless", "numpy", "pydantic", "uvicorn"}


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("127.0.0.1:8080", "write 127.0.0.1, and --port 8080"),
        ("[::1]", "expected an address alone: write ::1"),
        ("[::1]:8080", "write ::1, and --port 8080"),
        ("http://[::1]:8080/", "write ::1, and --port 8080"),
        ("http://localhost", "write localhost"),
        ("unix:x.sock", "expected an address such as 127.0.0.1 or ::1"),
        ("", "expected an address such as 127.0.0.1 or ::1"),
        ("*", "0.0.0.0 is all addresses"),
        ("[::1", "expected an address such as 127.0.0.1 or ::1"),
        ("[localhost]", "expected an address such as 127.0.0.1 or ::1"),
        ("a b", "expected an address such as 127.0.0.1 or ::1"),
        ("-x", "expected an address such as 127.0.0.1 or ::1"),
        ("::1::2", "expected an address such as 127.0.0.1 or ::1"),
        ("127.0.0.1.5", "no machine is called 127.0.0.1.5"),
        ("nowhere.invalid", "no machine is called nowhere.invalid"),
    ],
)
def test_host_that_is_none_is_refused_without_advice_that_opens_doors(tmp_path, host, said):
    ended = run("--catalog", tmp_path, f"--host={host}")
    assert ended.exit_code == 2
    assert ended.stderr.startswith("error: --host (HUBLESS_HOST): ")
    assert said in ended.stderr
    assert "HUBLESS_INSECURE" not in ended.stderr


def test_host_of_this_machine_is_served_without_keys(tmp_path):
    with served(tmp_path, "--host", "localhost", ready=False) as server:
        assert httpx.get(f"{server.url}/livez", timeout=60).status_code == 200


def test_variables_that_nothing_reads_are_named_with_what_is_meant_and_the_server_starts(tmp_path):
    odd = {
        "VERIFY": ("full", "hashes are compared in the background"),
        "MAX_LIMIT": ("x", "it is always 1000"),
        "PROT": ("1", "did you mean HUBLESS_PORT?"),
        "READ_KEY": ("secret-secret-secret", "did you mean HUBLESS_READ_KEYS?"),
        "ZZZ": ("1", "docs/settings.md lists"),
    }
    given = {f"HUBLESS_{name}": value for name, (value, _) in odd.items()}
    with served(tmp_path, before=f"import os; os.environ |= {given}", ready=False) as server:
        assert httpx.get(f"{server.url}/livez", timeout=60).status_code == 200
        log = "".join(server.log)
    assert "secret" not in log
    assert "WARNING" in log
    assert [name for name, (_, said) in odd.items() if f"the variable HUBLESS_{name}: {said}" not in log] == []


def test_misspelt_variable_is_named_beside_the_setting_that_is_missing():
    ended = run(HUBLESS_CATALGO="c")
    assert "did you mean HUBLESS_CATALOG?" in ended.stderr
    assert ended.stderr.endswith("error: --catalog (HUBLESS_CATALOG) is required\n")


def pretend(monkeypatch, distribution, found):
    """Let a distribution be there in another version, or not at all."""

    def version(name):
        if name != distribution:
            return metadata.version(name)
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(needs, "version", version)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("0.32.0", "error: uvicorn 0.32.0 is installed, with which the server may not answer: pip install 'uvicorn"),
        ("99.0", "error: uvicorn 99.0 is installed, with which the server may not answer: pip install 'uvicorn"),
        (None, "error: uvicorn is not installed: pip install 'uvicorn"),
    ],
)
def test_start_with_a_server_that_would_not_answer_is_refused(tmp_path, monkeypatch, found, said):
    pretend(monkeypatch, "uvicorn", found)
    ended = run("--catalog", tmp_path)
    assert ended.exit_code == 1
    assert ended.stderr.startswith(said)
    assert len(ended.stderr.splitlines()) == 1


def test_what_is_installed_here_is_what_is_needed_and_faiss_is_by_any_name(monkeypatch):
    assert needs.unmet() is None
    pretend(monkeypatch, "faiss-cpu", None)
    assert needs.unmet() is None
