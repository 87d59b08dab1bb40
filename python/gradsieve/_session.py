"""A session with the bridge, the program that speaks with servers for this
process. bridge/messages.h and bridge/shared_block.h describe what they say to
each other."""

import contextlib
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import threading
import time
import weakref
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gradsieve._errors import Error, Forked, Interrupted, ConfigError, error_of

PROTOCOL = 5
(JOB, SAME, OPEN, FIRST, PULL, BEGIN, READY, WAIT, SERVERS, AVERAGE, STATS, SAVE,
 LOAD, METRICS, FINISH, ABORT) = range(1, 17)
_NAMES = {JOB: 'JOB', OPEN: 'OPEN', FIRST: 'FIRST', PULL: 'PULL', WAIT: 'WAIT',
          SERVERS: 'SERVERS', AVERAGE: 'AVERAGE', STATS: 'STATS', SAVE: 'SAVE',
          LOAD: 'LOAD', FINISH: 'FINISH', ABORT: 'ABORT'}

_MESSAGE = struct.Struct('<BBHiqd')
_HEADER = struct.Struct('<8sIIQQ')
_HEADER_BYTES = 4096
_MAX_TEXT = 4096
_ABORT_SECONDS = 2.0

# A tensor's name and shape, of at least one dimension, each at least 1.
Tensor = Tuple[str, Sequence[int]]


class Answer(NamedTuple):
    b: int
    c: float
    text: str


