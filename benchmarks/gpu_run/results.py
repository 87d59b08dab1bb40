"""What a run has found: results.json, which is written after every fact, so
that a run that is cut off loses nothing, and results.md, a table of it."""
import datetime
import json
import os
import shutil
import tarfile
import threading
import time


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime(
        "%Y-%m-%d %H:%M UTC")


class Results:
    """The steps of all runs of one commit on one machine. Thread-safe."""

    def __init__(self, folder, commit):
        self.folder = folder
        self._path = os.path.join(folder, "results.json")
        self._lock = threading.RLock()
        self.data = {"commit": commit, "steps": {}}
        try:
            with open(self._path, encoding="utf-8") as file:
                earlier = json.load(file)
            if earlier.get("commit") == commit:
                self.data = earlier
        except (OSError, ValueError):
            pass

    def save(self):
        with self._lock:
            self._write("results.json", json.dumps(self.data, indent=1) + "\n")
            self._write("results.md", to_markdown(self.data))

    def _write(self, name, text):
        part = os.path.join(self.folder, name + ".part")
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, os.path.join(self.folder, name))

    def start(self, name):
        return Step(self, name)

    def collect(self, folder):
        """Copies the results, and packs what is beside them but weights."""
        os.makedirs(folder, exist_ok=True)
        for name in ("results.json", "results.md"):
            shutil.copy(os.path.join(self.folder, name), folder)
        part = os.path.join(folder, "logs.tgz.part")
        with tarfile.open(part, "w:gz") as archive:
            archive.add(self.folder, "logs", filter=lambda entry: None if
                        entry.name.endswith((".safetensors", ".bin")) or
                        "/checkpoint" in entry.name else entry)
        os.replace(part, os.path.join(folder, "logs.tgz"))


class Step:
    """The record of one step: facts by name, and what has failed."""

    def __init__(self, results, name):
        self._results = results
        self._start = time.monotonic()
        self.name = name
        self.failures = []
        self._record = {"status": "interrupted", "started": now(),
                        "seconds": 0, "failures": self.failures, "facts": {}}
        results.data["steps"][name] = self._record
        results.save()

    def say(self, text):
        print(text, flush=True)

    def add(self, name, fact):
        with self._results._lock:
            self._record["facts"][name] = fact
            self._save()

    def fail(self, text):
        """The step has failed; it goes on all the same."""
        with self._results._lock:
            self.failures.append(text)
            self._save()
        self.say(f"FAILED: {text}")

    def end(self):
        """Returns whether the step has passed."""
        status = "failed" if self.failures else "passed"
        with self._results._lock:
            self._record["status"] = status
            self._save()
        self.say(f"== {self.name}: {status} after "
                 f"{self._record['seconds']:.0f} s")
        return status == "passed"

    def _save(self):
        self._record["seconds"] = round(time.monotonic() - self._start, 1)
        self._results.save()


def to_markdown(data):
    """A section for docs/gpu_results.md."""
    machine = data["steps"].get("machine", {}).get("facts", {})
    lines = [f"Commit {data['commit']}, {machine.get('gpu', 'no device')}:", "",
             "| step | when | seconds | status | what |", "|---|---|---|---|---|"]
    for name, step in data["steps"].items():
        for index, what in enumerate(_rows(step) or ["-"]):
            start = (f"| {name} | {step['started']} | {step['seconds']:.0f} "
                     f"| {step['status']} " if index == 0 else "| | | | ")
            lines.append(f"{start}| {what} |")
    return "\n".join(lines) + "\n"


def _rows(step):
    rows = ["**" + " ".join(text.split("\n")[0].replace("|", "/").split())
            + "**" for text in step["failures"]]
    for name, fact in step["facts"].items():
        if isinstance(fact, dict):
            fact = ", ".join(f"{key} {_short(value)}"
                             for key, value in fact.items()
                             if not isinstance(value, (list, dict)))
        if isinstance(fact, list):
            continue
        rows.append(f"{name}: {_short(fact)}")
    return rows


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
