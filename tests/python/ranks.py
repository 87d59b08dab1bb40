"""Jobs of tests: servers as processes, ranks as forks of the test or as scripts."""

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback

import torch

import gradsieve.torch as gs

SERVER = os.environ['GRADSIEVE_SERVER']
COMMAND = os.environ['GRADSIEVE_COMMAND']

_FORK = multiprocessing.get_context('fork')

JOB = '''
name: "test"
model { name: "external" }
%s
cluster { num_workers: %d num_servers: %d %s
  startup_timeout_seconds: %d
  lost_server_timeout_seconds: %d
  lost_worker_timeout_seconds: 20
}
%s
'''


DELTA = 'worker_optimizer { name: "external" }'
# Of SparseLoCo: a rank's own weights are those of the servers at an exchange.
BEHIND = 'worker_optimizer { name: "external" step_ahead: 0 }'
EXCHANGE = 'downlink { mode: MEAN }'


class Job:
    """A job and its running servers, as a context."""

    def __init__(self, ranks=2, servers=1, more='', start_servers=True, mode=DELTA,
                 startup=60, lost_server=3):
        self.ranks = ranks
        self._keepers = []
        self._ends = False
        self.folder = tempfile.mkdtemp(prefix='gs')
        self.path = os.path.join(self.folder, 'job.textproto')
        addresses = ''.join('servers: "unix:%s/server-%d" ' % (self.folder, i)
                            for i in range(servers))
        with open(self.path, 'w') as file:
            file.write(JOB % (mode, ranks, servers, addresses, startup, lost_server,
                              more.replace('FOLDER', self.folder)))
        self.servers = []
        if start_servers:
            self.servers = [self._start_server(i) for i in range(servers)]

    def _start_server(self, index):
        with open(self.log_of(index), 'ab') as log:
            return subprocess.Popen(
                [SERVER, '--config=' + self.path, '--index=%d' % index], stderr=log)

    def log_of(self, server):
        """The file of a server's log."""
        return os.path.join(self.folder, 'server-%d.log' % server)

    def start_again_when_killed(self):
        """Has each server that is killed from now on started again, once."""
        def keep(index):
            killed = self.servers[index].wait() == -signal.SIGKILL
            if killed and not self._ends:
                self.servers[index] = self._start_server(index)
        for index in range(len(self.servers)):
            keeper = threading.Thread(target=keep, args=(index,))
            keeper.start()
            self._keepers.append(keeper)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ends = True
        for server in self.servers:
            server.kill()
        for keeper in self._keepers:
            keeper.join()
        for server in self.servers:
            server.kill()
            server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, function, *arguments):
        """Calls ``function(rank, *arguments)`` after gs.init, in a process for each
        rank. Returns the results, in order of rank; an exception counts as its
        result, and a function is called after gs.finish for it."""
        pipes = []
        processes = []
        for rank in range(self.ranks):
            reader, writer = _FORK.Pipe(duplex=False)
            process = _FORK.Process(
                target=_rank, args=(writer, self.path, rank, function, arguments))
            process.start()
            writer.close()
            pipes.append(reader)
            processes.append(process)
        results = []
        for rank, reader in enumerate(pipes):
            if not reader.poll(120):
                results.append(TimeoutError('rank %d does not end' % rank))
                processes[rank].kill()
                continue
            try:
                results.append(pickle.loads(reader.recv_bytes()))
            except EOFError:
                results.append(EOFError('rank %d died' % rank))
        for process in processes:
            process.join()
        return results

    def results(self, function, *arguments):
        """The same; an exception fails the test."""
        results = self.run(function, *arguments)
        for rank, result in enumerate(results):
            if isinstance(result, BaseException):
                raise AssertionError('rank %d: %s: %s' % (
                    rank, type(result).__name__, result))
        return results

    def script(self, rank, text, **variables):
        """Starts a script in a process of its own."""
        environment = dict(os.environ, GRADSIEVE_JOB=self.path, RANK=str(rank),
                           WORLD_SIZE=str(self.ranks))
        environment.update(variables)
        return subprocess.Popen(
            [sys.executable, '-c', PRELUDE + textwrap.dedent(text)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)


def _rank(writer, path, rank, function, arguments):
    os.environ['RANK'] = str(rank)
    torch.manual_seed(rank)
    try:
        gs.init(path)
        result = function(rank, *arguments)
        gs.finish()
        if callable(result):
            result = result()
    except BaseException as error:  # pylint: disable=broad-except
        if not isinstance(error, gs.Error):
            traceback.print_exc()
            error = RuntimeError('%s: %s' % (type(error).__name__, error))
        result = error
    # Not by `send`, which would share the memory of tensors.
    writer.send_bytes(pickle.dumps(result))
    writer.close()


# A script's model, which is small, and its optimizer, before gs.init.
PRELUDE = '''
import os, signal, sys, time
import torch
import gradsieve.torch as gs
torch.manual_seed(0)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    optimizer.zero_grad()
    model(torch.ones(1, 64)).sum().backward()
    optimizer.step()
def say(text):
    print(text, flush=True)
'''


def wait_for_line(process, text, seconds=120):
    """Waits until a script has printed this line."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        if line.strip() == text:
            return
        if not line:
            raise AssertionError('the script ended: ' + process.stderr.read())
    raise AssertionError('no line ' + text)


def end(process, seconds=120):
    """Waits for a script; returns its exit code, output and errors."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError('the script does not end: %s %s' % (out, err))
    return process.returncode, out, err
