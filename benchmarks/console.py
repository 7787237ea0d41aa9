"""What the console costs a browser: `python -m benchmarks.console`. Needs chromium and the development dependencies.

- `first view`: bytes that are sent, and milliseconds from the click to the table of collections, beside a page of one
  line from a server that does nothing else. Each visit has a profile of its own, so nothing is cached.
- `map`: frames while 5,000 targets are moved and zoomed by one step a frame, beside frames of the same page at rest.
  A frame is late if it takes more than one and a half times the median at rest.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import hubless
from benchmarks import harness
from hubless.demo.server import running_server

TARGETS, DIM, BANK = 6000, 64, 512
FRAMES = 180
LINE = b"<!doctype html><title>bare</title><body><table><tbody><tr><td>bare</table>"
SHOWN = """
new MutationObserver((_, watch) => {
  if (!document.querySelector("tbody tr")) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => (window.shown = performance.now())));
}).observe(document, { childList: true, subtree: true });
"""
MOVE = """
async ([frames, moved]) => {
  const canvas = document.querySelector(".map canvas");
  const box = canvas.getBoundingClientRect();
  const send = (kind, x, more) => canvas.dispatchEvent(new PointerEvent(kind, {
    bubbles: true, pointerId: 1, clientX: box.left + x, clientY: box.top + 200, ...more }));
  canvas.setPointerCapture = () => {};
  const wheel = (deltaY) => canvas.dispatchEvent(new WheelEvent("wheel", {
    bubbles: true, cancelable: true, deltaY, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  if (moved) send("pointerdown", 300);
  for (let i = 0; i < frames; i++) {
    if (moved && i < frames / 2) send("pointermove", 300 + 80 * Math.sin(i / 9));
    if (moved && i === Math.ceil(frames / 2)) send("pointerup", 300);
    if (moved && i >= frames / 2) wheel(i % 60 < 30 ? -12 : 12);
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times;
}
"""


@contextmanager
def bare_server():
    """Serve a page of one line."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(LINE)))
            self.end_headers()
            self.wfile.write(LINE)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/"
        listening.shutdown()
        thread.join()


def visit(browser, address):
    """(bytes sent, milliseconds to the table) of a first visit."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sent = 0

    def count(event):
        nonlocal sent
        sent += event["encodedDataLength"]

    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", count)
    page.add_init_script(SHOWN)
    page.goto(address)
    page.wait_for_function("() => window.shown")
    milliseconds = page.evaluate("window.shown")
    page.wait_for_load_state("networkidle")
    context.close()
    return sent, milliseconds


def first_view(browser, console, bare, rounds):
    """A row: bytes and the median time of both pages, which take turns."""
    sides = {"bare": bare, "console": console}
    times, sizes = {name: [] for name in sides}, {}
    for turn in range(rounds + 1):
        for name, address in sides.items():
            sizes[name], milliseconds = visit(browser, address)
            if turn:  # the first visit warms the server and the browser
                times[name].append(milliseconds)
    median = {name: statistics.median(values) for name, values in times.items()}
    return {
        "measured": "first view",
        "bytes": sizes["console"],
        "milliseconds": median["console"],
        "bare_milliseconds": median["bare"],
        "slowest": max(times["console"]),
    }


def frames(browser, address):
    """A row: frames at rest and in motion."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(address)
    page.locator(".map canvas").wait_for()
    page.wait_for_load_state("networkidle")
    page.evaluate(MOVE, [FRAMES, True])
    found = {name: page.evaluate(MOVE, [FRAMES, moved]) for name, moved in (("rest", False), ("motion", True))}
    usual = statistics.median(found["rest"])
    late = {name: sum(each > 1.5 * usual for each in values) / len(values) for name, values in found.items()}
    page.close()
    return {
        "measured": "map",
        "frames_a_second_at_rest": 1000 / statistics.mean(found["rest"]),
        "frames_a_second_in_motion": 1000 / statistics.mean(found["motion"]),
        "late_at_rest": late["rest"],
        "late_in_motion": late["motion"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="visits of each page")
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("needs chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        targets, bank, _ = harness.with_hubs(TARGETS, BANK, 1, DIM)
        hubless.build(Path(folder), "made", targets, bank, correction="csls", index="flat", progress=False)
        with running_server(Path(folder), 0) as server, bare_server() as bare, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            console = f"{server.url}/console/"
            rows = [first_view(browser, console, bare, given.rounds), frames(browser, f"{console}#/made/map")]
            browser.close()
    for row in rows:
        print(", ".join(f"{name} {value if isinstance(value, str) else f'{value:.4g}'}" for name, value in row.items()))


if __name__ == "__main__":
    main()
