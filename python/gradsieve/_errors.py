"""The errors of this package."""

import re
from typing import Optional, Type

# absl::StatusCode, by number.
CODES = {
    1: 'CANCELLED', 2: 'UNKNOWN', 3: 'INVALID_ARGUMENT', 4: 'DEADLINE_EXCEEDED',
    5: 'NOT_FOUND', 6: 'ALREADY_EXISTS', 7: 'PERMISSION_DENIED',
    8: 'RESOURCE_EXHAUSTED', 9: 'FAILED_PRECONDITION', 10: 'ABORTED',
    11: 'OUT_OF_RANGE', 12: 'UNIMPLEMENTED', 13: 'INTERNAL', 14: 'UNAVAILABLE',
    15: 'DATA_LOSS', 16: 'UNAUTHENTICATED',
}


class Error(RuntimeError):
    """What went wrong in the exchange with servers. After an error, only
    ``finish`` or the end of the process are left; ``finish`` repeats it.

    Attributes:
      code: the name of the status, such as ``'UNAVAILABLE'``.
      rank: the worker that the message names first, or None.
      server: the server that the message names first, or None.
      exit_code: that of a process that ends with this error, if ``gradsieve
        train`` has started it: 1 failed, 75 start again, 78 never start again.

    Example::

        try:
            optimizer.step()
        except gs.ServerLost as error:
            print('server', error.server, 'is gone')
            raise
    """

    exit_code = 1

    def __init__(self, message: str, code: str = 'UNKNOWN') -> None:
        super().__init__(message)
        self.code = code
        self.rank = _number_after('worker', message)
        self.server = _number_after('server', message)

    def __reduce__(self):
        return (type(self), (str(self), self.code))


class ConfigError(Error):
    """The job, the model or the call is wrong: mend it before the next start."""
    exit_code = 78


class ServerLost(Error):
    """A server cannot be reached any more, or all processes of the job are to be
    started again."""
    exit_code = 75


class StartupTimeout(Error):
    """A server or a rank did not come in time (cluster.startup_timeout_seconds)."""
    exit_code = 75


class JobFailed(Error):
    """Another process of the job has failed; the message says which, and why."""


class NotFinite(Error):
    """A weight became NaN or infinite in this rank's step."""
    exit_code = 78


class Interrupted(Error):
    """An earlier call was interrupted, by Ctrl-C for example, and the exchange
    cannot go on."""


class Forked(Error):
    """This process is a fork of the one that called ``init``, and may not use
    its session. The other one may go on."""


_CLASSES = {
    'INVALID_ARGUMENT': ConfigError,
    'NOT_FOUND': ConfigError,
    'ALREADY_EXISTS': ConfigError,
    'PERMISSION_DENIED': ConfigError,
    'FAILED_PRECONDITION': ConfigError,
    'UNIMPLEMENTED': ConfigError,
    'DATA_LOSS': ConfigError,
    'DEADLINE_EXCEEDED': StartupTimeout,
    'UNAVAILABLE': ServerLost,
    'ABORTED': JobFailed,
    'OUT_OF_RANGE': NotFinite,
    'CANCELLED': Interrupted,
}  # type: dict[str, Type[Error]]


def error_of(code: int, message: str) -> Error:
    """The error for a status of the bridge, with its message as it is."""
    name = CODES.get(code, 'UNKNOWN')
    return _CLASSES.get(name, Error)(message, name)


def _number_after(role: str, message: str) -> Optional[int]:
    found = re.search(role + r' (\d+)', message)
    return int(found.group(1)) if found else None
