"""The window on a private display, seen as a screen reader sees it and used by real key presses and clicks.

The script that imports this runs below `xvfb-run … dbus-run-session -- /usr/bin/python3`: the system's interpreter has gi.
"""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

try:
    import gi

    gi.require_version("Atspi", "2.0")
    from gi.repository import Atspi, GLib
except (ImportError, ValueError) as error:
    sys.exit(f"{error}; install the packages python3-gi and gir1.2-atspi-2.0 (packaging/dev setup)")

BUSY = re.compile(r"\w+ing\b.*…$")  # "examining…", "Reading the recording…"
PATIENCE = 120  # seconds: others may keep the cores busy; what does happen ends a wait at once
State = Atspi.StateType


class Missing(Exception):
    """What was waited for did not appear."""


def call(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=PATIENCE, **options).stdout


def start_accessibility():
    """Starts the bus of the accessible names; Qt looks for it when it starts."""
    for method in ("org.a11y.Bus.GetAddress",), ("org.freedesktop.DBus.Properties.Set", "string:org.a11y.Status",
                                                 "string:IsEnabled", "variant:boolean:true"):
        call("dbus-send", "--session", "--print-reply", "--dest=org.a11y.Bus", "/org/a11y/bus", *method)


class Item:
    """An accessible item: a widget, a cell, an entry of a menu. Comparable, since the same item is found again."""

    def __init__(self, node):
        self.node = node

    def _ask(self, question, otherwise):
        try:
            answer = question()
        except GLib.Error:  # it is gone
            return otherwise
        return otherwise if answer is None else answer

    @property
    def name(self):
        return self._ask(self.node.get_name, "")

    @property
    def description(self):
        return self._ask(self.node.get_description, "")

    @property
    def role(self):
        return self._ask(self.node.get_role_name, "")

    @property
    def text(self):
        """What a field contains."""
        return self._ask(lambda: Atspi.Text.get_text(self.node, 0, Atspi.Text.get_character_count(self.node)), "")

    @property
    def interfaces(self):
        return self._ask(self.node.get_interfaces, [])

    @property
    def states(self):
        return self._ask(self.node.get_state_set, None)

    def has(self, state):
        states = self.states
        return states is not None and states.contains(state)

    @property
    def showing(self):
        return self.has(State.SHOWING)

    @property
    def box(self):
        """x, y, width and height on the screen."""
        area = self._ask(lambda: Atspi.Component.get_extents(self.node, Atspi.CoordType.SCREEN), None)
        return (area.x, area.y, area.width, area.height) if area else (0, 0, 0, 0)

    @property
    def parent(self):
        node = self._ask(self.node.get_parent, None)
        return Item(node) if node else None

    @property
    def children(self):
        count = self._ask(self.node.get_child_count, 0)
        nodes = (self._ask(lambda i=i: self.node.get_child_at_index(i), None) for i in range(count))
        return [Item(node) for node in nodes if node]

    @property
    def path(self):
        steps, item = [], self
        while item is not None and item.role != "desktop frame":
            steps.append(f"{item.role} {item.name!r}")
            item = item.parent
        return " > ".join(reversed(steps))

    def walk(self, hidden=False):
        """This item and what it contains; parts that are not on the screen only if hidden is set."""
        return (item for item, _ in self.walk_with_states(hidden))

    def walk_with_states(self, hidden=False, states=None):
        yield self, states or self.states
        for child in self.children:
            states = child.states
            if hidden or (states is not None and states.contains(State.SHOWING)):
                yield from child.walk_with_states(hidden, states)

    def find(self, name=None, role=None, where=lambda item: True):
        """The showing items that have this name (a string, or what a name begins with if it ends with …)."""
        def fits(item):
            if role is not None and item.role != role:
                return False
            if name is not None:
                own = item.name
                if not (own.startswith(name[:-1]) if name.endswith("…") and own != name else own == name):
                    return False
            return where(item)
        return (item for item in self.walk() if fits(item))


