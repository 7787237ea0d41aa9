import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.answering import answering, statuses

SCRIPT = Path(__file__).parents[2] / "docker" / "healthcheck.py"


def service(status):
    """A server whose /readyz answers with a status, and whose other paths are not found."""
    return answering(statuses(lambda request: status if request.path == "/readyz" else 404))


def check(url):
    """The exit status and what is said; the proxy of the environment must not be asked."""
    environment = os.environ | {"HUBLESS_PORT": url.rpartition(":")[2], "http_proxy": "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(("status", "expected"), [(200, (0, "")), (503, (1, "not ready: 503\n"))])
def test_service_is_healthy_if_it_is_ready_and_its_status_is_said_otherwise(status, expected):
    with service(status) as url:
        assert check(url) == expected


def test_service_that_does_not_listen_is_unhealthy_in_one_line():
    with service(200) as url:
        pass
    code, said = check(url)
    assert (code, said[:11], said.count("\n")) == (1, "no answer: ", 1)
