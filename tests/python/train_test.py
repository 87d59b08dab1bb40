"""`gradsieve train JOB -- COMMAND` runs a script as each worker."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from ranks import COMMAND, PRELUDE

JOB = '''
name: "mine"
model { name: "external" }
worker_optimizer { name: "external" }
compressor { name: "topk" ratio: 0.1 }
cluster { num_workers: 2 num_servers: 1 }
'''

TRAIN = '''
            gs.init()
            gs.DistributedOptimizer(optimizer, model)
            step()
'''


def free_ports(count=1):
    """The first of so many ports in a row that nobody uses."""
    while True:
        with contextlib.ExitStack() as stack:
            probe = stack.enter_context(socket.socket())
            probe.bind(('127.0.0.1', 0))
            first = probe.getsockname()[1]
            try:
                for port in range(first + 1, first + count):
                    stack.enter_context(socket.socket()).bind(('127.0.0.1', port))
            except OSError:
                continue
            return first


class TrainTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix='gs')
        self.addCleanup(self.folder.cleanup)
        self.job = os.path.join(self.folder.name, 'job.textproto')
        self.write(self.job, JOB)
        self.script = os.path.join(self.folder.name, 'train.py')

    def write(self, path, text):
        with open(path, 'w') as file:
            file.write(text)

    def start(self, *arguments):
        return subprocess.Popen([COMMAND, 'train', *arguments],
                                cwd=self.folder.name, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def train(self, script, *more, options=(), prelude=''):
        """Returns the exit code and the output."""
        self.write(self.script, prelude + PRELUDE + textwrap.dedent(script))
        process = self.start(self.job, '--run-dir=run', *options, '--',
                             sys.executable, self.script, *more)
        out, _ = process.communicate(timeout=120)
        return process.returncode, out

    def test_each_rank_gets_its_variables_and_arguments(self):
        code, out = self.train('''
            names = ['RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'MASTER_ADDR']
            say(' '.join([os.environ[name] for name in names] + sys.argv[1:]))
            assert int(os.environ['MASTER_PORT']) > 0
            assert int(os.environ['OMP_NUM_THREADS']) > 0
        ''' + TRAIN + '''
            say('%d %d %s' % (gs.rank(), gs.size(), gs.is_leader()))
            gs.finish()
        ''', '--lr', '0.5')
        self.assertEqual(code, 0, out)
        for rank, leader in (0, 'True'), (1, 'False'):
            self.assertIn('[worker-%d] %d %d 2 127.0.0.1 --lr 0.5\n' %
                          (rank, rank, rank), out)
            self.assertIn('[worker-%d] %d 2 %s\n' % (rank, rank, leader), out)
        self.assertIn('The run is in run', out)
        run = os.path.join(self.folder.name, 'run')
        self.assertTrue(os.path.exists(run + '/logs/worker-1.log'))
        # The job says what was run.
        with open(run + '/job.textproto') as job:
            self.assertIn('name: "external"', job.read())

    def test_pushes_are_recorded_and_shown(self):
        code, out = self.train('''
            gs.init()
            gs.DistributedOptimizer(optimizer, model)
            for i in range(12):
                if i > 1:
                    gs.record_loss(torch.tensor(10.0 * i + gs.rank()))
                step()
            gs.record_evaluation(accuracy=torch.tensor(0.75), loss=1.25)
            gs.stats()
            if gs.is_leader():
                def get(address):
                    with urllib.request.urlopen(address) as page:
                        return page.read().decode()
                state = json.loads(get('http://%s/state' % os.environ['GRADSIEVE_PAGE']))
                say('page %s %s' % (state['now']['iteration'], state['now']['loss']))
                for line in get('http://%s/metrics' %
                                os.environ['GRADSIEVE_METRICS_LISTEN']).splitlines():
                    if line.startswith('gradsieve_job_evaluation'):
                        say(line)
            gs.finish()
        ''', options=['--page=127.0.0.1:%d' % free_ports(),
                     '--metrics-listen=127.0.0.1:%d' % free_ports(3)],
            prelude='import json, urllib.request\n')
        self.assertEqual(code, 0, out)
        self.assertIn('page 12 110.5', out)
        self.assertIn('gradsieve_job_evaluation{metric="accuracy"} 0.75', out)
        self.assertIn('the page of this job is http://127.0.0.1:', out)
        self.assertIn('iteration 12  loss 110.5', out)
        run = os.path.join(self.folder.name, 'run')
        with open(run + '/metrics.jsonl') as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual(rows[0]['model'], 'external')
        self.assertEqual(rows[0]['num_parameters'], 64 * 65)
        evaluation = rows.pop()
        self.assertEqual([evaluation[name] for name in (
            'event', 'iteration', 'metric', 'test_accuracy', 'test_loss')],
                         ['evaluation', 12, 'test_accuracy', 0.75, 1.25])
        losses = [row['training_loss'] for row in rows[1:]]
        self.assertEqual(losses, [None, None] + [10.0 * i + 0.5 for i in range(2, 12)])
        self.assertGreater(rows[-1]['bytes_up'], 0)
        self.assertGreater(rows[-1]['phases']['compute'], 0)
        with open(run + '/summary.json') as file:
            summary = json.load(file)
        self.assertEqual((summary['iterations'], summary['test_accuracy']), (12, 0.75))
        report = subprocess.run([COMMAND, 'report', run], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(report.returncode, 0, report.stdout)
        with open(run + '/report.html') as file:
            self.assertIn('75.00 %', file.read())

    def test_advise_measures_the_script_and_stops_it(self):
        self.write(self.script, PRELUDE + textwrap.dedent('''
            gs.init()
            gs.DistributedOptimizer(optimizer, model)
            while True:
                step()
        '''))
        found = os.path.join(self.folder.name, 'advice.json')
        advised = subprocess.run(
            [COMMAND, 'advise', self.job, '--bandwidth=1mbit', '--turns=1',
             '--seconds=0', '--workers-here=2', '--json=' + found,
             '--settings=none,none:consistency.local_steps=4', '--', sys.executable,
             self.script],
            cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=120, check=False)
        self.assertEqual(advised.returncode, 0, advised.stdout)
        self.assertIn('An all-reduce of fp32, as DistributedDataParallel', advised.stdout)
        with open(found) as file:
            advice = json.load(file)
        self.assertEqual(advice['num_parameters'], 64 * 65)
        # One of two workers' links carries all bytes each way, of which a
        # megabit has room for 1448 of 1514.
        self.assertAlmostEqual(advice['all_reduce_seconds'],
                               4 * 64 * 65 * 8 / 1e6 * 1514 / 1448)
        every, fourth = [setting['bytes_up_per_iteration']
                         for setting in advice['settings']]
        self.assertGreater(every, 2 * 4 * 64 * 65)
        self.assertAlmostEqual(every / fourth, 4, delta=0.1)

    def test_a_page_that_cannot_be_served_is_an_error(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            address = '127.0.0.1:%d' % taken.getsockname()[1]
            code, out = self.train(TRAIN, options=['--page=' + address])
            self.assertEqual(code, 64, out)
            self.assertIn(address, out)
            code, out = self.train(TRAIN.replace('gs.init', (
                "os.environ['GRADSIEVE_PAGE'] = '%s'; gs.init" % address)))
            self.assertEqual(code, 75, out)
            self.assertIn('cannot serve the page on ' + address, out)

    def test_a_script_of_torch_distributed_runs_as_it_is(self):
        code, out = self.train('''
            import torch.distributed as dist
            if not dist.is_available():
                say('sum 3')
                sys.exit()
            dist.init_process_group('gloo')
            ranks = torch.tensor([dist.get_rank() + 1])
            dist.all_reduce(ranks)
            say('sum %d' % ranks)
        ''')
        self.assertEqual(code, 0, out)
        self.assertEqual(out.count('sum 3'), 2, out)

    def test_the_rank_that_failed_first_is_named(self):
        code, out = self.train(TRAIN + '''
            if gs.rank() == 1:
                raise ValueError('no such file')
            step()
        ''')
        self.assertEqual(code, 1, out)
        self.assertIn('gradsieve train: worker-1 exited with code 1: worker 1: '
                      'ValueError: no such file', out)

    def test_a_wrong_model_is_never_to_be_started_again(self):
        code, out = self.train('''
            gs.init()
            model.half()
            gs.DistributedOptimizer(optimizer, model)
        ''')
        self.assertEqual(code, 78, out)
        self.assertIn('keep float32 parameters', out)

    def test_a_killed_rank_is_to_be_started_again(self):
        code, out = self.train(TRAIN + '''
            if gs.rank() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            step()
        ''')
        self.assertEqual(code, 75, out)
        self.assertIn('worker-1 was killed by signal 9', out)

    def test_a_killed_server_goes_on_if_the_job_has_a_folder_for_it(self):
        kept = os.path.join(self.folder.name, 'kept')
        self.write(self.job, JOB + 'checkpoint { directory: "%s" }' % kept)
        code, out = self.train(TRAIN + '''
            if gs.is_leader():
                for path in glob.glob('/proc/%d/task/*/children' % os.getppid()):
                    for child in open(path).read().split():
                        if open('/proc/%s/comm' % child).read() == 'server\\n':
                            os.kill(int(child), signal.SIGKILL)
            step()
            say('steps %d' % gs.stats()['steps'])
            gs.finish()
        ''', prelude='import glob\n')
        self.assertEqual(code, 0, out)
        self.assertRegex(out, 'server-0 was killed by signal 9.*; it is started again '
                         'and goes on')
        for rank in range(2):
            self.assertIn('[worker-%d] steps 2\n' % rank, out)

    def test_ctrl_c_stops_all(self):
        self.write(self.script, PRELUDE + textwrap.dedent(TRAIN + '''
            say('stepped')
            time.sleep(60)
        '''))
        process = self.start(self.job, '--run-dir=run', '--', sys.executable,
                             self.script)
        for line in process.stdout:
            if 'stepped' in line:
                break
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - start, 6)
        self.assertEqual(process.returncode, 130, out)
        self.assertIn('interrupted; all processes are stopped.', out)


if __name__ == '__main__':
    unittest.main()
