"""Screenshots of a report for the docs: `python docs/.hooks/screenshots.py`. Needs chromium, the extras demo and lab.

The report is of the demo's data: functions of Python's standard library, searched by what their documentation says.
The other functions are the query bank, so no query of the bank has its answer among the targets.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from hubless.cli.application import app
from hubless_demo.measuring import encode_known, split_pairs
from hubless_demo.pairs import find_pairs, standard_library
from hubless_demo.word_vectors import learn

IMAGES = Path(__file__).parents[1] / "images"
# name (shots of one name stand side by side), width in CSS pixels, height, pixels per CSS pixel, section on top
SHOTS = (("report.png", 1100, 1500, 1, ""),)
EXAMPLES = (193, 379)
# a window cannot be as narrow as a phone, so the page stands in a frame
FRAME = """<!doctype html><body style="margin:0;overflow:hidden"><iframe src="{page}" width="{width}" height="20000"
scrolling="no" style="border:0" onload="
  const top = '{section}' && this.contentDocument.getElementById('{section}').offsetTop - 16;
  this.style.marginTop = -(top || 0) + 'px';
  document.title = this.contentDocument.documentElement.scrollWidth"></iframe>"""


def write_data(folder: Path) -> None:
    """Vectors and payload of the demo's held-out functions, and of the others as the bank."""
    parts = split_pairs(find_pairs(standard_library()), 0)
    encoders = learn(parts.known)
    queries, right = encode_known(encoders, parts.held_out)
    bank, _ = encode_known(encoders, parts.known)
    np.save(folder / "targets.npy", encoders.code.encode(parts.held_out))
    np.save(folder / "bank.npy", bank)
    np.save(folder / "right.npy", np.array(right))
    # payload of the queries is what the page calls them
    asked = {"vector": list(queries), "doc": [parts.held_out[row].doc for row in right]}
    pq.write_table(pa.table(asked), folder / "queries.parquet")
    named = [{"name": pair.name, "doc": pair.doc, "file": pair.file} for pair in parts.held_out]
    pq.write_table(pa.Table.from_pylist(named), folder / "payload.parquet")


def make_report(folder: Path) -> Path:
    """The page."""
    page = folder / "report.html"
    files = {"targets": "targets.npy", "query-bank": "bank.npy", "output": page.name}
    given = [part for name, file in files.items() for part in (f"--{name}", str(folder / file))]
    rare = {"queries": "queries.parquet", "relevant": "right.npy", "payload": "payload.parquet"}
    given += [part for name, file in rare.items() for part in ("--set", f"{name}={folder / file}")]
    app(["report", *given, "--set", f"examples={','.join(map(str, EXAMPLES))}"], standalone_mode=False)
    return page


def shoot(browser: str, page: Path, image: Path, width: int, height: int, scale: int, section: str) -> None:
    """One screenshot of a page, from a section on."""
    frame = page.with_name("frame.html")
    frame.write_text(FRAME.format(page=page.name, width=width, section=section))
    options = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"),
        f"--user-data-dir={page.with_name('browser')}",
        f"--window-size={max(width, 500)},{height}",
        f"--force-device-scale-factor={scale}",
    ]
    command = [browser, *options, f"--screenshot={image}", frame.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    wide = subprocess.run([browser, *options, "--dump-dom", frame.as_uri()], check=True, capture_output=True, text=True)
    found = int(wide.stdout.partition("<title>")[2].partition("<")[0])
    if found > width:
        raise SystemExit(f"{image.name}: the page is {found} pixels wide, in a window of {width}")
    crop(image, width * scale)


def crop(image: Path, width: int) -> None:
    """Cut what is beside the frame."""
    with Image.open(image) as opened:
        opened.convert("RGB").crop((0, 0, width, opened.height)).save(image)


def side_by_side(parts: list[Path], image: Path) -> None:
    """Write screenshots of one height as one picture, in 64 colours: a third of the bytes."""
    opened = [Image.open(part) for part in parts]
    gap = 48
    width = sum(one.width for one in opened) + gap * (len(opened) - 1)
    joined = Image.new("RGB", (width, opened[0].height), "#dddddd")
    left = 0
    for one in opened:
        joined.paste(one, (left, 0))
        left += one.width + gap
    joined.quantize(64, dither=Image.Dither.NONE).save(image, optimize=True)


def main() -> None:
    """Make all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, default=IMAGES)
    parser.add_argument("--page", type=Path, help="a report that was made before")
    given = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("screenshots need chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.page is None:
            write_data(folder)
            page = make_report(folder)
        else:
            page = Path(shutil.copy(given.page, folder / "report.html"))
        shots: dict[str, list[Path]] = {}
        for number, (image, *shot) in enumerate(SHOTS):
            shots.setdefault(image, []).append(folder / f"{number}.png")
            shoot(browser, page, shots[image][-1], *shot)
        for image, parts in shots.items():
            side_by_side(parts, given.images / image)


if __name__ == "__main__":
    main()
