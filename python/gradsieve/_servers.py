"""Servers that the ranks of a script start for themselves."""

import datetime
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from typing import Any, Callable, Dict, List, Sequence

from gradsieve import _errors
from gradsieve._errors import ConfigError, Error, ServerLost, StartupTimeout
from gradsieve._start import find_program

# A model of a few thousand parameters makes no more slices to deal out.
_MOST_BY_DEFAULT = 4


class Servers:
    """The servers of a job, dealt out to the hosts of its ranks; the first rank of
    each host starts those of its host. On one host they have sockets in a folder
    that only this user can open, on several hosts they use TCP.

    Attributes:
      addresses: of all servers, in order of index, after ``start``.
    """

    def __init__(self) -> None:
        self.addresses = []  # type: List[str]
        self._folder = ''
        self._processes = []  # type: List[subprocess.Popen[bytes]]

    def start(self, job: str, overrides: Sequence[str], number: int,
              rank: int, size: int, store: Any, timeout: float) -> None:
        """Returns when all servers listen. All ranks call it.

        Args:
          job: the file of the job.
          overrides: assignments, as those of --set.
          number: of servers; 0: one for each host, at most four.
          rank, size: of this process, and how many there are.
          store: by which the ranks hear of each other, such as a
            ``torch.distributed.Store``; None if there is one rank.
          timeout: how long to wait for another rank, in seconds.

        Raises:
          ConfigError: a server cannot start; the message is its own.
          ServerLost: the same, but another start may help.
          StartupTimeout: a rank did not come in time.
        """
        ranks = _Ranks(store, rank, size, timeout)
        master = os.environ.get('MASTER_ADDR', socket.gethostname())
        names = ranks.gather('host', [_host(), _address_towards(master)])
        first = {}  # type: Dict[str, int]
        for other, (host, _) in enumerate(names):
            first.setdefault(host, other)
        leaders = list(first.values())
        number = number or min(len(leaders), _MOST_BY_DEFAULT)
        mine = range(0)
        if rank in leaders:
            mine = range(leaders.index(rank), number, len(leaders))
        own_address = names[rank][1]
        # A host may know its own name by an address that nobody else can reach.
        others = [address for _, address in names if not _is_loopback(address)]
        if _is_loopback(own_address) and others:
            own_address = _address_towards(others[0])
        lists = ranks.gather_results('addresses', lambda: self._choose_addresses(
            mine, own_address, len(leaders) == 1))
        self.addresses = [lists[leaders[i % len(leaders)]][i // len(leaders)]
                          for i in range(number)]
        ranks.gather_results('started', lambda: self._start(mine, job, overrides,
                                                            timeout))

    def overrides(self) -> List[str]:
        """What ranks must set in their job."""
        return ['cluster.num_servers=%d' % len(self.addresses),
                'cluster.servers=' + ','.join(self.addresses)]

    def close(self) -> None:
        """Removes what this process has made. Servers end with their job; what has
        not ended after two seconds is killed."""
        deadline = time.monotonic() + 2.0
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes = []
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ''

    def _choose_addresses(self, mine: Sequence[int], own_address: str,
                          one_host: bool) -> List[str]:
        if not mine:
            return []
        self._folder = tempfile.mkdtemp(prefix='gradsieve-')
        if one_host:
            return ['unix:%s/server-%d' % (self._folder, i) for i in mine]
        # All are open at once, so that the ports differ.
        sockets = [socket.socket(_family(own_address)) for _ in mine]
        try:
            for each in sockets:
                each.bind((own_address, 0))
            host = '[%s]' % own_address if ':' in own_address else own_address
            return ['%s:%d' % (host, each.getsockname()[1]) for each in sockets]
        finally:
            for each in sockets:
                each.close()

    def _start(self, mine: Sequence[int], job: str, overrides: Sequence[str],
               timeout: float) -> None:
        program = find_program('server') if mine else ''
        for i in mine:
            arguments = [program, '--config=' + job, '--index=%d' % i,
                         '--address-file=' + self._file(i, 'address')]
            arguments += ['--set=' + override
                          for override in [*overrides, *self.overrides()]]
            with open(self._file(i, 'log'), 'wb') as log:
                self._processes.append(subprocess.Popen(
                    arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=log, start_new_session=True))
        deadline = time.monotonic() + timeout
        for i, process in zip(mine, self._processes):
            while not os.path.exists(self._file(i, 'address')):
                if process.poll() is not None:
                    kind = (ServerLost if process.returncode == ServerLost.exit_code
                            else ConfigError)
                    raise kind(
                        _last_error(self._file(i, 'log')) or
                        'server %d ended with code %d' % (i, process.returncode),
                        'INVALID_ARGUMENT')
                if time.monotonic() > deadline:
                    raise StartupTimeout('server %d does not listen after %g s' %
                                         (i, timeout), 'DEADLINE_EXCEEDED')
                time.sleep(0.01)

    def _file(self, server: int, name: str) -> str:
        return os.path.join(self._folder, '%s-%d' % (name, server))


class _Ranks:
    """All ranks, which hear of each other by a store."""

    def __init__(self, store: Any, rank: int, size: int, timeout: float) -> None:
        self._store = store
        self._rank = rank
        self._size = size
        self._timeout = timeout

    def gather(self, name: str, mine: Any) -> List[Any]:
        """The value of each rank, in order of rank."""
        if self._size == 1:
            return [mine]
        self._store.set('%s-%d' % (name, self._rank), json.dumps(mine))
        values = []
        for rank in range(self._size):
            key = '%s-%d' % (name, rank)
            try:
                self._store.wait([key], datetime.timedelta(seconds=self._timeout))
            # torch.distributed.DistStoreError is one, and older than that a plain
            # RuntimeError was raised; for a FileStore it is a ValueError.
            except (RuntimeError, ValueError) as error:
                raise StartupTimeout(
                    'rank %d has not called gradsieve.init after %g s '
                    '(cluster.startup_timeout_seconds): %s' %
                    (rank, self._timeout, error), 'DEADLINE_EXCEEDED') from None
            values.append(json.loads(self._store.get(key)))
        return values


    def gather_results(self, name: str, work: Callable[[], Any]) -> List[Any]:
        """What ``work`` returns in each rank. If it fails in one, all raise the
        error of the first."""
        try:
            result = {'value': work()}
        except (Error, OSError) as error:
            result = {'error': str(error), 'kind': type(error).__name__,
                      'code': getattr(error, 'code', 'UNKNOWN')}
        results = self.gather(name, result)
        for result in results:
            if 'error' in result:
                kind = getattr(_errors, result['kind'], Error)
                raise kind(result['error'], result['code'])
        return [result['value'] for result in results]


def _host() -> str:
    """The same in all processes that can reach each other's files and sockets."""
    with open('/proc/sys/kernel/random/boot_id') as file:
        return '%s %s %s' % (socket.gethostname(), file.read().strip(),
                             os.readlink('/proc/self/ns/mnt'))


def _address_towards(host: str) -> str:
    """The address of this host from which it reaches another one."""
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
                host, 1, type=socket.SOCK_DGRAM):
            with socket.socket(family, kind, protocol) as probe:
                # Of a datagram: nothing is sent.
                probe.connect(address)
                return str(probe.getsockname()[0])
    except OSError:
        pass
    return '127.0.0.1'


def _is_loopback(address: str) -> bool:
    return address.startswith('127.') or address == '::1'


def _family(address: str) -> 'socket.AddressFamily':
    return socket.AF_INET6 if ':' in address else socket.AF_INET


def _last_error(log: str) -> str:
    """The last error of a log in glog's form, without its beginning."""
    with open(log, errors='replace') as file:
        text = file.read()
    begin = max(text.rfind('\nE'), 0 if text.startswith('E') else -1)
    return text[begin:].partition('] ')[2].strip() if begin >= 0 else text.strip()
