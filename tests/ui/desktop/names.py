#!/usr/bin/env python3
"""What a screen reader finds on every page and in every dialog, through AT-SPI.

usage: tests/ui/desktop/names.py TILESCOPE_GUI UI_FIXTURE

Whatever takes the focus or a click has a name and a role, pictures say in words what they show, other words for another
run, and tables have cells. Fails with the path of each item that does not.
"""
import subprocess
import sys
import time

from desktop import Atspi, Desktop, State

PAGES = ("Overview", "Experiment", "Timeline", "Flame", "Waiting", "Kernels", "Memory", "Ranks", "Compare", "Charts", "Query",
         "Machine", "Help")
KEYS = [f"ctrl+{digit}" for digit in range(1, 10)] + [f"alt+{digit}" for digit in range(1, 5)]
DIALOGS = (("Command palette", "ctrl+k"), ("Export", "ctrl+e"), ("Record a program", "ctrl+alt+r"), ("Keys", "question"))
CLICKED = {"push button", "check box", "radio button", "toggle button", "combo box", "slider", "spin button", "text",
           "entry", "menu item", "check menu item", "page tab", "link"}
OF_RUNS = ("Overview", "Timeline", "Flame", "Waiting", "Kernels", "Memory", "Charts")  # pages whose pictures are of the selected run
# Pages that have other parts with a study on a CPU than with runs on a GPU, and with ranks.
OF_STUDIES = ("Overview", "Timeline", "Kernels", "Memory", "Compare", "Charts")
OF_RANKS = ("Overview", "Timeline", "Ranks")
NOTHING = {"nothing is selected", "Click a box to see its details."}
OF_ALL_RUNS = {"Machine of the selected runs"}
TABLES = {"table", "tree table", "tree"}
LEAST_PICTURE = 60  # pixels; what is smaller is a sign beside a text

failures = []


def complain(place, what, item):
    line = f"{place}: {what}: {item.path}"
    if line not in failures:
        failures.append(line)


def is_labelled(item):
    """A combo box: Qt gives its value as its name, so what it chooses must be a label or a description."""
    relations = item.node.get_relation_set() or []
    return bool(item.description) or any(r.get_relation_type() == Atspi.RelationType.LABELLED_BY for r in relations)


def check_table(place, item):
    if "Table" not in item.interfaces:
        complain(place, "a table without cells", item)
    elif Atspi.Table.get_n_rows(item.node) > 0 and Atspi.Table.get_n_columns(item.node) > 0:
        cell = Atspi.Table.get_accessible_at(item.node, 0, 0)
        if cell is None or not cell.get_name():
            complain(place, "a table whose first cell has no text", item)


def is_picture(look):
    if look.role != "filler" or not look.name:
        return False
    _, _, width, height = look.item.box
    return min(width, height) >= LEAST_PICTURE and not look.item.children


def check(place, looks):
    """Returns how many items were looked at."""
    for look in looks:
        item, role = look.item, look.role
        takes_focus = look.has(State.FOCUSABLE)
        if role in ("", "unknown", "invalid") and takes_focus:
            complain(place, "no role", item)
        if (takes_focus or role in CLICKED) and not look.name.strip():
            complain(place, "no name", item)
        if role == "combo box" and not is_labelled(item):
            complain(place, "a choice that does not say of what", item)
        if role in TABLES:
            check_table(place, item)
        if is_picture(look) and not item.description:
            complain(place, "a picture without words", item)
    return len(looks)


def check_pages(desktop, state, pages):
    for page in pages:
        desktop.press(KEYS[PAGES.index(page)])
        desktop.find(page, "radio button", lambda button: button.has(State.CHECKED))
        print(f"{state}, {page}: {check(f'{state}, {page}', desktop.wait_until_still())} items", flush=True)


def told_of_run(desktop, before=None):
    """What each picture of each page says: {(page, name): (item, words)}. Waits for words other than `before`."""
    told = {}
    for page in OF_RUNS:
        desktop.press(KEYS[PAGES.index(page)])
        desktop.find(page, "radio button", lambda button: button.has(State.CHECKED))
        for item in [look.item for look in desktop.wait_until_still() if is_picture(look)]:
            earlier = (before or {}).get((page, item.name), (None, None))[1]
            end = time.monotonic() + 5  # runs are read in the background
            while item.description == earlier and not is_of_no_run(item, earlier) and time.monotonic() < end:
                time.sleep(0.05)
            told[page, item.name] = item, item.description
    return told


def is_of_no_run(item, words):
    return words in NOTHING or item.name in OF_ALL_RUNS


def check_following(desktop):
    """Pictures of another run must not say the same."""
    before = told_of_run(desktop)
    desktop.press("ctrl+l")
    desktop.tab_to("Runs")
    desktop.press("Down")
    after = told_of_run(desktop, before)
    common = before.keys() & after.keys()
    if {page for page, _ in common} != set(OF_RUNS):
        failures.append(f"no picture to compare on {sorted(set(OF_RUNS) - {page for page, _ in common})}")
    for place in common:
        item, words = after[place]
        if words == before[place][1] and not is_of_no_run(item, words):
            complain(place[0], "words that are the same for another run", item)


def check_dialogs(desktop):
    desktop.press("ctrl+1")
    for name, key in DIALOGS:
        desktop.press(key)
        desktop.window(name)
        print(f"{name}: {check(name, desktop.wait_until_still())} items", flush=True)
        desktop.press("Escape")
        desktop.wait(lambda shown=name: all(window.name != shown for window in desktop.windows()), f"the end of {name}")


def main():
    gui, fixture = sys.argv[1:]
    with Desktop(gui) as desktop:
        for kind in ("gpu", "study", "ranks"):
            subprocess.run([fixture, kind, desktop.home / f"{kind}.tscope"], check=True, stdout=subprocess.DEVNULL)
        for state, arguments, pages in (("no file", (), PAGES), ("two runs on a GPU", ("gpu.tscope", "--runs", "1,2"), PAGES),
                                        ("a study on a CPU", ("study.tscope",), OF_STUDIES),
                                        ("ranks", ("ranks.tscope",), OF_RANKS)):
            desktop.open(*arguments)
            check_pages(desktop, state, pages)
            if arguments and arguments[0] == "gpu.tscope":
                check_dialogs(desktop)
            desktop.close()
        desktop.open("gpu.tscope", "--runs", "1")
        check_following(desktop)
        desktop.close()
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
