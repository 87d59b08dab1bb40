"""A headless Chromium that loads pages and takes pictures of them.

Speaks Chromium's DevTools protocol over two pipes: JSON messages that end with a zero
byte. So no library is needed, and no port is open.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile

# Chromium reads commands from file 3 and writes answers and events to file 4.
TO_BROWSER, FROM_BROWSER = 3, 4


class Browser:
    """One page of a headless Chromium. Use as a context manager."""

    def __init__(self, program="chromium"):
        if shutil.which(program) is None:
            raise FileNotFoundError(
                f"there is no {program}; on Debian: apt-get install chromium")
        self._profile = tempfile.mkdtemp(prefix="gradsieve-browser.")
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()

        def pipes():
            # First out of the way, since one may have the number of another.
            high = [os.dup2(end, 60 + i) for i, end in enumerate((read_commands, write_answers))]
            os.dup2(high[0], TO_BROWSER)
            os.dup2(high[1], FROM_BROWSER)

        self._process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self._profile}",
             # Only this machine: the browser itself also likes to call home.
             "--disable-background-networking", "--no-first-run"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pipes,
            close_fds=False)
        os.close(read_commands)
        os.close(write_answers)
        self._buffer = b""
        self._number = 0
        self._session = None
        self._loaded = False
        # What the page must not do.
        self.console_errors = []
        self.requests = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target,
                                   flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        os.close(self._commands)  # Chromium ends with it.
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _receive(self):
        while b"\0" not in self._buffer:
            more = os.read(self._answers, 1 << 20)
            if not more:
                raise ConnectionError("Chromium has ended")
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _take(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.console_errors.append(params["exceptionDetails"]["text"] + " " + str(
                params["exceptionDetails"].get("exception", {}).get("description", "")))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.console_errors.append(str([a.get("value") for a in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.console_errors.append(
                f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def _call(self, method, **params):
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._take(message)

    def screen(self, width, height, dark=False):
        """From now on, a screen of this size in CSS pixels; below 600, a phone's."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=width < 600)
        self._call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def load(self, url):
        """Returns when the page and all that it needs are there."""
        self._loaded = False
        self._call("Page.navigate", url=url)
        while not self._loaded:
            self._take(self._receive())

    def evaluate(self, script):
        """The value of a JavaScript expression, after promises have been kept."""
        result = self._call("Runtime.evaluate", expression=script, returnByValue=True,
                            awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, condition, seconds=60):
        """Until the JavaScript expression is true."""
        kept = self.evaluate(
            "new Promise(done => { const end = Date.now() + %d;"
            " const look = () => { let is = false; try { is = Boolean(%s); } catch (e) {}"
            " if (is || Date.now() > end) done(is); else setTimeout(look, 50); }; look(); })"
            % (1000 * seconds, condition))
        if not kept:
            raise TimeoutError(f"{condition} is not true after {seconds} s")

    def picture(self, path, most_height=4000):
        """A PNG of the page, or of its upper part."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                          clip={"x": 0, "y": 0, "width": size["width"],
                                "height": min(size["height"], most_height),
                                "scale": 1})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def check(self, host=None):
        """Raises an error if a page had errors or asked for anything but files and `host`."""
        if self.console_errors:
            raise AssertionError(f"errors on the console: {self.console_errors}")
        for url in self.requests:
            if url.startswith(("file:", "data:", "about:")):
                continue
            if host is None or not url.startswith(f"http://{host}/"):
                raise AssertionError(f"the page asks for {url}")

    def is_too_wide(self):
        """Whether the page must be scrolled sideways."""
        return self.evaluate("document.documentElement.scrollWidth >"
                             " document.documentElement.clientWidth")
