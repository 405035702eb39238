#!/usr/bin/env python3
"""Does the most likely tasks in the real window, by keyboard only or by mouse only.

usage: tests/ui/desktop/tasks.py keyboard|mouse TILESCOPE_GUI UI_FIXTURE ENGINE KINETO_TRACE

Input goes through the X server, as that of a person does. Outcomes are read where a person reads them: in the accessible
texts of the window, in the clipboard and in the files that were written. Prints what each task took: keys, clicks and
seconds, which depend on the machine.
"""
import pathlib
import shutil
import subprocess
import sys
import time

from desktop import Desktop, Missing, State

FILE = "gpu.tscope"
RANKS = "ranks.tscope"  # eight, of which rank 1 is late
STATEMENT = "select distinct kernel_family(name) as family from kernels"
KERNEL = "fused adam fp32"
OTHER_KERNEL = "xmma gemm fp32 64x64x8 nt"
SPEC = "workload: attention\ndevice: cpu\nbatch: 1\nseq_len: 64\nwarmup: 1\nsteps: 3\ntrace_steps: 1"


def names(items):
    return [item.name for item in items]


class Outcomes:
    """What must be seen after each task, whatever hand did it."""

    def __init__(self, desktop):
        self.desktop = desktop

    def row(self, table, first):
        """A selected row of a table, by its first cell."""
        return self.desktop.find(first, "table cell",
                                 lambda cell: cell.parent.name == table and cell.has(State.SELECTED))

    def kernels(self):
        """What the page Kernels lists."""
        return names(self.desktop.find("Kernels", "table").find(role="table cell"))

    def open_file(self):
        self.desktop.window(f"{FILE} – Tilescope")
        self.desktop.find("naive batch 4: run 1, 9 runs in the file", "label")

    def read_finding(self):
        self.row("Kernels", OTHER_KERNEL)
        durations = self.desktop.find("Durations of the selected kernel")
        self.desktop.wait(lambda: durations.description.startswith("mean "), "the durations of the kernel at stake")

    def compare(self):
        self.desktop.find("Inconclusive: one run of each. Repeat both 5 times to decide.…", "label")
        self.desktop.find("−24.0", "table cell", lambda cell: cell.parent.name == "Memory of both runs")

    def copied(self, *words):
        self.desktop.wait(lambda: all(word in self.desktop.clipboard() for word in words), f"{words} in the clipboard")

    def canvas(self, *words):
        """The timeline, as soon as it says these words of itself."""
        return self.desktop.find("Timeline", where=lambda item: " shown, from " in item.description and
                                 all(word in item.description for word in words))

    def filter_time(self, clear):
        self.desktop.find("Time filter: …", "label")
        self.desktop.wait(lambda: KERNEL in self.kernels() and OTHER_KERNEL not in self.kernels(),
                          "only what is within the time filter")
        clear()
        self.desktop.wait(lambda: OTHER_KERNEL in self.kernels(), "all kernels again")

    def find_kernel(self):
        self.row("Kernels", "softmax forward fp32")

    def read_peak(self):
        self.copied("parameters\t137\u2009363\u2009456\u2009B", "activations\t96\u2009468\u2009992\u2009B")
        self.desktop.find("allocated 259\u2009MiB, reserved 260\u2009MiB at the peak…", "label")

    def run_experiment(self):
        self.desktop.find("Done: 1 of 1 point", "label")
        self.desktop.find("experiment.tscope", "table cell", lambda cell: cell.parent.name == "Runs")

    def import_trace(self, name):
        self.desktop.find(f"{name.split('.')[0]}…", "table cell", lambda cell: cell.parent.name == "Runs")
        self.desktop.find("Kernel families", "table")

    def export_chart(self, name):
        file = self.desktop.home / name
        self.desktop.wait(lambda: file.exists() and "</svg>" in file.read_text(), f"the file {name}")

    def lanes(self, words):
        """The lanes of the ranks, as soon as they say these words of the marked collective."""
        return self.desktop.find("Lanes of the ranks", where=lambda item: words in item.description)

    def late_rank(self):
        self.desktop.find("Straggler: rank 1, last in 8 of 8 steps…", "label")
        self.lanes("waits 2.00\u2009ms for rank 1")

    def answered(self):
        self.desktop.find("matmul", "table cell", lambda cell: cell.parent.name == "Rows of the statement")

    def deleted(self, undo):
        self.desktop.find(f"1 run of {FILE} deleted.", "label")
        undo()
        self.open_file()


