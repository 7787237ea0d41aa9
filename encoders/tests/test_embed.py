"""Pictures, texts and source files become vectors, payload and a query bank that a build takes as they are."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, IptcImagePlugin
from support import catalogs
from support.model_pairs import load_pair, picture_graph, write_pair
from support.photos import COLOURS, DIM
from support.small import WORDS

import hubless
from hubless.errors import InputError, NoEncoder, StorageError, how_to_install
from hubless.vectors.readers import pictures
from hubless_encoders.embedding import embed as embedding
from hubless_encoders.embedding.texts_beside import words_of_name

NAMES = list(COLOURS)


@pytest.fixture
def pair(tmp_path):
    """The description of a pair, without its dimensions."""
    write_pair(tmp_path / "pair")
    (tmp_path / "pair.toml").write_text('type = "onnx"\npath = "pair"\n')
    return tmp_path / "pair.toml"


@pytest.fixture
def photos(tmp_path):
    """Twelve pictures of colours in two folders, one that is damaged, and files of other kinds."""
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    for number in range(12):
        place = folder / ("more" if number % 3 == 0 else ".")
        Image.new("RGB", (6 + number, 8), NAMES[number % 5]).save(place / f"{number}-{NAMES[number % 5]}.png")
    (folder / "broken.jpg").write_bytes(b"nothing")
    (folder / "movie.mp4").write_bytes(b"nothing")
    (folder / ".hidden.png").write_bytes(b"nothing")
    (folder / "@eaDir").mkdir()
    paint(folder / "@eaDir" / "preview.png")
    return folder


def contents(folder):
    """All that an embedding wrote, byte by byte."""
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def paint(path, colour="red", **options):
    Image.new("RGB", (8, 8), colour).save(path, **options)


def skipped(made):
    return [json.loads(line)["id"] for line in made.skipped_file.read_text().splitlines()]


def rows(made):
    return pq.read_table(made.targets).to_pylist()


def test_pictures_are_built_as_they_are_written_and_words_find_them(photos, pair, tmp_path):
    made = hubless.embed(photos, pair, tmp_path / "out")
    assert (made.count, made.dim, made.queries, made.skipped, made.why_no_bank) == (12, DIM, 12, 3, None)
    found = rows(made)
    ids = [row["id"] for row in found]
    assert ids[:3] == ["1-lime.png", "2-blue.png", "4-white.png"]
    assert {"id": "more/9-white.png", "path": "more/9-white.png", "width": 15, "height": 8}.items() <= found[-1].items()
    assert found[-1]["bytes"] == (photos / "more" / "9-white.png").stat().st_size
    listed = [json.loads(line) for line in made.skipped_file.read_text().splitlines()]
    assert [each["id"] for each in listed] == ["@eaDir", "movie.mp4", "broken.jpg"]
    assert "got .mp4" in listed[1]["why"]
    assert "expected a picture as JPEG, PNG, WebP or GIF" in listed[2]["why"]
    hubless.build(tmp_path / "catalog", "photos", made.targets, made.bank, encoder=pair, bank_of_targets=True)
    opened = hubless.open(tmp_path / "catalog", "photos")
    for colour in NAMES:
        (hits,) = opened.query(opened.encode([colour]), limit=2)
        assert all(colour in hit.id for hit in hits)


@pytest.mark.parametrize(("at_once", "batch"), [(1, 1), (5, 32)])
def test_bytes_do_not_depend_on_what_is_encoded_together(photos, pair, tmp_path, monkeypatch, at_once, batch):
    hubless.embed(photos, pair, tmp_path / "one")
    monkeypatch.setattr(embedding, "READ_AHEAD", at_once)
    hubless.embed(photos, load_pair(tmp_path / "pair", batch=batch), tmp_path / "other")
    one, other = (contents(tmp_path / name) for name in ("one", "other"))
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


KILLED = """
import os, signal, sys
from pathlib import Path

import numpy as np
import PIL.Image
import pyarrow as pa

from hubless_encoders.embedding import embed as embedding, embed_folder
from hubless_encoders.embedding.embed import embed
from hubless.store import durable
from hubless.vectors.readers.pictures import read_picture

durable.sync = lambda path: None  # what a power cut would need takes longest
pa.array([1])  # imports pandas, once for all children


class Means:
    dim, quick, left_alone, takes_pictures = 3, True, None, True

    def check(self):
        pass

    check_pictures = save = check

    def encode(self, texts, seconds=None):
        return np.float32([[len(text), 1, 2] for text in texts])

    def picture_input(self, picture, parameter="picture"):
        return np.asarray(read_picture(picture, parameter)).mean(axis=(0, 1))

    def encode_pictures(self, inputs, seconds=None):
        return np.float32(inputs)


