import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from qdrant_client import QdrantClient
from qdrant_client.models import VectorParams
from support import demo_like, jobs
from support.hubs import pairs
from support.installed import Environment
from support.pages import PAGES as OF_SITE, ROOT, Walk, blocks
from support.printed import write_sample
from support.problems import with_hubs
from support.score_logs import hubby_log, write_log
from support.wheels import build

PAGES = [ROOT / "README.md", *OF_SITE, *sorted((ROOT / "clients").glob("*/README.md"))]
QUICK = {"README", "quickstart", "cli", "http", "python", "clients/python"}
"""What people read first. The others take three minutes together, some in environments of their own."""
BUILD = "hubless build --catalog catalog --collection photos --targets images.npy --query-bank captions.npy"
USUAL = ("hubless[serve]", "hubless-lab", "hubless-matching")
INSTALLS = re.compile(r"\b(pip|npm) install ")
FIRST = re.compile(r"(?m)^(?:\w+=\S+ )*(hubless |pip install (?:[^\n]* )?'?\.(?!/))")
"""The first command that is hubless or installs it."""


def name(page):
    return page.stem if page.parent == ROOT or page in OF_SITE else f"clients/{page.parent.name}"


def vectors(*names):
    def write(folder, walk):
        queries, targets, _ = pairs(260, apart=1.5)
        for seed, wanted in enumerate(names):
            rows = targets if wanted in ("images", "targets", "items") else queries
            moved = rows + 1e-3 * np.random.default_rng(seed).normal(size=rows.shape)
            np.save(folder / f"{wanted}.npy", moved.astype(np.float32))
        np.save(folder / "right.npy", np.arange(len(targets)))

    return write


def first_screen(folder, walk):
    """The vectors of the quickstart, in a Qdrant too, and a log of another search."""
    made = next(each.text for each in blocks(ROOT / "docs" / "quickstart.md") if each.language == "python")
    subprocess.run([sys.executable, "-c", made], cwd=folder, check=True)
    client = QdrantClient(path=folder / "qdrant")
    client.create_collection("photos", VectorParams(size=64, distance="Cosine"))
    client.upload_collection("photos", np.load(folder / "targets.npy"))
    client.close()
    write_log(folder / "answers.jsonl", *hubby_log())


def built(folder, walk):
    walk.prepare(BUILD)


def built_raw(folder, walk):
    """A collection that gains by any bank."""
    walk.prepare(f"{BUILD} --correction none")


def demo(folder, walk):
    pages = "\n".join(page.read_text("utf-8") for page in PAGES)
    texts = [text.lower() for text in re.findall(r'\btext"?[=:] ?"([ \w]+)"', pages)]
    for collection in ("stdlib", "stdlib-next"):
        demo_like.build(folder / "catalog", texts, collection)
    walk.prepare("served env HUBLESS_QUERY_SAMPLE=queries hubless serve --catalog catalog")


def tables(folder, walk):
    images = np.load(folder / "images.npy")
    kinds = [("photo", "drawing")[row % 2] for row in range(len(images))]
    pq.write_table(
        pa.table({"id": range(len(images)), "vector": list(images), "kind": kinds}), folder / "images.parquet"
    )
    np.save(folder / "items.npy", images)
    (folder / "items.jsonl").write_text("".join(json.dumps({"kind": kind}) + "\n" for kind in kinds))
    np.save(folder / "uploads.npy", images[:10])


def tenants(folder, walk):
    """Items and queries of two tenants."""
    for source, name in (("images", "items"), ("captions", "queries")):
        rows = np.load(folder / f"{source}.npy")
        named = [("north", "south")[row % 2] for row in range(len(rows))]
        pq.write_table(pa.table({"vector": list(rows), "tenant": named}), folder / f"{name}.parquet")


def own_offsets(folder, walk):
    np.save(folder / "own.npy", np.linspace(-0.1, 0.1, len(np.load(folder / "images.npy"))))


def scores(folder, walk):
    images, captions = (np.load(folder / f"{each}.npy") for each in ("images", "captions"))
    np.save(folder / "s.npy", captions @ images.T)
    np.save(folder / "bank.npy", captions[::-1] @ images.T)