class Keyboard:
    def __init__(self, desktop, outcomes, trace):
        self.desktop = desktop
        self.outcomes = outcomes
        self.trace = trace

    def open(self, name, path):
        self.desktop.press("ctrl+o")
        self.desktop.window("Open")
        self.desktop.wait_for_focus("File name:")
        self.desktop.type(path)
        self.desktop.press("Return")

    def open_file(self):
        self.open("Open", FILE)
        self.outcomes.open_file()

    def read_finding(self):
        self.desktop.find("tensor-cores", "table cell")
        self.desktop.tab_to("Advice")
        # What the host hides is the first row.
        self.desktop.press("Down", "Down", "Return")
        self.outcomes.read_finding()

    def compare(self):
        self.desktop.press("ctrl+l")
        self.desktop.tab_to("Runs")
        self.desktop.press("shift+Down", "ctrl+9")
        self.outcomes.compare()

    def find_box(self, text):
        self.desktop.press("slash")
        self.desktop.wait_for_focus("Find on the timeline")
        self.desktop.press("ctrl+a")
        self.desktop.type(text)
        self.desktop.press("Return")
        self.desktop.find(f"Found {text}", "label")
        self.outcomes.canvas(text)
        self.desktop.press("Escape")
        self.desktop.wait_for_focus("Timeline")

    def read_kernel(self):
        self.desktop.press("ctrl+3")
        self.desktop.wait_for_focus("Timeline")
        self.find_box("step")
        self.desktop.press("z")
        self.find_box("adam")
        self.desktop.press("ctrl+c")
        self.outcomes.copied("Adam")
        self.desktop.tab_to("Details of the selected box")
        self.desktop.press("ctrl+c")
        self.outcomes.copied("140\u2009µs")

    def filter_time(self):
        self.desktop.tab_to("Timeline", "shift+Tab")
        self.desktop.press("ctrl+Down", "shift+p")
        self.outcomes.canvas("; pinned")
        self.desktop.press("t", "ctrl+6")
        self.outcomes.filter_time(lambda: self.desktop.press("ctrl+shift+t"))

    def find_kernel(self):
        self.desktop.press("ctrl+k")
        self.desktop.window("Command palette")
        self.desktop.wait_for_focus("Find a command")
        self.desktop.type("softmax forward")
        field = self.desktop.find("Find a command", "text")
        self.desktop.wait(lambda: field.description.startswith("Kernel: softmax forward fp32"), "the kernel")
        self.desktop.press("Return")
        self.outcomes.find_kernel()

    def read_peak(self):
        self.desktop.press("ctrl+7")
        self.desktop.find("Allocated at the instant", "table")
        self.desktop.tab_to("Allocated at the instant")
        self.desktop.press("ctrl+c")
        self.outcomes.read_peak()

    def run_experiment(self):
        self.desktop.press("ctrl+2")
        self.desktop.wait_for_focus("Spec as YAML")
        self.desktop.press("ctrl+a")
        self.desktop.type(SPEC)
        self.desktop.find("1 point", "label")
        self.desktop.find("Run", "push button", lambda button: button.has(State.ENABLED))
        self.desktop.press("ctrl+r")
        self.outcomes.run_experiment()

    def import_trace(self):
        self.open("Open", self.trace)
        self.outcomes.import_trace(self.trace)

    def export_chart(self):
        self.desktop.press("alt+1")
        self.desktop.find("Chart")
        self.desktop.press("ctrl+e")
        self.desktop.window("Export")
        self.desktop.tab_to("PDF")
        self.desktop.press("Right")
        self.desktop.wait_for_focus("SVG")
        self.desktop.press("Return")
        self.desktop.wait_for_focus("File name:")
        self.desktop.press("ctrl+a")
        self.desktop.type("chart.svg")
        self.desktop.press("Return")
        self.outcomes.export_chart("chart.svg")

    def late_rank(self):
        self.open("Open", RANKS)
        self.desktop.window(f"{RANKS} – Tilescope")
        self.desktop.press("ctrl+8")
        self.outcomes.late_rank()
        self.desktop.tab_to("Lanes of the ranks")
        self.desktop.press("Down")
        self.outcomes.lanes("rank 1 starts last, 2.00\u2009ms after the first")
        self.desktop.press("Return")
        self.outcomes.canvas("rank 1")

    def query(self):
        self.desktop.press("alt+2")
        self.desktop.tab_to("SQL statement")
        self.desktop.press("ctrl+a")
        self.desktop.type(STATEMENT)
        self.desktop.press("ctrl+Return")
        self.outcomes.answered()

    def delete_and_undo(self):
        self.open("Open", FILE)
        self.desktop.window(f"{FILE} – Tilescope")
        self.desktop.press("ctrl+1")
        self.outcomes.open_file()
        self.desktop.press("ctrl+l")
        self.desktop.tab_to("Runs")
        self.desktop.press("Menu")
        self.desktop.tab_to("Delete run", "Up")
        self.desktop.press("Return")
        self.outcomes.deleted(lambda: self.desktop.press("ctrl+z"))


