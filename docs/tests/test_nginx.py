import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hubless_service.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
[CONFIGURATION] = re.findall(r"(?ms)^```nginx\n(.*?)^```$", PAGE)
NGINX, OPENSSL = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"), shutil.which("openssl")


def seconds(directive):
    [value] = re.findall(rf"\b{directive} (\d+)s;", CONFIGURATION)
    return int(value)


def test_limits_are_those_of_the_service(tmp_path):
    settings = Settings(catalog=tmp_path)
    [mebibytes] = re.findall(r"client_max_body_size (\d+)m;", CONFIGURATION)
    assert int(mebibytes) << 20 == settings.max_body_bytes
    assert seconds("keepalive_timeout") < settings.keep_alive_seconds
    assert seconds("client_body_timeout") <= settings.receive_seconds
    assert seconds("proxy_read_timeout") > settings.max_timeout_ms / 1000
    assert f"timeout_ms, {settings.max_timeout_ms // 1000} s" in CONFIGURATION


@pytest.mark.skipif(not (NGINX and OPENSSL), reason="needs nginx (apt-get install nginx-light) and openssl")
def test_nginx_takes_the_configuration(tmp_path):
    files = {"/etc/ssl/search.key": tmp_path / "key", "/etc/ssl/search.pem": tmp_path / "certificate"}
    key, certificate = files.values()
    made = [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        [*made, "-subj", "/CN=a", "-keyout", key, "-out", certificate, "-days", "1"], check=True, capture_output=True
    )
    text = CONFIGURATION.replace("listen 443", "listen 127.0.0.1:8443")
    for named, there in files.items():
        assert text.count(named) == 1
        text = text.replace(named, str(there))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {tmp_path / kind};\n" for kind in kinds)
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{folders}{text}}}\n"
    )
    command = [NGINX, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-e", tmp_path / "error.log"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