class Block:
    """The memory shared with the bridge.

    Attributes:
      fd: its memfd.
      memory: all of it, as a writable buffer.
      num_elements: of all tensors together.
      in_offset, out_offset: where its arrays of ``num_elements`` float32 begin,
        in bytes.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        table = b''
        self.num_elements = 0
        for name, shape in tensors:
            encoded = name.encode()
            size = 1
            for dimension in shape:
                size *= dimension
            self.num_elements += size
            table += struct.pack('<II', len(encoded), len(shape))
            table += struct.pack('<%dq' % len(shape), *shape) + encoded
        self._num_tensors = len(tensors)
        self._buckets_offset = _aligned(_HEADER_BYTES + len(table))
        self.in_offset = _aligned(self._buckets_offset + 4 * len(tensors))
        self.out_offset = _aligned(self.in_offset + 4 * self.num_elements)
        size = self.out_offset + 4 * self.num_elements
        self.fd = os.memfd_create('gradsieve',
                                  os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS,
                    fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.memory = mmap.mmap(self.fd, size)
        self.memory[:_HEADER.size] = _HEADER.pack(
            b'GSBRIDGE', PROTOCOL, len(tensors), len(table), self.num_elements)
        self.memory[_HEADER_BYTES:_HEADER_BYTES + len(table)] = table

    def buckets(self) -> List[int]:
        """The bucket of each tensor, after OPEN."""
        return list(struct.unpack_from('<%di' % self._num_tensors, self.memory,
                                       self._buckets_offset))


class Session:
    """One worker's session, for the process and the thread that use it: only one
    thread at a time may.

    All methods raise ``Error``.
    """

    def __init__(self, program: str, job: str, rank: int,
                 overrides: Sequence[str], timeout: float) -> None:
        """Starts the bridge and has it read the job.

        Args:
          program: the file of the bridge.
          job: the file of the job.
          rank: which worker this is.
          overrides: assignments, as those of --set.
          timeout: how long one call may take, in seconds.
        """
        self.rank = rank
        self.block = None  # type: Optional[Block]
        self._timeout = timeout
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._over = None  # type: Optional[Error]
        self._loss = None  # type: Optional[float]
        # Called before everything but the wait for a push's answer.
        self.settle = lambda: None  # type: Callable[[], None]
        self._socket, theirs = socket.socketpair(socket.AF_UNIX,
                                                 socket.SOCK_SEQPACKET)
        self._socket.settimeout(timeout)
        arguments = [program, '--config=' + job, '--rank=%d' % rank,
                     '--socket=%d' % theirs.fileno(),
                     '--parent=%d' % self._pid]
        arguments += ['--set=' + override for override in overrides]
        try:
            # A session of its own: neither Ctrl-C nor the signal of a launcher
            # to its group reaches it.
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()], start_new_session=True)
        except OSError as error:
            self._socket.close()
            raise ConfigError('cannot run %s: %s' % (program, error.strerror),
                              'NOT_FOUND') from None
        finally:
            theirs.close()
        _in_children(self)
        with self.use():
            answer = self.ask(JOB)
        self.num_workers = answer.b
        self.num_addresses = int(answer.c)
        job = dict(line.split(' ', 1) for line in answer.text.splitlines())
        self.job_name = job['name']
        # 0 if the job does not say it.
        self.num_servers = int(job['num_servers'])
        self.startup_timeout = float(job['startup_timeout_seconds'])
        # Whether gradients are exchanged, and not weights.
        self.exchanges = job['mode'] == 'exchange'
        self.local_steps = int(job['local_steps'])
        self.answer_delay = int(job['answer_delay'])
        self.answer_weight = float(job['answer_weight'])
        self.synchronous = job['synchronous'] == '1'

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Every use of ``ask`` and ``tell`` must be within it. What interrupts
        the block, in which messages belong together, ends the session."""
        if os.getpid() != self._pid:
            raise Forked(
                'the session of rank %d belongs to process %d, and this is '
                'process %d: only the process that called gradsieve.init may use '
                'it' % (self.rank, self._pid, os.getpid()), 'FAILED_PRECONDITION')
        if not self._lock.acquire(blocking=False):
            raise Error('two threads use the session of rank %d at once' %
                        self.rank, 'FAILED_PRECONDITION')
        try:
            if self._over is not None:
                raise type(self._over)(str(self._over), self._over.code)
            yield
        except Error as error:
            self._over = self._over or error
            raise
        except BaseException as error:
            self._over = Interrupted(
                'an exchange of rank %d was interrupted by %s, and cannot go on' %
                (self.rank, type(error).__name__), 'CANCELLED')
            raise
        finally:
            self._lock.release()

    def tell(self, op: int, a: int = 0, text: str = '') -> None:
        """Sends a message that has no answer."""
        self._send(op, a, text.encode(errors='replace')[:_MAX_TEXT])

    def begin(self, samples: int = 0) -> None:
        """Begins a push, with the loss that ``record_loss`` has been given since
        the one before, and the number of samples that weighs it, or 0."""
        loss, self._loss = self._loss, None
        self._send(BEGIN, loss is not None, b=samples, c=loss or 0.0)

    def record_loss(self, loss: float) -> None:
        """Has the next push tell the loss of its step."""
        self._loss = loss

    def ask(self, op: int, fd: Optional[int] = None, a: int = 0) -> Answer:
        """Sends a message, with a descriptor if one is given, and waits for the
        answer."""
        if op != WAIT:
            self.settle()
        self._send(op, a, b'', fd)
        return self._answer(op)

    def open(self, tensors: Sequence[Tensor], staggered: bool = False) -> List[int]:
        """Joins the job with these tensors, and returns the bucket of each.
        Bucket 0 has the last ones. If it is staggered, each push is of one bucket,
        in turn."""
        block = Block(tensors)
        try:
            self.ask(OPEN, block.fd, int(staggered))
        finally:
            os.close(block.fd)
        self.block = block
        return block.buckets()

    def average(self, values: Sequence[float]) -> List[float]:
        """The means over all workers, as float32."""
        self.settle()
        means = []  # type: List[float]
        for begin in range(0, len(values), _MAX_TEXT // 4):
            part = values[begin:begin + _MAX_TEXT // 4]
            form = '<%df' % len(part)
            self._send(AVERAGE, 0, struct.pack(form, *part))
            means += struct.unpack(form, self._receive(AVERAGE)[_MESSAGE.size:])
        return means

    def stats(self) -> Dict[str, float]:
        """The bridge's totals by name."""
        lines = self.ask(STATS).text.splitlines()
        return {name: float(value)
                for name, value in (line.split(' ') for line in lines)}

    def save(self) -> bytes:
        """The bridge's state: what was not sent yet."""
        fd = os.memfd_create('gradsieve-state', os.MFD_CLOEXEC)
        try:
            size = self.ask(SAVE, fd).b
            with mmap.mmap(fd, size, prot=mmap.PROT_READ) as memory:
                return memory[:]
        finally:
            os.close(fd)

    def load(self, state: bytes) -> None:
        """Takes back what ``save`` has returned."""
        fd = os.memfd_create('gradsieve-state', os.MFD_CLOEXEC)
        try:
            os.ftruncate(fd, len(state))
            with mmap.mmap(fd, len(state)) as memory:
                memory[:] = state
            self.ask(LOAD, fd)
        finally:
            os.close(fd)

    def finish(self) -> None:
        """Waits for all workers, and ends the session."""
        with self.use():
            self.ask(FINISH)
            self._close(Error('the session of rank %d is finished' % self.rank,
                              'FAILED_PRECONDITION'))
        self._process.wait()

    @property
    def is_open(self) -> bool:
        """Whether this process has a session that was neither finished nor
        aborted; it may have failed."""
        return os.getpid() == self._pid and self._socket.fileno() >= 0

    def abort(self, reason: str) -> None:
        """Gives up: the other workers hear the reason. Takes at most two seconds,
        after which the bridge goes on by itself."""
        if not self.is_open:
            return
        deadline = time.monotonic() + _ABORT_SECONDS
        try:
            self._socket.settimeout(_ABORT_SECONDS)
            self._send(ABORT, 0, reason.encode(errors='replace')[:_MAX_TEXT])
            # The bridge may wait for servers; this interrupts it.
            self._socket.shutdown(socket.SHUT_WR)
            while True:
                self._socket.settimeout(max(0.001, deadline - time.monotonic()))
                answer = self._socket.recv(_MESSAGE.size + _MAX_TEXT)
                if not answer or answer[0] == ABORT:
                    break
            self._process.wait(max(0.001, deadline - time.monotonic()))
        except (OSError, Error, subprocess.TimeoutExpired):
            pass
        self._close(Error('rank %d has given up: %s' % (self.rank, reason),
                          'UNAVAILABLE'))

    def _close(self, over: Error) -> None:
        self._over = over
        self._socket.close()

    def _send(self, op: int, a: int, text: bytes = b'',
              fd: Optional[int] = None, b: int = 0, c: float = 0.0) -> None:
        message = _MESSAGE.pack(op, 0, 0, a, b, c) + text
        try:
            if fd is None:
                self._socket.send(message)
            else:
                socket.send_fds(self._socket, [message], [fd])
        except socket.timeout:
            raise self._too_late(op) from None
        except OSError:
            raise self._bridge_is_gone() from None

    def _answer(self, op: int) -> Answer:
        message = self._receive(op)
        _, _, _, _, b, c = _MESSAGE.unpack_from(message)
        return Answer(b, c, message[_MESSAGE.size:].decode(errors='replace'))

    def _receive(self, op: int) -> bytes:
        """The answer, with its text; raises the error that it may be."""
        try:
            message = self._socket.recv(_MESSAGE.size + _MAX_TEXT)
        except socket.timeout:
            raise self._too_late(op) from None
        except OSError:
            message = b''
        if not message:
            raise self._bridge_is_gone()
        code = _MESSAGE.unpack_from(message)[3]
        if code:
            raise error_of(code, message[_MESSAGE.size:].decode(errors='replace'))
        return message

    def _too_late(self, op: int) -> Error:
        return Error('%s of rank %d was not answered within %g s (the timeout of '
                     'gradsieve.init)' % (_NAMES.get(op, 'a message'), self.rank,
                                          self._timeout), 'DEADLINE_EXCEEDED')

    def _bridge_is_gone(self) -> Error:
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            code = None
        if code is None:
            end = 'has hung up'
        elif code < 0:
            end = 'was killed by signal %d' % -code
        else:
            end = 'ended with code %d' % code
        return Error('the bridge of worker %d (process %d) %s; its last lines on '
                     'standard error may say why' %
                     (self.rank, self._process.pid, end), 'UNAVAILABLE')


def _aligned(offset: int) -> int:
    return (offset + 63) // 64 * 64


def _in_children(session: Session) -> None:
    """Has forked children close their copy of the socket, so that the bridge
    hears when this process ends."""
    reference = weakref.ref(session)

    def close() -> None:
        forked = reference()
        if forked is not None:
            forked._socket.close()

    os.register_at_fork(after_in_child=close)