class Mouse:
    def __init__(self, desktop, outcomes, trace):
        self.desktop = desktop
        self.outcomes = outcomes
        self.trace = trace

    def menu(self, *path):
        for entry in path:
            self.desktop.click(self.desktop.find(entry, "menu item"))

    def page(self, name):
        self.desktop.click(self.desktop.find(name, "radio button"))

    def open(self, name):
        self.menu("File", "Open…")
        dialog = self.desktop.window("Open")
        cell = self.desktop.wait(lambda: next(dialog.find(name, "table cell"), None), name)
        self.desktop.click(cell, times=2)

    def open_file(self):
        self.open(FILE)
        self.outcomes.open_file()

    def read_finding(self):
        self.desktop.click(self.desktop.find("tensor-cores", "table cell"), times=2)
        self.outcomes.read_finding()

    def compare(self):
        self.page("Compare")
        self.desktop.click(self.desktop.find(role="combo box", where=lambda box: box.description == "Run B"))
        self.desktop.click(self.desktop.find("gpu #2 flash batch 4", "list item"))
        self.outcomes.compare()

    def over(self, view, words, x):
        """The height at which the pointer is over something that the status bar calls so."""
        for step in range(2, 60):
            at = (x, step / 80)
            self.desktop.point(view, at)
            if words in self.desktop.under_cursor():
                return at
        raise Missing(f"nothing called {words!r} at {x} of the width")

    def read_kernel(self):
        self.page("Timeline")
        view = self.outcomes.canvas()
        self.desktop.click(view, self.over(view, "step  ", 0.5), times=2)
        self.outcomes.canvas("step  ")
        self.desktop.click(view, self.over(view, KERNEL, 0.87))
        self.outcomes.canvas(KERNEL)
        self.desktop.click(view, self.over(view, KERNEL, 0.87), button=3)
        self.desktop.click_in_menu("Copy its name")
        self.outcomes.copied("Adam")
        details = self.desktop.find("Details of the selected box",
                                    where=lambda item: "Duration: " in item.description)
        self.desktop.click(details, (0.5, 0.05), button=3)
        self.desktop.click_in_menu("Copy value")
        self.outcomes.copied("140\u2009µs")

    def filter_time(self):
        view = self.outcomes.canvas()
        self.desktop.click(view, (0.03, 0.25), button=3)
        self.desktop.click_in_menu("Pin the lane to the top, or unpin it")
        self.outcomes.canvas("; pinned")
        self.desktop.click(self.desktop.find("Measure", "push button"))
        self.desktop.click(self.desktop.find("Filter pages", "push button"))
        self.page("Kernels")
        self.outcomes.filter_time(lambda: self.desktop.click(self.desktop.find("Clear filter", "push button")))

    def find_kernel(self):
        self.menu("Edit", "Find a command…")
        entries = self.desktop.find("Commands", "list")
        wanted = self.desktop.wait(
            lambda: next((entry for entry in entries.children if entry.name == "Kernel: softmax forward fp32 "), None),
            "the kernel")
        while not wanted.showing:
            self.desktop.wheel(entries, 5)
        self.desktop.click(wanted)
        self.outcomes.find_kernel()

    def read_peak(self):
        self.page("Memory")
        self.desktop.click(self.desktop.find("parameters", "table cell",
                                             lambda cell: cell.parent.name == "Allocated at the instant"), button=3)
        self.desktop.click_in_menu("Copy table")
        self.outcomes.read_peak()

    def run_experiment(self):
        self.page("Experiment")
        self.desktop.click(self.desktop.find("Workload attention", "radio button"))
        self.desktop.click(self.desktop.find("Run", "push button", lambda button: button.has(State.ENABLED)))
        self.outcomes.run_experiment()

    def import_trace(self):
        self.open(self.trace)
        self.outcomes.import_trace(self.trace)

    def export_chart(self):
        self.page("Charts")
        self.menu("File", "Export…")
        self.desktop.window("Export")
        self.desktop.click(self.desktop.find("SVG", "radio button"))
        self.desktop.click(self.desktop.find("Save as…", "push button"))
        field = self.desktop.find("File name:", "text")
        name = self.desktop.wait(lambda: field.text, "a name of the file")
        self.desktop.click(self.desktop.find("Save", "push button"))
        self.outcomes.export_chart(name)

    def late_rank(self):
        self.open(RANKS)
        self.page("Ranks")
        self.outcomes.late_rank()
        lanes = self.desktop.find("Lanes of the ranks")
        self.desktop.click(lanes, self.over(lanes, "rank 1 starts last", 0.75), times=2)
        self.outcomes.canvas("rank 1")

    def query(self):
        self.page("Query")
        self.desktop.click(self.desktop.find("Examples", "push button"))
        self.desktop.click_in_menu("GPU time of each family of kernels")
        self.outcomes.answered()

    def delete_and_undo(self):
        self.open(FILE)
        self.page("Overview")
        self.outcomes.open_file()
        run = self.desktop.find("naive batch 4", "table cell", lambda cell: cell.parent.name == "Runs")
        self.desktop.click(run, button=3)
        self.desktop.click_in_menu("Delete run")
        self.outcomes.deleted(lambda: self.desktop.click(self.desktop.find("Undo", "push button")))


