"""The TypeScript client's own tests, its package, its README, and a real browser."""

import json
import re
import shutil
import subprocess
import threading
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import hubless
from hubless_client import problems

HOME = Path(__file__).parents[2] / "typescript"
README = (HOME / "README.md").read_text("utf-8")
PAGE = """<!doctype html><title>starts</title><script type="module">
import {{ Client, ApiError }} from "/dist/esm/index.js";
try {{
  const client = new Client({url!r}, {{ apiKey: {key!r} }});
  const {{ hits }} = await client.query("words", {{ text: "amber", limit: 2, with: ["vector"] }});
  const error = await client.query("words", {{ vector: [1] }}).catch((thrown) => thrown);
  document.title = [hits.length, hits[0].vector.constructor.name, error instanceof ApiError, error.code].join(" ");
}} catch (error) {{
  document.title = String(error);
}}
</script>"""


def test_types_are_those_of_the_contract(node):
    node("node", "scripts/types.mjs", "--check")


def test_tests_without_a_server_pass(node, built):
    assert "# pass 0" not in node("npm", "test", "--", "--test-reporter=tap")


def test_tests_with_a_real_server_pass(node, built, url, key):
    node("node", "--test", "test/server/server.test.mjs", HUBLESS_URL=url, HUBLESS_KEY=key)


def test_codes_and_their_classes_are_those_of_the_python_client(node, built):
    script = (
        "import * as h from './dist/esm/index.js'; import { classOf } from './dist/esm/errors.js';"
        "console.log(JSON.stringify(Object.fromEntries(h.ERROR_CODES.map((code) => [code, classOf(code, 0).name]))))"
    )
    codes = json.loads(node("node", "--input-type=module", "--eval", script))
    for code, name in codes.items():
        assert name in {kind.__name__ for kind in problems.BY_CODE[code].__mro__}
    internal = {
        kind.code for kind in problems.BY_CODE.values() if kind.__subclasses__()
    }  # but servers send some of them
    assert set(problems.BY_CODE) - set(codes) <= internal


def test_cut_says_what_python_says(node, built):
    rng = np.random.default_rng(0)
    lists = [sorted(rng.gumbel(10, 2, 3 + row % 10), reverse=True) for row in range(300)]
    ahead = [scores[0] - scores[1] for scores in lists]
    for distance in (False, True):
        signed = [[-score if distance else score for score in scores] for scores in lists]
        cut = hubless.Cut.fit(signed, distance=distance).calibrate(signed, np.array(ahead) > 0.4)
        given = json.dumps([cut.as_json(), signed])
        script = (
            f"import {{ accept, confidence }} from './dist/esm/index.js'; const [cut, lists] = {given};"
            "const name = (each) => { try { accept(cut, lists[0], each) } catch (error) { return error.name } };"
            "const all = lists.map((scores) => [confidence(cut, scores), accept(cut, scores, 0.85)]);"
            "console.log(JSON.stringify([all, confidence(cut, []), [0.97, 1].map(name)]))"
        )
        found, nothing, refused = json.loads(node("node", "--input-type=module", "--eval", script))
        expected = [[cut.confidence(scores), cut.accept(scores, 0.85)] for scores in signed]
        assert [accepted for _, accepted in found] == [accepted for _, accepted in expected]
        assert {accepted for _, accepted in found} == {True, False}
        np.testing.assert_allclose([sure for sure, _ in found], [sure for sure, _ in expected], atol=1e-6)
        assert (nothing, refused) == (0, ["RangeError", "RangeError"])


def test_methods_are_those_of_the_python_client():
    from hubless_client import Client

    def camel(name):
        head, *tail = name.split("_")
        return head + "".join(part.title() for part in tail)

    wanted = {camel(name) for name in dir(Client) if not name.startswith("_")} - {"close"}
    source = (HOME / "src" / "client.ts").read_text("utf-8")
    assert wanted <= set(re.findall(r"(?m)^  async \*?(\w+)\(", source))
    table = {name for row in re.findall(r"(?m)^\| (`.*) \| .* \|$", README) for name in re.findall(r"`(\w+)\(", row)}
    assert wanted <= table


