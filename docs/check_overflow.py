"""Check in a browser that no page of the built site is cut off, at the widths of a laptop and of a phone.

python docs/check_overflow.py build/site

On a laptop code and tables must fit, and the header has one row; on a phone code and tables may scroll by themselves,
and the page may not. No word of code in a table is broken.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = {"laptop": 1280, "phone": 420}
# Loads each page into a frame and sends what is wider than its box, and words of code that take several lines.
HARNESS = """<!doctype html><iframe id="frame" height="900" style="border: 0"></iframe><script>
const frame = document.getElementById("frame"), found = [];
const load = (page) => new Promise((done) => { frame.onload = done; frame.src = page; });
(async () => {
  for (const [name, width] of Object.entries(WIDTHS)) {
    frame.width = width;
    for (const page of PAGES) {
      await load(page);
      const root = frame.contentDocument.documentElement;
      const note = (what, of) => found.push([name, page, `${what} is cut by ${of.scrollWidth - of.clientWidth} px`]);
      if (root.scrollWidth > width) note("the page", root);
      for (const word of root.querySelectorAll(".bd-article table code .pre"))
        if (word.getClientRects().length > 1) found.push([name, page, "broken in a table: " + word.textContent]);
      if (name != "laptop") continue;
      const heights = [...root.querySelectorAll(".bd-header :is(a, button)")].map((one) => one.getBoundingClientRect())
        .filter((box) => box.width).map((box) => (box.top + box.bottom) / 2);
      if (Math.max(...heights) - Math.min(...heights) > 24) found.push([name, page, "the header has several rows"]);
      for (const box of root.querySelectorAll(".bd-article pre, .bd-article table, .bd-article math"))
        if (box.scrollWidth > box.clientWidth + 1 && box.clientWidth) {
          const lines = box.textContent.trim().split("\\n");
          note(box.localName + ": " + lines.reduce((a, b) => (b.length > a.length ? b : a)).slice(0, 90), box);
        }
    }
  }
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
})();
</script>"""


class Handler(SimpleHTTPRequestHandler):
    """The site, the page that loads its pages, and what that page sends."""

    found: list[list[str]] | None = None

    def do_GET(self) -> None:
        """Answer with a file of the site, or with the page that loads the others."""
        if self.path != "/harness":
            super().do_GET()
            return
        pages = sorted(path.relative_to(self.directory).as_posix() for path in Path(self.directory).rglob("*.html"))
        shown = [f"/{page}" for page in pages if not page.startswith("_")]
        text = HARNESS.replace("WIDTHS", json.dumps(WIDTHS)).replace("PAGES", json.dumps(shown))
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self) -> None:
        """Take what was found."""
        type(self).found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        Thread(target=self.server.shutdown).start()

    def log_message(self, *_: Any) -> None:
        """Print nothing of each request."""


def stop_with(browser: subprocess.Popen[bytes], server: ThreadingHTTPServer) -> None:
    """Stop the server when the browser ends."""
    browser.wait()
    server.shutdown()


def overflows(site: Path, browser: str) -> list[list[str]]:
    """Return what is wrong: the width, the page and what it is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        running = subprocess.Popen(
            [browser, *options, f"http://127.0.0.1:{server.server_port}/harness"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        Thread(target=stop_with, args=(running, server), daemon=True).start()
        try:
            server.serve_forever()
        finally:
            running.terminate()
            running.wait()
            server.server_close()
    if Handler.found is None:
        sys.exit(f"{browser} ended before it had loaded all pages")
    return Handler.found


if __name__ == "__main__":
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"A browser is needed, one of {', '.join(BROWSERS)}; on Debian: apt install chromium")
    found = overflows(Path(sys.argv[1]), browser)
    if lines := [f"{width} {page}: {what}" for width, page, what in found]:
        sys.exit("\n".join([*lines, f"{len(lines)} things are cut off or broken"]))