TASKS = (("open a file", "open_file"), ("go from a finding to its cause", "read_finding"),
         ("compare A and B", "compare"), ("zoom to a step and copy a kernel's name and time", "read_kernel"),
         ("pin a lane, filter the pages by a time", "filter_time"), ("find a kernel by the palette", "find_kernel"),
         ("see what holds memory at the peak", "read_peak"), ("run an experiment", "run_experiment"),
         ("import a trace of PyTorch", "import_trace"), ("export a chart", "export_chart"),
         ("find who is late among eight ranks", "late_rank"), ("ask the file in SQL", "query"),
         ("delete a run and undo it", "delete_and_undo"))


def main():
    hand, gui, fixture, engine, trace = sys.argv[1:]
    with Desktop(gui, hand, {"TILESCOPE_ENGINE": engine}) as desktop:
        subprocess.run([fixture, "gpu", desktop.home / FILE], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([fixture, "group", "8", desktop.home / RANKS], check=True, stdout=subprocess.DEVNULL)
        shutil.copy(trace, desktop.home)
        outcomes = Outcomes(desktop)
        user = {"keyboard": Keyboard, "mouse": Mouse}[hand](desktop, outcomes, pathlib.Path(trace).name)
        desktop.open()
        for words, task in TASKS:
            keys, clicks, begin = desktop.keys, desktop.clicks, time.monotonic()
            try:
                getattr(user, task)()
            except (Missing, AssertionError) as error:
                sys.exit(f"{words}, by {hand}: {error}")
            print(f"{words}: {desktop.keys - keys} keys, {desktop.clicks - clicks} clicks, "
                  f"{time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