photos, where = map(Path, sys.argv[1:])
embedding.PART = 5
true, moments = {name: getattr(embed_folder, name) for name in ("replaced", "replace_text")}, 0

def run(output, kill):
    if (child := os.fork()) == 0:
        for name in true:
            def replace(*given, name=name):
                global moments
                moments += 1
                if moments == kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                return true[name](*given)
            setattr(embed_folder, name, replace)
        embed(photos, Means(), output, progress=False)
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])

run(where / "whole", 0)
for kill in range(1, 10):
    killed = run(where / str(kill), kill)
    assert killed == (signal.SIGKILL if kill < 9 else 0), (kill, killed)
    assert run(where / str(kill), 0) == 0
"""


def test_run_that_is_killed_anywhere_goes_on_to_the_same_rows(photos, tmp_path):
    where = tmp_path / "where"
    where.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, photos, where], check=True)
    whole, *others = (
        {kind: pq.read_table(folder / kind) for kind in ("targets", "bank")} for folder in where.iterdir()
    )
    assert len(others) == 9
    assert len(whole["targets"]) == len(whole["bank"]) == 12
    for other in others:
        assert all(table.equals(whole[kind]) for kind, table in other.items())


def test_later_runs_embed_what_is_new_or_changed_and_take_out_what_is_gone(photos, pair, tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "PART", 5)

    def counted(output="out"):
        made = hubless.embed(photos, pair, tmp_path / output)
        return made.new, made.changed, made.kept, made.gone, made.anew

    assert counted() == (12, 0, 0, 0, False)
    paint(photos / "later.png")
    paint(photos / "2-blue.png", "lime")
    (photos / "4-white.txt").write_text("snow")
    (photos / "more" / "9-white.png").unlink()
    assert (counted(), counted("fresh")) == ((1, 2, 9, 1, False), (12, 0, 0, 0, False))
    for kind, column in (("targets", "id"), ("bank", "of")):
        one, other = (pq.read_table(tmp_path / name / kind).sort_by(column) for name in ("out", "fresh"))
        assert one.equals(other)
    pair.write_text(f"{pair.read_text()}prompt = 'a '")
    assert counted() == (0, 12, 0, 0, True)
    for image in photos.glob("*e.png"):
        image.unlink()
    with pytest.raises(InputError, match=r"source: expected the one that .* was filled from; .* of its 12 items"):
        counted()
    with pytest.raises(InputError, match="output: expected a new folder, or one that embed began"):
        counted("photos")


def test_texts_about_pictures_are_the_bank(tmp_path, pair):
    folder = tmp_path / "photos"
    (folder / "red").mkdir(parents=True)
    for name in ("IMG_1.jpg", "a-lime_white.jpg", "b.jpg", "c.jpg", "red/0001.jpg"):
        paint(folder / name)
    (folder / "b.txt").write_text("red  lime\n\nblue\nnothing known\n", "utf-16")
    (folder / "IMG_1.txt").write_text("Köln", "latin-1")
    (folder / "metadata.csv").write_text("file_name,text\nred/0001.jpg,lime\n", "utf-8-sig")
    (folder / "red" / "metadata.csv").write_text("file_name,prompt\n0001.jpg,lime\n")
    (folder / "metadata.jsonl").write_text('{"file_name": "c.jpg", "text": "white", "captions": ["blue", 3]}\nbad\n')
    head = Image.Exif()
    head[0x010E], head[0x9C9B] = "yellow", "lime\0".encode("utf-16-le")
    paint(folder / "d.jpg", exif=head)
    made = hubless.embed(folder, pair, tmp_path / "out")
    found = [(row["of"], row["text"], row["source"]) for row in pq.read_table(made.bank).to_pylist()]
    assert found == [
        ("a-lime_white.jpg", "lime white", "name"),
        ("b.jpg", "red lime", "caption"),
        ("b.jpg", "blue", "caption"),
        ("b.jpg", "nothing known", "caption"),
        ("c.jpg", "white", "metadata"),
        ("c.jpg", "blue", "metadata"),
        ("d.jpg", "yellow", "head"),
        ("d.jpg", "lime", "head"),
        ("red/0001.jpg", "lime", "metadata"),
    ]
    captions = {row["id"]: row["caption"] for row in rows(made)}
    assert [captions[name] for name in ("IMG_1.jpg", "a-lime_white.jpg", "b.jpg", "c.jpg", "d.jpg")] == [
        *(None, None, "red lime", "white", "yellow")
    ]
    listed = skipped(made)
    assert listed == ["IMG_1.txt", "metadata.jsonl, line 2", "red/metadata.csv"]
    np.testing.assert_array_equal(
        pq.read_table(made.bank)["vector"][1].as_py(), load_pair(tmp_path / "pair").encode(["red lime"])[0]
    )


def test_captions_and_metadata_are_read_up_to_a_limit_and_what_is_left_out_is_listed(tmp_path, pair):
    for name in "abc":
        paint(tmp_path / f"{name}.png")
    (tmp_path / "a.txt").write_text("red\n" * 300_000)
    (tmp_path / "b.txt").write_text("".join("red " * count + "\n" for count in range(1, 200)))
    rows = [json.dumps({"file_name": "c.png", "text": text}) for text in ("lime", "x" * 2**20, "blue")]
    (tmp_path / "metadata.jsonl").write_text("\n".join(["bad"] * 200 + rows))
    (tmp_path / "metadata.csv").touch()
    os.truncate(tmp_path / "metadata.csv", 2**27 + 1)
    made = hubless.embed(tmp_path, pair, tmp_path / "out")
    found = pq.read_table(made.bank).to_pylist()
    assert [row["of"] for row in found] == ["b.png"] * 100 + ["c.png"]
    assert found[-1]["text"] == "lime"
    listed = {each["id"]: each["why"] for each in map(json.loads, made.skipped_file.read_text().splitlines())}
    assert listed["a.txt"] == "more than 1,048,576 bytes"
    assert [name for name in listed if "meta" in name] == ["metadata.jsonl, line 1", "metadata.jsonl", "metadata.csv"]


def test_titles_of_iptc_are_read(tmp_path, pair, monkeypatch):
    paint(tmp_path / "0.jpg")
    monkeypatch.setattr(IptcImagePlugin, "getiptcinfo", lambda picture: {(2, 5): b"blue", (2, 120): [b"two"]})
    (tmp_path / "list.txt").write_text("0.jpg\n")
    made = hubless.embed(tmp_path / "list.txt", pair, tmp_path / "out", kind="pictures")
    assert pq.read_table(made.bank)["text"].to_pylist() == ["blue"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("red-boat_in Harbour (2).jpg", "red boat harbour"),
        ("redBoat.jpg", "red boat"),
        ("IMG_20240131.jpg", ""),
        ("a3f9c2.jpg", ""),
        ("cats/DSC00042.jpg", "cats"),
        ("Straße.jpg", "straße"),
    ],
)
def test_words_of_names_leave_out_what_cameras_write(name, words):
    assert words_of_name(name) == words


def test_without_texts_there_is_no_bank_and_it_says_why(tmp_path, photos, pair):
    assert hubless.embed(photos, pair, tmp_path / "off", bank=False).why_no_bank == "it was not asked for"
    write_pair(tmp_path / "blind", graphs=(b"", picture_graph()))
    (tmp_path / "blind.toml").write_text('type = "onnx"\npath = "blind"\n')
    made = hubless.embed(photos, tmp_path / "blind.toml", tmp_path / "blind-out")
    assert (made.bank, made.queries) == (None, 0)
    assert "the encoder takes no texts: encoder, path: " in made.why_no_bank


def test_thumbnails_are_small_and_bear_the_names_of_the_pictures(tmp_path, pair):
    Image.new("RGB", (900, 600), "red").save(tmp_path / "large.png")
    (tmp_path / "list.csv").write_text("id,path,price\na,large.png,3\nb,../outside.png,4\nc,gone.png,5\n")
    made = hubless.embed(tmp_path / "list.csv", pair, tmp_path / "out" / "x", kind="pictures", thumbnails=True)
    with Image.open(tmp_path / "out" / "x" / "thumbnails" / "large.png") as small:
        assert (small.format, small.size) == ("JPEG", (256, 171))
    (row,) = rows(made)
    assert {"id": "a", "path": "large.png", "price": 3, "width": 900, "caption": None}.items() <= row.items()
    assert skipped(made) == ["b", "c"]


@pytest.fixture
def bag(tmp_path):
    folder = tmp_path / "bag"
    folder.mkdir()
    catalogs.encoder().save(folder)
    return folder


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl", "t.parquet", "t.txt"])
def test_texts_come_from_a_column_or_from_lines_with_what_is_beside_them(file, tmp_path, bag):
    path = tmp_path / file
    table = pa.table({"title": ["amber birch", "", "cedar"], "year": [1, 2, 3]})
    {
        "t.csv": lambda: path.write_text("title,year\namber birch,1\n,2\ncedar,3\n"),
        "t.jsonl": lambda: path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist())),
        "t.parquet": lambda: pq.write_table(table, path),
        "t.txt": lambda: path.write_text("amber birch\n\ncedar\n"),
    }[file]()
    made = hubless.embed(path, bag, tmp_path / "out")
    found = rows(made)
    assert [row["id"] for row in found] == [0, 2]
    if file != "t.txt":
        assert [(row["title"], row["year"]) for row in found] == [("amber birch", 1), ("cedar", 3)]
    np.testing.assert_allclose(
        [row["vector"] for row in found], catalogs.encoder().encode(["amber birch", "cedar"]), atol=1e-6
    )
    assert skipped(made) == [1]
    assert made.bank is None


def test_source_files_are_texts_and_what_is_none_is_listed(tmp_path, bag):
    folder = tmp_path / "code"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "a.py").write_text(f"{WORDS[0]} = {WORDS[1]}")
    (folder / "b.bin").write_bytes(b"\xff\xfe")
    (folder / "empty.py").write_text("")
    (folder / "unknown.py").write_text("zzz")
    made = hubless.embed(folder, bag, tmp_path / "out")
    assert [(row["id"], row["path"]) for row in rows(made)] == [("lib/a.py", "lib/a.py")]
    listed = skipped(made)
    assert listed == ["b.bin", "empty.py", "unknown.py"]


@pytest.mark.parametrize(
    ("given", "kind", "error", "problem"),
    [
        ({"source": "nowhere"}, None, StorageError, "source: there is no such file"),
        ({"source": "empty"}, None, InputError, "source: expected at least one item, of files"),
        (
            {"source": "broken"},
            None,
            InputError,
            "source: expected something that can be read among 1 items",
        ),
        ({"source": "photos", "kind": "sounds"}, None, InputError, "kind: expected one of pictures, files, texts"),
        ({"source": "photos", "kind": "texts"}, None, InputError, "kind: expected none of a folder"),
        ({"source": "photos", "column": "a"}, None, InputError, "column: expected none of a folder"),
        ({"source": "t.csv", "column": "c"}, None, InputError, "column: expected a column of texts, a, b, got c"),
        ({"source": "t.csv"}, None, InputError, "column: expected the column to embed, one of a, b, got nothing"),
        ({"source": "t.txt", "column": "c"}, None, InputError, "column: expected none of a .txt file"),
        ({"source": "photos"}, "bag", NoEncoder, "picture: expected a collection whose encoder takes pictures"),
        ({"source": "t.txt"}, "endpoint", InputError, "encoder, dim: expected the dimensions, as no targets"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_encoded(tmp_path, photos, pair, bag, given, kind, error, problem):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.jpg").write_bytes(b"")
    (tmp_path / "t.csv").write_text("a,b\nx,y\n")
    (tmp_path / "t.txt").write_text("x\n")
    (tmp_path / "endpoint.toml").write_text('type = "openai"\nurl = "http://127.0.0.1:1/v1"\nmodel = "m"\n')
    encoder = {None: pair, "bag": bag, "endpoint": tmp_path / "endpoint.toml"}[kind]
    source = tmp_path / given.pop("source")
    with pytest.raises(error, match=problem):
        hubless.embed(source, encoder, tmp_path / "out", **given)


def test_without_pillow_it_says_so_before_the_first_picture(tmp_path, photos, pair, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(pictures, "find_spec", lambda name: None if name == "PIL" else find(name))
    with pytest.raises(InputError, match=f"the extra pictures: {re.escape(how_to_install('pictures'))}, got no Pillow"):
        hubless.embed(photos, pair, tmp_path / "out")
    with pytest.raises(InputError, match="encoder, type: expected the extra pictures"):
        load_pair(tmp_path / "pair").check_pictures()


def test_command_says_what_it_wrote_and_how_to_build(tmp_path, photos, pair):
    command = [sys.executable, "-m", "hubless", "embed", "photos", "--encoder", "pair.toml", "--output", "out"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        "12 vectors of 12 dimensions: out/targets",
        "3 skipped, each with its reason: out/skipped.jsonl",
        "12 example queries: out/bank",
        "Build it:   hubless build --catalog catalog --collection NAME --targets out/targets --query-bank out/bank "
        "--encoder pair.toml",
        "Look at it: hubless serve --catalog catalog --pictures photos",
    ]
    again = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert json.loads(again)["targets"] == str(Path("out/targets"))
