"""Screenshots of the console for the docs: `python docs/.hooks/console_screenshots.py`. Needs chromium.

It shows the catalog of the demo: run `make demo ARGS=--once` before, twice, so that there are two versions to compare.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parents[1] / "images"
MOST_BYTES = 200_000
COLOURS = 128
SEARCH = "#/stdlib/search?q=Copy%20a%20file&fields=[%22name%22,%22module%22]"
# image, address, width, height, colour scheme, what must be there first
SHOTS = (
    ("console-collections.png", "", 1200, 300, "light", "tbody tr"),
    (
        "console-search.png",
        SEARCH,
        1200,
        800,
        "light",
        ".lines path",
    ),
    ("console-hubs.png", "#/stdlib/hubs", 1200, 1000, "light", ".uplot canvas"),
    ("console-map.png", "#/stdlib/map", 1200, 840, "dark", ".map canvas"),
    ("console-versions.png", "#/stdlib/versions", 1200, 620, "light", ".columns"),
    ("console-writes.png", "#/stdlib/writes", 1200, 760, "light", ".regions"),
    ("console-report.png", "#/stdlib/report", 1200, 900, "light", ".uplot canvas"),
)


def shoot(page: Page, image: Path, width: int, height: int) -> None:
    """Write what the window shows, in few colours: a third of the bytes."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_load_state("networkidle")
    # two frames later all that waits for one is drawn
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.screenshot(path=image)
    with Image.open(image) as opened:
        opened.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(image, optimize=True)
    if (size := image.stat().st_size) > MOST_BYTES:
        raise SystemExit(f"{image.name} has {size} bytes, more than {MOST_BYTES}")


def main() -> None:
    """Make all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", type=Path, default=Path("catalog"))
    parser.add_argument("--images", type=Path, default=IMAGES)
    given = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("screenshots need chromium: apt-get install chromium")
    command = [sys.executable, "-m", "hubless", "serve", "--catalog", str(given.catalog), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server, sync_playwright() as playwright:
        url = json.loads(server.stdout.readline())["url"]
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        try:
            for name, address, width, height, scheme, awaited in SHOTS:
                page = opened.new_context(color_scheme=scheme, device_scale_factor=1).new_page()
                page.goto(f"{url}/console/{address}")
                page.locator(awaited).first.wait_for()
                shoot(page, given.images / name, width, height)
        finally:
            opened.close()
            server.terminate()


if __name__ == "__main__":
    main()
