#!/usr/bin/env python3
"""Tests the pages of `tilescope share` in a real Chromium without a network: that they paint, that mouse, touch and keyboard work,
that nothing is loaded or refused, and that their figures are those of `tilescope show`.

usage: page.py TILESCOPE FIXTURE [FOLDER]     FIXTURE is ui_fixture; pictures go to FOLDER
Exits with 77, which means skipped, where Chromium is not installed or cannot start.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import chromium

TILESCOPE, FIXTURE = sys.argv[1:3]
PICTURES = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
WIDTH, HEIGHT = 1200, 900


def number(text):
    return float(re.sub(r"[^0-9.]", "", text))


class PageTest(unittest.TestCase):
    """Tests of the page of the recording that RECORD, followed by its name, makes."""
    RECORD, RUNS = None, (1,)

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="tilescope-share-")
        folder = pathlib.Path(cls.temporary.name)
        cls.recording, cls.page = folder / "recording.tscope", folder / "page.html"
        subprocess.run([*cls.RECORD, cls.recording], check=True, stdout=subprocess.DEVNULL)
        runs = [word for run in cls.RUNS for word in ("--run", str(run))]
        subprocess.run([TILESCOPE, "share", cls.recording, *runs, "-o", cls.page], check=True, stdout=subprocess.DEVNULL)
        cls.browser = chromium.Browser(WIDTH, HEIGHT)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.temporary.cleanup()

    def setUp(self):
        self.browser.errors.clear()
        self.browser.requests.clear()
        self.browser.resize(WIDTH, HEIGHT)
        self.browser.open(self.page)

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])
        self.assertEqual(self.browser.requests, [self.page.as_uri()])

    def area(self, name):
        return self.browser.evaluate(f"(() => {{ const a = document.getElementById('{name}').getBoundingClientRect(); "
                                     "return [a.left, a.top, a.width, a.height]; })()")

    def text(self, name):
        return self.browser.evaluate(f"document.getElementById('{name}').innerText")

    def picture(self, name="lanes"):
        """The content of a canvas, to be compared."""
        return self.browser.evaluate(f"document.getElementById('{name}').toDataURL()")

    def colours(self, name):
        """The number of different colours in a canvas."""
        return self.browser.evaluate(
            f"(() => {{ const c = document.getElementById('{name}'); const d = new Uint32Array(c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data.buffer); return new Set(d).size; })()")

    def focus_timeline(self):
        self.browser.evaluate("document.getElementById('scroller').focus()")

    def middle(self, name):
        left, top, width, height = self.area(name)
        return left + 152 + (width - 152) / 2, top + height / 2

    def words(self):
        """The texts that the page paints into its canvases, each once, in the order of painting."""
        self.browser.evaluate("(() => { const p = CanvasRenderingContext2D.prototype, paint = p.fillText; window.words = []; "
                              "p.fillText = function(text, ...place) { window.words.push(text); return paint.call(this, text, ...place); }; })()")
        self.focus_timeline()
        self.browser.key("f")
        self.browser.frame()
        return list(dict.fromkeys(self.browser.evaluate("window.words")))


class Page(PageTest):
    RECORD, RUNS = (FIXTURE, "lm"), (1, 2, 3)

    def test_paints_timeline_memory_and_kernels(self):
        for canvas in ("lanes", "overview", "memory"):
            self.assertGreater(self.colours(canvas), 5, canvas)
        self.assertIn("lm-small2", self.text("run-title"))
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('#kernels tbody tr').length"), 5)

    def test_allows_only_its_own_script_and_style(self):
        policy = self.browser.evaluate("document.querySelector('meta[http-equiv=\"Content-Security-Policy\"]').content")
        self.assertRegex(policy, r"^default-src 'none'; script-src 'sha256-\S+'; style-src 'sha256-\S+'; ")
        self.assertNotIn("unsafe", policy)
        self.browser.evaluate("(() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1'; "
                              "document.body.append(s); })()")
        self.assertIsNone(self.browser.evaluate("window.broken"))
        self.assertTrue(any("Content Security Policy" in error for error in self.browser.errors), self.browser.errors)
        self.browser.errors.clear()

    def test_sums_of_kernels_equal_the_command_line(self):
        for place, run in enumerate((1, 2)):
            self.browser.evaluate(f"(() => {{ const r = document.getElementById('runs'); r.selectedIndex = {place}; "
                                  "performance.clearMarks(); r.dispatchEvent(new Event('change')); })()")
            self.browser.wait("performance.getEntriesByName('painted').length > 0")
            output = subprocess.run([TILESCOPE, "show", self.recording, "kernels", "--run", str(run), "--format", "json"], check=True,
                                    capture_output=True, text=True).stdout
            rows = json.loads(output)
            shown = self.browser.evaluate("[document.querySelector('#kernels tfoot [data-ns]').dataset.ns, "
                                          "document.querySelector('#kernels tfoot [data-instances]').dataset.instances, "
                                          "document.querySelectorAll('#kernels tbody tr').length]")
            self.assertEqual([int(value) for value in shown],
                             [sum(row["total_ns"] for row in rows), sum(row["instances"] for row in rows), len(rows)])

    def test_sorts_and_filters_kernels(self):
        def names():
            return self.browser.evaluate("[...document.querySelectorAll('#kernels tbody tr td:first-child')].map(c => c.innerText)")
        by_total = names()
        self.browser.evaluate("document.querySelector('[data-column=name]').click()")
        self.assertEqual(names(), sorted(by_total, key=str.lower))
        self.browser.evaluate("document.querySelector('[data-column=name]').click()")
        self.assertEqual(names(), sorted(by_total, key=str.lower, reverse=True))
        self.browser.evaluate("document.getElementById('filter').focus()")
        self.browser.type("softmax")
        self.assertEqual(sorted(names()), sorted(name for name in by_total if "softmax" in name))
        self.assertIn("Sum of 2 of", self.text("kernels"))

    def test_zooms_and_moves_by_wheel(self):
        x, y = self.middle("lanes")
        before = self.picture()
        self.browser.wheel(x, y, -300, control=True)
        closer = self.picture()
        self.assertNotEqual(before, closer)
        self.browser.wheel(x, y, 200, shift=True)
        self.assertNotEqual(closer, self.picture())

    def test_zooms_and_moves_by_keyboard(self):
        self.focus_timeline()
        whole = self.picture("ruler")
        for key in "ww":
            self.browser.key(key)
        closer = self.picture("ruler")
        self.assertNotEqual(whole, closer)
        self.browser.key("ArrowRight")
        moved = self.picture("ruler")
        self.assertNotEqual(closer, moved)
        self.browser.key("a")
        self.assertEqual(closer, self.picture("ruler"))
        self.browser.key("f")
        self.assertEqual(whole, self.picture("ruler"))

    def test_selects_a_box_by_mouse_and_steps_by_keyboard(self):
        self.assertIn("Select a box", self.text("details"))
        left, top, width, _ = self.area("lanes")
        self.browser.click(left + 152 + (width - 152) * 0.25, top + 10)
        self.assertRegex(self.text("details"), r"(?s)step.*Duration.*Lane\s*Ranges")
        self.focus_timeline()
        self.browser.key("Escape")
        self.assertIn("Select a box", self.text("details"))
        self.browser.key(".")
        first = self.text("details")
        self.assertRegex(first, r"Lane\s*stream 7")
        self.browser.key(".")
        self.assertNotEqual(first, self.text("details"))
        self.browser.key(",")
        self.assertEqual(first, self.text("details"))

    def test_selects_a_span_whose_sums_agree(self):
        left, top, width, _ = self.area("lanes")
        self.browser.drag(left + 152 + 20, top + 30, left + width - 20, top + 30)
        sums = self.browser.evaluate("[[...document.querySelectorAll('#span tbody td:nth-child(2)')].map(c => +c.innerText), "
                                     "document.querySelector('#span tfoot td:nth-child(2)').innerText]")
        self.assertGreater(len(sums[0]), 3)
        self.assertEqual(sum(sums[0]), number(sums[1]))
        self.assertIn("GPU busy", self.text("span"))

    def test_span_of_everything_holds_all_kernels(self):
        self.focus_timeline()
        for _ in range(12):
            self.browser.key("s")
        left, top, width, _ = self.area("lanes")
        self.browser.drag(left + 153, top + 30, left + width - 2, top + 30)
        total = self.browser.evaluate("document.querySelector('#span tfoot [data-ns]').dataset.ns")
        kernels = self.browser.evaluate("document.querySelector('#kernels tfoot [data-ns]').dataset.ns")
        self.assertEqual(total, kernels)

    def test_makes_a_span_by_keyboard(self):
        self.focus_timeline()
        self.browser.key("ArrowRight", shift=True)
        first = self.text("span")
        self.assertIn("Sum", first)
        self.browser.key("ArrowRight", shift=True)
        self.assertNotEqual(first, self.text("span"))
        self.browser.key(".")
        self.browser.key("m")
        length = re.search(r"Duration\s*(\S+)\s", self.text("details"))[1]
        self.assertTrue(self.text("span").startswith(length), (length, self.text("span")))

    def test_searches_and_steps_through_what_it_found(self):
        self.focus_timeline()
        self.browser.key("/")
        self.assertEqual(self.browser.evaluate("document.activeElement.id"), "search")
        self.browser.type("softmax")
        self.browser.wait("document.getElementById('found').textContent !== ''")
        self.assertRegex(self.text("found"), r"^1/\d+$")
        self.assertIn("softmax", self.text("details"))
        self.browser.key("Enter")
        self.assertRegex(self.text("found"), r"^2/\d+$")
        self.browser.key("Escape")
        self.browser.key("n")
        self.assertRegex(self.text("found"), r"^3/\d+$")
        self.browser.key("/")
        self.browser.type("no such kernel")
        self.browser.wait("document.getElementById('found').textContent === 'none'")

    def test_finds_the_instances_of_a_kernel_in_the_table(self):
        self.browser.evaluate("document.querySelector('#kernels tbody button').click()")
        instances = self.browser.evaluate("document.querySelector('#kernels tbody td:nth-child(3)').innerText")
        self.assertEqual(self.text("found"), f"1/{instances}")

    def test_moves_and_pinches_by_touch(self):
        self.browser.resize(400, 800, touch=True)
        self.browser.open(self.page)
        self.browser.requests.pop()
        left, top, width, height = self.area("lanes")
        self.browser.evaluate("document.getElementById('zoom-in').click()")
        self.browser.frame()
        zoomed = self.picture("ruler")
        self.browser.touch("touchStart", (left + 250, top + 20))
        for x in (240, 220, 200):
            self.browser.touch("touchMove", (left + x, top + 20))
        self.browser.touch("touchEnd")
        moved = self.picture("ruler")
        self.assertNotEqual(zoomed, moved)
        self.browser.touch("touchStart", (left + 180, top + 40), (left + 240, top + 40))
        for by in (10, 20, 30):
            self.browser.touch("touchMove", (left + 180 - by, top + 40), (left + 240 + by, top + 40))
        self.browser.touch("touchEnd")
        self.assertNotEqual(moved, self.picture("ruler"))
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 400)

    def test_changes_between_light_and_dark(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        light, lanes = self.browser.evaluate(ground), self.picture()
        self.focus_timeline()
        self.browser.key("t")
        self.assertNotEqual(light, self.browser.evaluate(ground))
        self.assertNotEqual(lanes, self.picture())
        self.browser.key("t")
        self.assertEqual(light, self.browser.evaluate(ground))
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.browser.open(self.page)
        self.browser.requests.pop()
        self.assertNotEqual(light, self.browser.evaluate(ground))
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])

    def test_says_that_a_run_was_not_traced(self):
        self.browser.evaluate("(() => { const r = document.getElementById('runs'); r.selectedIndex = 2; r.dispatchEvent(new Event('change')); })()")
        self.browser.wait("!document.getElementById('untraced').hidden")
        self.assertTrue(self.browser.evaluate("document.getElementById('timeline-panel').hidden"))
        for key in "wsf.m":
            self.browser.key(key)

    def test_names_steps_without_rank(self):
        self.assertIn("step 0", self.words())

    def test_pictures(self):
        if not PICTURES:
            self.skipTest("no folder for pictures")
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.browser.picture(PICTURES / "light.png", whole=True)
        self.browser.key("t")
        self.browser.picture(PICTURES / "dark.png", whole=True)
        self.browser.resize(400, 800)
        self.browser.frame()
        self.browser.picture(PICTURES / "narrow.png", whole=True)


class Ranks(PageTest):
    """Two ranks with the memory of both GPUs and of the host."""
    RECORD = (TILESCOPE, "import", *sorted((pathlib.Path(__file__).parent.parent / "data/kineto").glob("ddp_rank?.json.gz")), "-o")

    def test_names_the_ranks_of_steps_and_memory(self):
        words = self.words()
        steps = [word for word in words if "step " in word]
        self.assertTrue(steps)
        for step in steps:
            self.assertRegex(step, r"^rank [01] step \d+$")
        for name in ("rank 0 memory", "rank 1 memory", "GPU 0", "GPU 1", "host, whole run"):
            self.assertIn(name, words)

    def test_names_the_memory_of_a_span(self):
        self.focus_timeline()
        self.browser.key("ArrowRight", shift=True)
        for name in ("rank 0 memory, GPU 0 peak", "rank 1 memory, GPU 1 peak", "Memory, host, whole run peak"):
            self.assertIn(name, self.text("span"))

class Counters(PageTest):
    """A run with clocks, power, a limit and traffic."""
    RECORD, RUNS = (FIXTURE, "gpu"), (1,)

    def recorded(self):
        output = subprocess.run([TILESCOPE, "show", self.recording, "counters", "--run", "1", "--format", "json"], check=True,
                                capture_output=True, text=True).stdout
        return json.loads(output)

    def test_paints_every_counter_in_light_and_dark(self):
        words = self.words()
        rows = self.recorded()
        self.assertGreater(len(rows), 3)
        for row in rows:
            self.assertTrue(any(row["name"] in word for word in words), row["name"])
        self.assertGreater(self.colours("counters"), 5)
        light = self.picture("counters")
        self.browser.key("t")
        self.browser.frame()
        self.assertNotEqual(self.picture("counters"), light)
        if PICTURES:
            self.browser.picture(PICTURES / "counters.png", whole=True)

    def test_says_the_value_under_the_cursor(self):
        place = self.browser.evaluate("(() => { const b = document.getElementById('counters').getBoundingClientRect(); "
                                      "return [b.left + 400, b.top + 24]; })()")
        self.browser.mouse("mouseMoved", *place)
        self.browser.frame()
        tip = self.text("tip")
        self.assertTrue(any(row["name"] in tip for row in self.recorded()), tip)


class Waiting(PageTest):
    """A run with stacks of its host, and one without."""
    SOURCES = tempfile.TemporaryDirectory(prefix="tilescope-share-")
    RECORD, RUNS = (FIXTURE, "waiting", SOURCES.name), (1, 3)

    def test_the_table_is_that_of_the_command_line(self):
        output = subprocess.run([TILESCOPE, "show", self.recording, "waiting", "--run", "1", "--limit", "0"], check=True,
                                capture_output=True, text=True).stdout
        rows = self.browser.evaluate("[...document.querySelectorAll('#waiting tbody tr')].map(r => [...r.cells].map(c => c.innerText))")
        printed = [line.split() for line in output.splitlines()]
        self.assertGreater(len(rows), 3)
        for row in rows:
            words = " ".join(row).split()
            self.assertTrue(any(line == words for line in printed), words)
        notes = self.text("waiting-notes")
        self.assertIn("The GPU was idle for", notes)
        self.assertTrue(all(note in output.replace("\n", " ") for note in notes.split("\n") if note), notes)
        if PICTURES:
            PICTURES.mkdir(parents=True, exist_ok=True)
            self.browser.picture(PICTURES / "waiting.png", whole=True)

    def test_a_run_without_stacks_has_no_table(self):
        self.assertFalse(self.browser.evaluate("document.getElementById('waiting-panel').hidden"))
        self.browser.evaluate("(() => { const r = document.getElementById('runs'); r.selectedIndex = 1; "
                              "performance.clearMarks(); r.dispatchEvent(new Event('change')); })()")
        self.browser.wait("performance.getEntriesByName('painted').length > 0")
        self.assertTrue(self.browser.evaluate("document.getElementById('waiting-panel').hidden"))


if __name__ == "__main__":
    if not chromium.program():
        print("skipped: the package chromium is not installed")
        sys.exit(77)
    try:
        with chromium.Browser():
            pass
    except (OSError, RuntimeError) as error:
        print(f"skipped: Chromium cannot start here: {error}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
