"""Drives Debian's Chromium without a screen over its pipe (Chrome DevTools Protocol); standard library only."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 120  # seconds, on a machine that others keep busy


def program():
    """The browser's path, or None."""
    return next((found for name in ("chromium", "chromium-headless-shell") if (found := shutil.which(name))), None)


class Browser:
    """One page in a browser of its own that has no network.

    `errors` collects what the page reports: exceptions, errors and warnings of the console, blocked content. `requests` holds the
    addresses that it asked for.
    """

    def __init__(self, width=1200, height=900, dark=False, touch=False):
        self.folder = tempfile.TemporaryDirectory(prefix="tilescope-chromium-")
        take, self.output = os.pipe()
        self.input, give = os.pipe()
        command = [program(), "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--disable-extensions",
                   "--disable-background-networking", "--proxy-server=http://127.0.0.1:9", "--force-device-scale-factor=1",
                   f"--user-data-dir={self.folder.name}", f"--window-size={width},{height}", "--remote-debugging-pipe", "about:blank"]
        wrapper = ["bash", "-c", f'exec "$@" 3<&{take} 4>&{give}', "-", *command]
        self.process = subprocess.Popen(wrapper, pass_fds=[take, give], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=os.environ | {"HOME": self.folder.name})
        os.close(take)
        os.close(give)
        self.buffer, self.number, self.session = b"", 0, None
        self.errors, self.requests, self.events = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        self.resize(width, height, touch)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.output)
        os.close(self.input)
        shutil.rmtree(self.folder.name, ignore_errors=True)

    def resize(self, width, height, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=2)

    def _receive(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.input], [], [], max(0, until - time.monotonic()))
            part = os.read(self.input, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("Chromium does not answer")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(each.get("value", each.get("description"))) for each in about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.errors.append(about["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        self.events.append(method)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def open(self, file):
        """Opens a page and waits until it has painted its recording."""
        self.call("Page.navigate", url=pathlib.Path(file).resolve().as_uri())
        self.wait("document.readyState === 'complete' && performance.getEntriesByName('painted').length > 0")
        self.frame()

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait(self, condition):
        until = time.monotonic() + PATIENCE
        while not self.evaluate(condition):
            if time.monotonic() > until:
                raise RuntimeError(f"never became true: {condition}; {self.errors}")
            time.sleep(0.05)

    def frame(self):
        """Waits until the next frame is drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frame()

    def drag(self, x, y, to_x, to_y, modifiers=0):
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1, modifiers=modifiers)
        for part in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * part / 5, y + (to_y - y) * part / 5, button="left", buttons=1, modifiers=modifiers)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1, modifiers=modifiers)
        self.frame()

    def wheel(self, x, y, delta, control=False, shift=False):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, modifiers=(2 if control else 0) | (8 if shift else 0))
        self.frame()

    def touch(self, kind, *points):
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])
        self.frame()

    def key(self, key, shift=False):
        code = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}.get(key, 0)
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, modifiers=8 if shift else 0, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code, modifiers=8 if shift else 0)
        self.frame()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.frame()

    def picture(self, file, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(file).write_bytes(base64.b64decode(shot["data"]))

    def script_seconds(self):
        """Time that the page has spent in scripts."""
        metrics = {each["name"]: each["value"] for each in self.call("Performance.getMetrics")["metrics"]}
        return metrics["ScriptDuration"]
