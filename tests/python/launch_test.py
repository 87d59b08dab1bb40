"""`gradsieve launch JOB -- COMMAND` runs a script as each worker on several hosts:
home folders of this machine, which a stand-in for ssh goes to."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

from gradsieve import _start
from ranks import COMMAND, PRELUDE, SERVER

JOB = '''
name: "mine"
model { name: "external" }
worker_optimizer { name: "external" }
compressor { name: "topk" ratio: 0.1 }
cluster { num_servers: 2 }
'''

# Arguments: options, --, host, command.
SSH = '''#!/bin/sh
while [ "$1" != -- ]; do shift; done
cd "$(dirname "$0")/home-$2" && exec sh -c "$3"
'''

TRAIN = '''
            gs.init()
            gs.DistributedOptimizer(optimizer, model)
            for i in range(12):
                gs.record_loss(torch.tensor(float(i)))
                step()
'''


def free_ports():
    """The first of three ports in a row that nobody uses at two addresses."""
    while True:
        sockets = [socket.socket() for _ in range(4)]
        try:
            sockets[0].bind(('127.0.0.1', 0))
            first = sockets[0].getsockname()[1]
            sockets[1].bind(('127.0.0.1', first + 1))
            sockets[2].bind(('127.0.0.2', first))
            sockets[3].bind(('127.0.0.1', first + 2))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()


class RankTest(unittest.TestCase):

    def test_what_comes_first_says_which_rank_this_is(self):
        names = ('GRADSIEVE_RANK', 'RANK', 'OMPI_COMM_WORLD_RANK', 'SLURM_PROCID',
                 'JOB_COMPLETION_INDEX')
        variables = {name: str(i) for i, name in enumerate(names)}
        with mock.patch.dict(os.environ, variables):
            self.assertEqual(_start.find_rank(7), 7)
            for i, name in enumerate(names):
                self.assertEqual(_start.find_rank(None), i)
                del os.environ[name]
            self.assertIsNone(_start.find_rank(None))

    def test_what_comes_first_says_how_many_ranks_there_are(self):
        with mock.patch.dict(os.environ, {'WORLD_SIZE': '1',
                                          'OMPI_COMM_WORLD_SIZE': '2'}):
            self.assertEqual(_start.find_size(7), 7)
            self.assertEqual(_start.find_size(None), 1)
            del os.environ['WORLD_SIZE']
            self.assertEqual(_start.find_size(None), 2)
            del os.environ['OMPI_COMM_WORLD_SIZE']
            self.assertIsNone(_start.find_size(None))


class LaunchTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix='gs')
        self.addCleanup(self.folder.cleanup)
        for name in 'home-a', 'home-b', 'programs':
            os.mkdir(self.path(name))
        self.write('job.textproto', JOB)
        self.write('ssh', SSH)
        os.chmod(self.path('ssh'), 0o700)
        self.write('programs/server', '#!/bin/sh\necho $$ >%s/$1\nexec %s "$@"\n' %
                   (self.folder.name, SERVER))
        os.chmod(self.path('programs/server'), 0o700)
        os.symlink(os.environ['GRADSIEVE_BRIDGE'], self.path('programs/bridge'))
        self.port = free_ports()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), 'w') as file:
            file.write(text)

    def start(self, script, *more):
        self.write('train.py', PRELUDE + textwrap.dedent(script))
        return subprocess.Popen(
            [COMMAND, 'launch', 'job.textproto', '--hosts=a=127.0.0.1:2,b=127.0.0.2:1',
             '--ssh=' + self.path('ssh'), '--programs=' + self.path('programs'),
             '--port=%d' % self.port, '--run-dir=run', *more, '--', sys.executable,
             'train.py', '--lr', '0.5'],
            cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)

    def launch(self, script, *more):
        """Returns the exit code and the output."""
        process = self.start(script, *more)
        out, _ = process.communicate(timeout=120)
        return process.returncode, out

    def test_trains_and_brings_the_records(self):
        code, out = self.launch('''
            names = ['LOCAL_RANK', 'LOCAL_WORLD_SIZE']
            import torch.distributed as dist
            if dist.is_available():
                dist.init_process_group('gloo')
                assert dist.get_world_size() == 3
        ''' + TRAIN + '''
            say(' '.join(map(str, [gs.rank(), gs.size(), *sys.argv[1:]] +
                             [os.environ[name] for name in names])))
            gs.finish()
        ''', '--page')
        self.assertEqual(code, 0, out)
        for title, line in (('0@a', '0 3 --lr 0.5 0 2'), ('1@a', '1 3 --lr 0.5 1 2'),
                            ('2@b', '2 3 --lr 0.5 0 1')):
            self.assertIn('[worker-%s] %s\n' % (title, line), out)
        self.assertIn('the page of this job is http://127.0.0.1:', out)
        with open(self.path('run/metrics.jsonl')) as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual([row['training_loss'] for row in rows[1:]],
                         [float(i) for i in range(12)])
        with open(self.path('run/summary.json')) as file:
            self.assertEqual(json.load(file)['iterations'], 12)

    def test_the_rank_that_failed_first_is_named(self):
        code, out = self.launch(TRAIN + '''
            if gs.rank() == 2:
                raise ValueError('no such file')
            step()
        ''')
        self.assertEqual(code, 1, out)
        self.assertIn('gradsieve launch: worker-2@b exited with code 1: worker 2: '
                      'ValueError: no such file', out)

    def test_a_killed_server_ends_the_job(self):
        process = self.start(TRAIN + '''
            say('stepped')
            while True:
                step()
        ''')
        out = ''
        for line in process.stdout:
            out += line
            if 'stepped' in line:
                break
        with open(self.path('--index=1')) as pid:
            os.kill(int(pid.read()), signal.SIGKILL)
        more, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, out + more)
        self.assertIn('server-1@b exited with code 137', more)


if __name__ == '__main__':
    unittest.main()
