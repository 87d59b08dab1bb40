"""The wheel, installed by pip into an environment without anything else of
ours, trains by its own programs."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile

import torch

SCRIPT = '''
    import torch
    import gradsieve.torch as gs
    gs.init()
    model = torch.nn.Linear(20, 1)
    optimizer = gs.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), model)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.ones(1, 20) * (gs.rank() + 1)).square().mean().backward()
        optimizer.step()
    with gs.server_weights(model):
        print('weight', gs.rank(), model.weight[0, 0].item())
    gs.finish()
'''

JOB = '''
    name: "wheel"
    model { name: "external" }
    worker_optimizer { name: "external" }
    compressor { name: "sidco_e" ratio: 0.5 }
    cluster { num_workers: 2 num_servers: 1 }
'''


def run(arguments, **options):
    """Returns what the command prints; the test fails if the command does."""
    done = subprocess.run(arguments, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError('%s ended with %d:\n%s' % (
            arguments, done.returncode, done.stdout))
    return done.stdout


class WheelTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='gs')
        cls.path = pathlib.Path(cls.folder.name)
        programs = pathlib.Path(os.environ['GRADSIEVE_COMMAND']).parents[1]
        wheels = []
        for name in ('first', 'second'):
            (cls.path / name).mkdir()
            run([programs / 'tools/wheel', '--bin=%s' % programs,
                 '--output=%s' % (cls.path / name)])
            wheels += (cls.path / name).iterdir()
        cls.wheel, cls.same_wheel = wheels
        run([sys.executable, '-m', 'venv', cls.path / 'venv'])
        bin_folder = cls.path / 'venv/bin'
        run([bin_folder / 'pip', 'install', '--no-index', '--no-deps',
             cls.wheel])
        cls.environment = {
            'PATH': '%s:/usr/bin:/bin' % bin_folder,
            'HOME': cls.folder.name,
            'OMP_NUM_THREADS': '1',
            # The environment's Python, with torch from where this test has it.
            'PYTHONPATH': str(pathlib.Path(torch.__file__).parents[1]),
        }

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_two_wheels_have_the_same_bytes(self):
        self.assertEqual(self.wheel.read_bytes(), self.same_wheel.read_bytes())

    def test_every_file_is_in_the_record(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            record = wheel.read([name for name in names
                                 if name.endswith('/RECORD')][0]).decode()
        self.assertEqual(
            names, [line.split(',')[0] for line in record.splitlines()])
        self.assertIn('gradsieve/py.typed', names)

    def test_the_command_is_there(self):
        text = run(['gradsieve', '--version'], env=self.environment)
        self.assertIn('gradsieve', text)

    def test_two_ranks_train(self):
        script = self.path / 'script.py'
        script.write_text(textwrap.dedent(SCRIPT))
        job = self.path / 'job.textproto'
        job.write_text(textwrap.dedent(JOB))
        text = run(['gradsieve', 'train', job, '--run-dir=%s' %
                    (self.path / 'run'), '--', 'python', script],
                   env=self.environment, cwd=self.folder.name)
        weights = dict(re.findall(r'weight (\d) (\S+)', text))
        self.assertEqual(set(weights), {'0', '1'}, text)
        self.assertEqual(weights['0'], weights['1'])

    def test_launch_gives_hosts_the_programs(self):
        script = self.path / 'launched.py'
        script.write_text(textwrap.dedent(SCRIPT))
        job = self.path / 'job.textproto'
        job.write_text(textwrap.dedent(JOB))
        home = self.path / 'home'
        home.mkdir()
        # Arguments: options, --, host, command.
        ssh = self.path / 'ssh'
        ssh.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\n'
                       'cd %s && exec sh -c "$3"\n' % home)
        ssh.chmod(0o700)
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            port = probe.getsockname()[1]
        text = run(['gradsieve', 'launch', job, '--hosts=a=127.0.0.1:2',
                    '--ssh=%s' % ssh, '--port=%d' % port,
                    '--run-dir=%s' % (self.path / 'launched'), '--', 'python',
                    script], env=self.environment, cwd=self.folder.name)
        self.assertEqual(len(re.findall(r'weight \d \S+', text)), 2, text)
        self.assertTrue(list(home.glob('.cache/gradsieve/bundles/*/bridge/bridge')))

    def test_a_script_alone_trains(self):
        script = self.path / 'alone.py'
        script.write_text(textwrap.dedent(SCRIPT))
        text = run(['python', script], env=self.environment,
                   cwd=self.folder.name)
        self.assertRegex(text, r'weight 0 \S+')


if __name__ == '__main__':
    unittest.main()