def sample(folder, walk):
    write_sample(folder / "queries", np.load(folder / "captions.npy"), collection="photos")


def python_names(folder, walk):
    """The names that the page about Python takes as given."""
    problem = with_hubs(targets=65, bank=80, queries=40, dim=16, seed=4)
    rows = {name: each / np.linalg.norm(each, axis=1, keepdims=True) for name, each in vars(problem).items()}
    np.savez(folder / "given.npz", **rows)
    walk.run_python("""
import numpy
import pyarrow
given = numpy.load("given.npz")
targets, query_bank, queries, more = given["targets"][:60], given["bank"], given["queries"], given["targets"][60:]
ids, more_ids = ["a", "b", "c", *(f"target {row}" for row in range(3, 60))], [f"new {row}" for row in range(5)]
relevant = [ids[2 + row] for row in (queries @ targets[2:].T).argmax(axis=1)]
table = pyarrow.table({"price": numpy.linspace(1, 40, 60)})
""")


def written(folder, walk):
    """Served collections that may change, and the files of a job."""
    rng = np.random.default_rng(2)
    table = {"id": jobs.names(0, 1200), "vector": list(rng.normal(size=(1200, 3)).astype(np.float32))}
    (folder / "items").mkdir()
    pq.write_table(pa.table({**table, "title": table["id"]}), folder / "items" / "a.parquet")
    for each in ("captions", "recent"):
        np.save(folder / f"{each}.npy", rng.normal(size=(300, 3)).astype(np.float32))
    bank = {"vectors": rng.normal(size=(100, 3)).tolist(), "timeout_ms": 100_000}
    (folder / "bank.json").write_text(json.dumps(bank))
    walk.prepare(f"{BUILD.replace('images.npy', 'items')}\nserved hubless serve --catalog catalog")


def bucket(folder, walk):
    from support import object_storage  # here, as it takes long to import

    store = walk.enter(object_storage.store())
    client = store.client()
    client.create_bucket(Bucket="bucket")
    walk.prepare(BUILD)
    for file in (folder / "catalog").rglob("*"):
        if file.is_file():
            client.put_object(Bucket="bucket", Key=str(file.relative_to(folder)), Body=file.read_bytes())
    for each in ("images", "captions"):
        client.put_object(Bucket="bucket", Key=f"in/{each}.npy", Body=(folder / f"{each}.npy").read_bytes())
    walk.run_shell("".join(f"export {name}={value}\n" for name, value in store.variables.items()))


STAND_IN = """
import json
import sys
import zlib
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

import numpy as np

COLOURS = {"red": [9, 1, 1], "green": [1, 9, 1], "blue": [1, 1, 9]}

def of_words(text):
    return sum(np.random.default_rng(zlib.crc32(word.encode())).normal(size=64) for word in text.lower().split())

def of_colours(given):
    if isinstance(given, str):
        return 1 + np.sum([COLOURS.get(word, [0, 0, 0]) for word in given.split()], axis=0)
    from PIL import Image
    picture = Image.open(BytesIO(b64decode(given["image"]))).convert("RGB").resize((1, 1))
    return 1 + np.array(picture, float).ravel()

class Embeddings(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vector = of_colours if asked["model"] == "colours" else of_words
        data = [{"index": row, "embedding": vector(each).tolist()} for row, each in enumerate(asked["input"])]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": data}).encode())

server = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
with open("encoder.toml", "w") as file:
    print(f'type = "openai"\\nurl = "http://127.0.0.1:{server.server_port}/v1"\\n{sys.argv[1]}', file=file)
server.serve_forever()
"""
"""An endpoint, that describes itself in `encoder.toml`: of words a direction each, of pictures their mean colour."""


def endpoint(*fields):
    def serve(folder, walk):
        (folder / "standin.py").write_text(STAND_IN)
        lines = "\\n".join(fields)
        walk.run_shell(
            f"'{sys.executable}' standin.py $'{lines}' 2> standin.log &\nuntil [ -s encoder.toml ]; do sleep 0.1; done"
        )

    return serve


