"""The page in a browser without a window: VRAMFIT_PROGRAM=PROGRAM VRAMFIT_PAGE=PAGE.html python -m unittest test_page

Needs playwright and brotli from PyPI, and a Chromium: /usr/bin/chromium, or what CHROMIUM names. With VRAMFIT_SCREENSHOTS=FOLDER
it leaves pictures there.
"""

import functools
import http.server
import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import brotli
from playwright.sync_api import sync_playwright

PROGRAM = os.path.realpath(os.environ["VRAMFIT_PROGRAM"])
PAGE = pathlib.Path(os.environ["VRAMFIT_PAGE"]).resolve()
SCREENSHOTS = os.environ.get("VRAMFIT_SCREENSHOTS")
PATIENCE = int(os.environ.get("VRAMFIT_PATIENCE_MS", "120000"))
CONFIG = "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nadapter: lora\nlora_r: 8\nbf16: true\nmicro_batch_size: 2\n"


def native(*words, folder=None):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL)


def questions():
    """Fields of the form, fifty of them, as a link has them."""
    for model in ("gemma-2b", "llama-3.2-1b", "qwen3-8b", "mistral-7b-v0.3", "phi-4"):
        for method in ("full", "lora", "qlora"):
            for gpu in ("RTX 4090", "16GiB"):
                yield {"model": model, "method": method, "seq": "512", "gpu": gpu}
    for seq in ("128", "1024", "4096", "8192"):
        yield {"seq": seq, "batch": "2", "gpu": "24GiB"}
        yield {"model": "llama-3.2-1b", "method": "lora", "seq": seq, "rank": "32", "targets": "all-linear", "gpu": "8GB"}
    for recipe in ("trl-sft", "axolotl", "unsloth"):
        yield {"model": "llama-3.1-8b", "recipe": recipe, "gpu": "L40S"}
    for sharing in ("", "--fsdp 2", "--zero-stage 2"):
        yield {"model": "llama-3.2-1b", "method": "full", "mixed-precision": "bf16", "gpus": "4", "sharing": sharing}
    for more in ("--alloc-conf expandable_segments:True", "--eval-batch 4", "--use_dora", "--reserve 2GiB"):
        yield {"model": "qwen3-0.6b", "method": "lora", "more": more, "gpu": ""}
    yield {"gpu": "24"}
    yield {"model": "no-such-model"}


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def setUp(self):
        self.problems, self.requests = [], []

    def open(self, fragment="", width=1200, scheme="light", address=None):
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self.problems.append(message.text))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto((address or PAGE.as_uri()) + (f"#{fragment}" if fragment else ""))
        page.wait_for_selector("html[data-shown]", state="attached")
        return page

    def tearDown(self):
        self.assertEqual(self.problems, [])

    def shot(self, page, name):
        if SCREENSHOTS:
            page.screenshot(path=pathlib.Path(SCREENSHOTS) / f"{name}.png", full_page=True)

    def shown(self, page, condition):
        """Asked again and again: what playwright itself has for this is forbidden by the page's security policy."""
        end = time.monotonic() + PATIENCE / 1000
        while not page.evaluate(f"!!({condition})"):
            self.assertLess(time.monotonic(), end, condition)
            page.wait_for_timeout(30)

    def test_answers_are_those_of_the_program(self):
        page = self.open()
        asked = list(questions())
        self.assertGreaterEqual(len(asked), 48)
        verdicts = set()
        for fields in asked:
            with self.subTest(fields):
                before = page.get_attribute("#answer", "data-words")
                page.evaluate("(fragment) => { location.hash = fragment; }", urllib.parse.urlencode(fields))
                self.shown(page, "document.getElementById('answer').ariaBusy === 'false' && "
                           f"document.getElementById('answer').dataset.words !== {json.dumps(before)}")
                line = shlex.split(page.inner_text("#answer .command code"))
                self.assertEqual(line[:2], ["vramfit", "predict"])
                for name, value in fields.items():
                    if value:
                        self.assertIn(shlex.split(value)[0] if name in ("more", "sharing") else value, line)
                expected = native(*line[1:], "--format", "json")
                self.assertEqual(page.get_attribute("#answer", "data-status"), str(expected.returncode))
                if expected.returncode > 1:
                    error = expected.stderr.split("\n")[0].removeprefix("error: ")
                    self.assertIn(error, page.inner_text("#answer"))
                    continue
                prediction = json.loads(expected.stdout)
                verdicts.add(prediction["verdict"])
                self.assertEqual(page.get_attribute("#answer", "data-verdict"), prediction["verdict"])
                self.assertEqual(page.get_attribute("#answer", "data-reserved"), str(prediction["peak"]["reserved"]))
                self.assertIn(f"{prediction['peak']['reserved'] / 2**30:.2f} GiB", page.inner_text("#answer"))
        self.assertGreaterEqual(verdicts, {"fits", "too_large", "not_asked"})

    def test_nothing_is_loaded_from_elsewhere(self):
        page = self.open("view=timeline")
        self.assertTrue(all(url.startswith(("file:", "data:", "blob:", "about:")) for url in self.requests), self.requests)
        self.assertIn("Fits", page.inner_text("#answer .verdict"))

    def test_over_http(self):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=PAGE.parent))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        address = f"http://127.0.0.1:{server.server_port}/{PAGE.name}"
        page = self.open("method=full", address=address)
        self.assertEqual(page.inner_text("#answer .verdict"), "Does not fit")
        self.assertEqual([url for url in self.requests if url.startswith("http")], [address])

    def test_with_the_keyboard_alone(self):
        page = self.open()
        focused = lambda: page.evaluate("document.activeElement.name || document.activeElement.id || document.activeElement.textContent")
        for expected in ("model", "method", "seq", "batch", "gpu"):
            page.keyboard.press("Tab")
            self.assertEqual(focused(), expected)
        page.keyboard.press("Control+a")
        page.keyboard.type("8GiB")
        page.keyboard.press("Enter")
        self.shown(page, "document.getElementById('answer').dataset.verdict === 'too_large'")
        for _ in range(3):
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("ArrowLeft")  # from QLoRA to LoRA
        self.shown(page, "document.getElementById('answer').dataset.words.includes('--method lora')")
        for _ in range(40):
            if page.evaluate("document.activeElement.getAttribute('role')") == "tab":
                break
            page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        self.assertEqual(focused(), "tab-timeline")
        self.shown(page, "document.querySelector('iframe')?.contentDocument?.querySelector('canvas')")
        page.keyboard.press("End")
        self.assertEqual(focused(), "tab-config")
        self.shown(page, "document.getElementById('pasted')")

    def test_controls_have_names(self):
        page = self.open("seq=100000")
        page.evaluate("document.querySelector('details').open = true")
        unnamed = page.evaluate("""[...document.querySelectorAll("input, select, textarea, button")].filter((e) =>
            !(e.labels?.length && [...e.labels].some((l) => l.textContent.trim())) && !e.getAttribute("aria-label") && !e.textContent.trim()).map((e) => e.outerHTML)""")
        self.assertEqual(unnamed, [])
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        self.assertEqual(len(ids), len(set(ids)))
        self.assertIn("Does not fit", page.inner_text("#announcement"))

    def test_readable_on_narrow_and_wide_screens_in_both_schemes(self):
        for fragment, name in (("", "fits"), ("method=full&mixed-precision=bf16", "not"), ("gpu=24", "refused"), ("view=config", "config")):
            for width in (400, 1600):
                for scheme in ("light", "dark"):
                    with self.subTest(name=name, width=width, scheme=scheme):
                        page = self.open(fragment, width, scheme)
                        page.evaluate("document.querySelector('details').open = true")
                        self.shot(page, f"{name}-{width}-{scheme}")
                        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                        self.assertEqual(page.evaluate(UNREADABLE), [])

    def test_timeline_and_sweep_are_drawn(self):
        page = self.open("model=gemma-2b&gpu=8GiB&seq=256&view=timeline")
        frame = page.frame_locator("iframe")
        self.assertGreater(frame.locator("canvas").bounding_box()["width"], 500)
        drawn = frame.locator("canvas").evaluate("""(c) => new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size""")
        self.assertGreater(drawn, 5)
        self.shot(page, "timeline")
        page.click("#tab-sweep")
        page.fill("#sweep-seq", "128,256,512")
        page.fill("#sweep-batch", "1,2")
        page.press("#sweep-batch", "Enter")
        self.shown(page, "document.querySelector('iframe')?.contentDocument?.querySelectorAll('td.cell').length === 6")
        self.assertGreater(page.locator("iframe").bounding_box()["height"], 300)
        self.shot(page, "sweep")

    def test_a_sweep_does_not_stop_the_page(self):
        page = self.open("model=llama-3.2-1b&view=sweep")
        page.evaluate("() => { window.ticks = 0; setInterval(() => ++window.ticks, 10); }")
        page.fill("#sweep-batch", "1..16")
        page.press("#sweep-batch", "Enter")
        before = page.evaluate("ticks")
        page.wait_for_timeout(500)
        self.assertGreater(page.evaluate("ticks"), before + 5)
        page.click("#tab-details")  # and a newer question ends it
        self.shown(page, "document.querySelector('.sections')")

    def test_a_dropped_config_file_is_checked(self):
        page = self.open()
        page.evaluate("""(text) => { const data = new DataTransfer(); data.items.add(new File([text], "run.yml"));
            document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true})); }""", CONFIG)
        self.shown(page, "document.querySelector('pre.text')")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "run.yml").write_text(CONFIG)
            self.assertEqual(page.inner_text("pre.text"), native("check", "run.yml", "--gpu", "RTX 4090", folder=folder).stdout.strip())
        self.assertEqual(page.inner_text("#view .verdict"), "Fits")
        again = self.open(page.evaluate("location.hash.slice(1)"))
        self.assertEqual(again.inner_text("pre.text"), page.inner_text("pre.text"))

    def test_a_config_json_is_a_model(self):
        model = json.loads((pathlib.Path(__file__).parents[3] / "models/llama-3.2-1b.json").read_text())
        config = {key: value for key, value in model.items() if key not in ("name", "id", "aliases", "source")}
        page = self.open()
        page.set_input_files("#file", {"name": "config.json", "mimeType": "application/json", "buffer": json.dumps(config).encode()})
        self.shown(page, "document.getElementById('answer').dataset.words.startsWith('predict config.json')")
        self.assertEqual(page.get_attribute("#answer", "data-status"), "0")

    def test_a_link_holds_the_question(self):
        page = self.open()
        page.fill("#batch", "3")
        page.click("summary")
        page.select_option("#attention", "eager")
        page.click("#tab-timeline")
        self.shown(page, "document.documentElement.dataset.shown.includes('view=timeline')")
        again = self.open(page.evaluate("location.hash.slice(1)"))
        for name in ("words", "verdict", "reserved"):
            self.assertEqual(again.get_attribute("#answer", f"data-{name}"), page.get_attribute("#answer", f"data-{name}"))
        self.assertEqual(again.get_attribute("#tab-timeline", "aria-selected"), "true")

    def test_a_change_is_applied(self):
        page = self.open("gpu=12GiB&seq=4096")
        self.assertEqual(page.inner_text("#answer .verdict"), "Does not fit")
        page.click("#answer .changes button >> nth=0")
        self.shown(page, "document.getElementById('answer').dataset.verdict === 'fits'")

    def test_size(self):
        packed = len(brotli.compress(PAGE.read_bytes(), quality=9, lgwin=24))
        print(f"\n{PAGE.name}: {PAGE.stat().st_size:,} bytes, by brotli {packed:,}")
        self.assertLessEqual(packed, 2_000_000)


# Texts with less contrast than WCAG's 4.5, or smaller than 12 pixels.
UNREADABLE = """() => {
  const numbers = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const out = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, style = getComputedStyle(e);
    if (!walk.currentNode.textContent.trim() || !e.checkVisibility() || e.closest("svg, script, style, option, .unseen, [aria-busy=true]")) continue;
    const [a, b] = [light(numbers(style.color)), light(ground(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5 || parseFloat(style.fontSize) < 12) out.push(`${walk.currentNode.textContent.trim().slice(0, 40)}: ${contrast.toFixed(2)}, ${style.fontSize}`);
  }
  return out;
}"""


if __name__ == "__main__":
    unittest.main()
