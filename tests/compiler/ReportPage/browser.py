# SPDX-License-Identifier: Apache-2.0
"""A real browser without a window, driven over a pipe by the DevTools protocol: nothing but Python's
own library and a Chromium is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

# Debian's names first; HEDDLE_BROWSER names another.
PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


def find_browser():
    """The path of a browser, or None."""
    named = os.environ.get("HEDDLE_BROWSER")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page. Everything the page complains about is kept in `complaints`."""

    def __init__(self, program, timeout=60):
        self.timeout = timeout
        self.complaints = []
        self.requests = []
        self.events = []
        self.number = 0
        self.unread = b""
        self.folder = tempfile.mkdtemp(prefix="heddle-browser-")
        # The browser reads commands from descriptor 3 and answers on 4.
        command_read, self.command = os.pipe()
        self.answer, answer_write = os.pipe()

        def connect():
            # Both are moved out of the way first, as either may be 3 or 4.
            read, write = os.dup(command_read), os.dup(answer_write)
            high = [os.dup2(read, 100), os.dup2(write, 101)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.log = open(os.path.join(self.folder, "log"), "w+b")
        self.process = subprocess.Popen(
            [program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", f"--user-data-dir={self.folder}/profile"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=connect,
            pass_fds=(3, 4, command_read, answer_write))
        os.close(command_read)
        os.close(answer_write)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.command)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answer)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        """The next message."""
        while b"\0" not in self.unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.answer], [], [], left)[0]:
                raise TimeoutError("the browser did not answer")
            part = os.read(self.answer, 1 << 20)
            if not part:
                self.log.seek(0)
                raise RuntimeError("the browser ended: " + self.log.read().decode(errors="replace"))
            self.unread += part
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def keep(self, message):
        """An event: complaints and requests are kept for the test to look at."""
        method, params = message.get("method"), message.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **params):
        """Sends a command and waits for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.command, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self.receive(deadline)
            if answer.get("id") != self.number:
                self.keep(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def open(self, path, width, height, dark=False):
        """Opens a file in a window of that size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        deadline = time.monotonic() + self.timeout
        while "Page.loadEventFired" not in self.events:
            self.keep(self.receive(deadline))

    def run(self, script):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def press(self, key, code):
        """A key on the keyboard."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code, text="\r" if key == "Enter" else "")

    def screenshot(self, path, whole=False):
        """What is seen, or all of the page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