def photos(folder, walk):
    (folder / "photos").mkdir()
    draw = np.random.default_rng(0)
    for number in range(60):
        colour = draw.dirichlet([1, 1, 1])
        names = [name for name, part in zip(["red", "green", "blue"], colour, strict=True) if part > 0.25]
        picture = Image.new("RGB", (64, 48), tuple((250 * colour).astype(int)))
        picture.save(folder / f"photos/{'-'.join(names)}-{number}.png")


GIVEN = {
    "README": [first_screen],
    "cli": [vectors("images", "captions"), tables],
    "clients/python": [demo],
    "clients/typescript": [demo],
    "confidence": [vectors("images", "captions")],
    "encoders": [endpoint('model = "words"', 'api_key_env = "EMBEDDING_KEY"')],
    "http": [demo],
    "lab": [vectors("images", "captions", "past-queries", "logged"), built, scores],
    "matching": [vectors("images", "captions")],
    "methods": [vectors("images", "captions"), tenants, own_offsets],
    "object-storage": [vectors("images", "captions", "queries"), bucket],
    "operations": [vectors("images", "captions", "bank"), built_raw, sample],
    "pictures": [photos, endpoint('model = "colours"', "dim = 3", 'pictures = "jina"')],
    "python": [python_names],
    "query-log": [demo],
    "scan": [vectors("images", "captions", "logged"), tables, built],
    "symptoms": [vectors("images", "captions", "items", "queries"), built],
    "security": [vectors("images", "captions"), built],
    "writes": [written],
    "your-database": [vectors("targets", "query-bank", "queries")],
}
"""What a page takes as given: it is made before its first block."""


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    for project in (ROOT, ROOT / "lab", ROOT / "matching"):
        build(project, folder)
    return folder


@pytest.fixture(scope="session")
def plain(wheels, tmp_path_factory):
    """The environment of a reader who has installed the service, the lab and matching, and nothing else."""
    made = Environment.create(tmp_path_factory.mktemp("plain") / "environment", wheels, locked())
    made.install(*USUAL)
    return made


def locked(client=None):
    """Folders of packages that a page may install from; with those of an adapter in front."""
    own = ROOT / f".venv-{client}"
    if client and (ROOT / "requirements" / f"{client}.txt").exists() and not own.exists():
        assert not os.environ.get("CI"), f"CI needs `make {client}`"
        pytest.skip(f"needs `make {client}`")
    folders = [*own.glob("lib/python3*/site-packages"), *(Path(each) for each in sys.path)]
    return [each for each in folders if each.name == "site-packages"]


def clone(folder):
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in filter(None, files.split("\0")):
        if (ROOT / file).exists():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, folder / file)


def programs(page, plain, wheels, folder):
    """The folder of programs of a reader. Who installs something has an environment of his own."""
    shell = "\n".join(block.text for block in blocks(page) if block.is_run and block.language in ("sh", "bash"))
    if not INSTALLS.search(shell):
        return plain.home / "bin"
    clone(folder)
    client = page.parent.name if page.stem == "README" and page.parent != ROOT else None
    made = Environment.create(folder.with_name("environment"), wheels, locked(client))
    first = FIRST.search(shell)
    if not client and (first is None or first[1] == "hubless "):
        made.install(*USUAL)
    for tool in ("node", "npm"):
        if where := shutil.which(tool):
            (made.home / "bin" / tool).symlink_to(where)
    return made.home / "bin"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_runs_or_says_why_not(page):
    assert [each.name for each in blocks(page) if not (each.is_shown or each.is_run or each.says_why)] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("page", "found"),
    [
        pytest.param(page, found, marks=[pytest.mark.slow] * (name(page) not in QUICK), id=name(page))
        for page in PAGES
        if (found := [block for block in blocks(page) if block.is_run])
    ],
)
def test_page_runs_as_written(page, found, plain, wheels, tmp_path):
    folder = tmp_path / "reader"
    folder.mkdir()
    with Walk(folder, programs(page, plain, wheels, folder), plain.home / "bin") as walk:
        for give in GIVEN.get(name(page), ()):
            give(folder, walk)
        for block in found:
            walk.run(block)
        assert [each.text for each in blocks(page) if each.note == "printed" and each.text not in walk.printed()] == []
