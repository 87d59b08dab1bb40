"""Commands of a run: with a log, a deadline and no descendants left behind."""
import os
import signal
import subprocess
import time

_running = set()
_stopped = False


class Deadline:
    """The moment until which the commands of a step may run."""

    def __init__(self, seconds):
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self):
        return max(0.0, self._end - time.monotonic())


class TimedOut(Exception):
    """The step has no time left; the command has been ended."""


def run(command, log, deadline, environment=None):
    """Writes the output to the file `log` and returns the exit code.

    A program that is missing has the exit code 127, as in a shell. A code
    below 0 is the number of the signal that ended the command.
    """
    if _stopped or deadline.left() == 0:
        raise TimedOut()
    with open(log, "w", encoding="utf-8") as output:
        try:
            # A session of its own, so that a deadline ends all its processes.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
                env=dict(os.environ, **(environment or {})))
        except OSError as error:
            output.write(f"{command[0]}: {error.strerror}\n")
            return 127
        _running.add(process)
        try:
            return process.wait(timeout=deadline.left())
        except subprocess.TimeoutExpired:
            raise TimedOut() from None
        finally:
            _end(process)


def stop():
    """Ends what runs, in whatever thread it was started, and starts no more."""
    global _stopped
    _stopped = True
    for process in list(_running):
        _signal(process, signal.SIGKILL)


def _end(process):
    if process.poll() is None:
        # Gives a launcher the time to end what it has started elsewhere.
        _signal(process, signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass
    _signal(process, signal.SIGKILL)
    process.wait()
    _running.discard(process)


def _signal(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def last_lines(log, count=20):
    with open(log, encoding="utf-8", errors="replace") as file:
        return "".join(file.readlines()[-count:])