class Look:
    """What an item was when a walk passed it: every question to the item itself is a message to the program."""

    def __init__(self, item, states):
        self.item, self.role, self.name, self.states = item, item.role, item.name, states

    def has(self, state):
        return self.states is not None and self.states.contains(state)


class Desktop:
    """A display with a window manager and one window of Tilescope."""

    def __init__(self, gui, hand="any", environment=None):
        self.gui = gui
        self.hand = hand  # keyboard, mouse or any: a session by one hand cannot use the other
        self.keys = self.clicks = 0
        self._focused = self._menu = None
        self._stack = contextlib.ExitStack()
        self.home = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self.home.chmod(0o700)
        os.environ.update({"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"),
                           "XDG_CACHE_HOME": str(self.home / "cache"), "XDG_RUNTIME_DIR": str(self.home),
                           "XDG_DATA_HOME": str(self.home / "data"),
                           "QT_QPA_PLATFORM": "xcb", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "LC_ALL": "C.UTF-8",
                           **(environment or {})})
        for name in ("XDG_CURRENT_DESKTOP", "QT_QPA_PLATFORMTHEME", "QT_SCALE_FACTOR"):
            os.environ.pop(name, None)  # Qt's own dialogs, at their own size
        os.chdir(self.home)

    def __enter__(self):
        start_accessibility()
        Atspi.init()
        self._listeners = [Atspi.EventListener.new(self._note_focus), Atspi.EventListener.new(self._note_menu)]
        self._listeners[0].register("object:state-changed:focused")
        self._listeners[1].register("object:state-changed:showing")
        self._start("openbox", "--sm-disable")
        return self

    def __exit__(self, *error):
        self._stack.close()

    def _start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._stack.callback(self._end, process)
        return process

    @staticmethod
    def _end(process):
        process.terminate()
        process.wait()

    def close(self):
        """Ends the program."""
        self._end(self.process)

    def open(self, *arguments):
        """Starts the program and waits for its window."""
        self.process = self._start(self.gui, *map(str, arguments))
        self.wait(lambda: any(self.windows()), "the window")

    @property
    def program(self):
        desktop = Item(Atspi.get_desktop(0))
        for child in desktop.children:
            if child.name == "tilescope":
                child.node.set_cache_mask(Atspi.Cache.NONE)  # what is read is what is there now
                return child
        return None

    def windows(self):
        program = self.program
        return [window for window in program.children if window.showing] if program else []

    def window(self, name=None):
        """The window on top: a dialog or menu if one is open."""
        return self.wait(lambda: next((w for w in reversed(self.windows()) if name is None or w.name == name), None),
                         f"a window {name or ''}")

    def all(self, name=None, role=None, where=lambda item: True):
        return [item for window in self.windows() for item in window.find(name, role, where)]

    def find(self, name=None, role=None, where=lambda item: True):
        """Waits for a showing item."""
        def look():
            for window in reversed(self.windows()):
                for item in window.find(name, role, where):
                    return item
            return None
        return self.wait(look, f"{role or 'an item'} {name!r}")

    def wait(self, condition, what):
        end = time.monotonic() + PATIENCE
        while True:
            answer = condition()
            if answer:
                return answer
            if self.process.poll() is not None:
                raise Missing(f"the program ended with {self.process.returncode} before {what} appeared")
            if time.monotonic() > end:
                raise Missing(f"{what} did not appear; on the screen is\n{self.outline()}")
            time.sleep(0.05)

    def outline(self):
        """What the window shows, for messages."""
        def lines(item, depth):
            yield f"{'  ' * depth}{item.role} {item.name!r}"
            for child in item.children[:60]:
                if child.showing:
                    yield from lines(child, depth + 1)
        return "\n".join(line for window in self.windows() for line in lines(window, 0))

    def focused(self):
        """What took the keyboard focus last: a field, a button, a picture, or the current cell of a table."""
        self._read_events()
        return self._focused

    @staticmethod
    def _read_events():
        context = GLib.MainContext.default()
        while context.pending():
            context.iteration(False)

    def has_focus(self, name):
        """Whether an item of this name has the keyboard focus, or a cell of it."""
        item = self.focused()
        return item is not None and (item.name == name or (item.parent is not None and item.parent.name == name))

    def wait_for_focus(self, name):
        self.wait(lambda: self.has_focus(name), f"the focus in {name!r}")

    def tab_to(self, name, key="Tab"):
        passed = []
        for _ in range(60):
            if self.has_focus(name):
                return
            before = self.focused()
            passed.append(before.name if before else None)
            self.press(key)
            end = time.monotonic() + 2  # the focus moves, unless there is nowhere else
            while self.focused() is before and time.monotonic() < end:
                time.sleep(0.02)
        raise Missing(f"{key} does not lead to {name!r}, only to {passed}")

    def wait_until_still(self):
        """Waits until the window shows the same twice, since pages read their runs in the background. Returns a look at each item."""
        seen = []

        def look():
            looks = [Look(item, states) for item, states in self.window().walk_with_states()]
            seen.append([(one.role, one.name) for one in looks])
            is_busy = any(BUSY.match(one.name) for one in looks)
            return looks if not is_busy and len(seen) > 1 and seen[-1] == seen[-2] else None
        return self.wait(look, "a window that no longer changes")

    def under_cursor(self):
        """What the status bar says of the place of the pointer: its first text. The selection follows it."""
        bars = [part for part in self.window().children if part.role == "status bar"]
        return next((label.name for bar in bars for label in bar.find(role="label")), "")

    def _note_focus(self, event):
        if event.detail1:
            self._focused = Item(event.source)

    def _note_menu(self, event):
        if event.detail1 and event.source and Item(event.source).role == "popup menu":
            self._menu = Item(event.source)

    def click_in_menu(self, text):
        """Clicks an entry of the context menu that has just opened: popups are in no tree, but say that they appear."""
        def look():
            self._read_events()
            entries = self._menu.children if self._menu else []
            return next((entry for entry in entries if entry.name == text), None)
        self.click(self.wait(look, f"the entry {text!r} of a menu"))
        self._menu = None

    # --- hands ---

    def _uses(self, hand):
        assert self.hand in (hand, "any"), f"this session is by {self.hand} only"

    def press(self, *keys):
        """Presses keys, each as xdotool names it: Return, ctrl+k."""
        self._uses("keyboard")
        for key in keys:
            self.keys += 1
            call("xdotool", "key", "--clearmodifiers", key)

    def type(self, text):
        self._uses("keyboard")
        for number, line in enumerate(text.split("\n")):
            if number > 0:
                self.press("Return")
            if line:
                self.keys += len(line)
                call("xdotool", "type", "--delay", "15", "--", line)

    def point(self, item, at=(0.5, 0.5)):
        """Moves the pointer to a place inside an item."""
        self._uses("mouse")
        def place():
            x, y, width, height = item.box
            return (round(x + at[0] * width), round(y + at[1] * height)) if width > 0 and height > 0 else None
        x, y = self.wait(place, f"a place on the screen of {item.name!r}")
        call("xdotool", "mousemove", str(x), str(y))

    def click(self, item, at=(0.5, 0.5), button=1, keys=None, times=1):
        self.point(item, at)
        self.clicks += times
        if keys:
            call("xdotool", "keydown", keys)
        call("xdotool", "click", "--repeat", str(times), "--delay", "40", str(button))
        if keys:
            call("xdotool", "keyup", keys)

    def wheel(self, item, turns, at=(0.5, 0.5)):
        """Turns the wheel over an item: down if positive."""
        self.point(item, at)
        self.clicks += abs(turns)
        call("xdotool", "click", "--repeat", str(abs(turns)), "--delay", "40", "5" if turns > 0 else "4")

    def drag(self, item, start, end):
        self.point(item, start)
        self.clicks += 1
        call("xdotool", "mousedown", "1")
        middle = tuple((a + b) / 2 for a, b in zip(start, end))
        self.point(item, middle)
        self.point(item, end)
        call("xdotool", "mouseup", "1")

    def clipboard(self):
        """The clipboard's text; empty if there is none."""
        read = subprocess.run(("xclip", "-selection", "clipboard", "-out"), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=PATIENCE)
        return read.stdout