@pytest.fixture(scope="module")
def installed(node, built, tmp_path_factory):
    """A project that has only the packed client, and the list of the files in the package."""
    folder = tmp_path_factory.mktemp("packed")
    [packed] = json.loads(node("npm", "pack", "--json", "--ignore-scripts", "--pack-destination", str(folder)))
    (folder / "package.json").write_text('{"private": true}')
    tarball = f"./{packed['filename']}"
    node("npm", "install", "--offline", "--no-audit", "--no-fund", "--no-package-lock", tarball, cwd=folder)
    return folder, {entry["path"] for entry in packed["files"]}


@pytest.fixture
def clone(tmp_path):
    """The folder as git keeps it: without what was compiled, and without the compiler."""
    files = subprocess.run(["git", "ls-files"], cwd=HOME, capture_output=True, text=True, check=True).stdout
    for file in files.splitlines():
        (tmp_path / "clone" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HOME / file, tmp_path / "clone" / file)
    return tmp_path / "clone"


@pytest.mark.slow
def test_install_from_a_clone_brings_code(node, clone, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    node("npm", "install", "--prefer-offline", "--no-audit", "--no-fund", str(clone), cwd=project)
    (project / "a.mjs").write_text('import { Client } from "hubless"; console.log(new Client().baseUrl);')
    assert node("node", "a.mjs", cwd=project).strip() == "http://127.0.0.1:8000"


def test_package_holds_what_was_compiled_and_nothing_else(installed, built):
    _, files = installed
    compiled = {str(path.relative_to(built)) for path in (built / "dist").rglob("*") if path.is_file()}
    assert files == compiled | {"README.md", "LICENSE", "package.json"}
    assert len([name for name in files if name.endswith(".d.ts")]) == 2 * len(list((built / "src").glob("*.ts")))


def test_package_can_be_imported_and_required(node, installed):
    folder, _ = installed
    (folder / "a.mjs").write_text('import { Client } from "hubless"; console.log(new Client().baseUrl);')
    (folder / "b.cjs").write_text('const { Client } = require("hubless"); console.log(new Client().baseUrl);')
    for script in ("a.mjs", "b.cjs"):
        assert node("node", script, cwd=folder).strip() == "http://127.0.0.1:8000"


def test_types_reach_programs_of_both_kinds(node, installed):
    folder, _ = installed
    program = """
import { Client, type ErrorCode, type Hit } from "hubless";
const code: ErrorCode = "not_found";
async function first(vector: Float32Array): Promise<Hit | undefined> {
  const { hits } = await new Client().query("songs", { vector, limit: 1 });
  return hits[0];
}
// @ts-expect-error: a query has a vector or a text, not both
void new Client().query("songs", { vector: [1], text: "x" });
export { code, first };
"""
    for name in ("a.mts", "b.cts"):
        (folder / name).write_text(program)
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]
    node("node", str(HOME / "node_modules" / "typescript" / "bin" / "tsc"), *options, "a.mts", "b.cts", cwd=folder)


def test_package_needs_no_other():
    assert "dependencies" not in json.loads((HOME / "package.json").read_text())


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_browser_asks_a_server_of_another_origin(built, url, key, tmp_path):
    shutil.copytree(built / "dist", tmp_path / "dist")
    (tmp_path / "index.html").write_text(PAGE.format(url=url, key=key))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=tmp_path)) as pages:
        threading.Thread(target=pages.serve_forever).start()
        address = f"http://127.0.0.1:{pages.server_port}/index.html"
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        command = ["chromium", *options, "--virtual-time-budget=20000", "--dump-dom", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        pages.shutdown()
    [title] = re.findall("<title>(.*?)</title>", done.stdout)
    assert unescape(title) == "2 Float32Array true dimension_mismatch"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
