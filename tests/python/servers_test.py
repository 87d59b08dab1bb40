"""Ranks that start the servers of their job themselves."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch
import torch.distributed as dist

from ranks import PRELUDE, end

DISTRIBUTED = '''
            import torch.distributed as dist
            dist.init_process_group('gloo')
'''
# Says the mean of the steps, which differ between ranks, and where the servers are.
TRAIN = '''
            gs.DistributedOptimizer(optimizer, model)
            optimizer.zero_grad()
            (gs.rank() * model.bias[0]).backward()
            optimizer.step()
            say('bias %.4f' % (model.bias[0] - bias))
            say('servers %s' % ' '.join(gs._state.servers.addresses))
            gs.finish()
'''
START = '''
            bias = model.bias[0].item()
            gs.init(fields={'compressor.name': 'none'})
'''


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class ServersTest(unittest.TestCase):

    def start(self, script, ranks=2, **variables):
        self.port = free_port()
        environment = {name: value for name, value in os.environ.items()
                       if name != 'GRADSIEVE_JOB'}
        environment.update(WORLD_SIZE=str(ranks), MASTER_ADDR='127.0.0.1',
                           MASTER_PORT=str(self.port), **variables)
        return [subprocess.Popen(
            [sys.executable, '-c', PRELUDE + textwrap.dedent(script)],
            env=dict(environment, RANK=str(rank)), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True) for rank in range(ranks)]

    def check_trains(self, processes):
        """Returns the addresses of the servers, of which nothing may be left."""
        mean = sum(range(len(processes))) / len(processes)
        for process in processes:
            code, out, err = end(process)
            self.assertEqual(code, 0, err)
            self.assertIn('bias %.4f\n' % (-0.1 * mean), out)
        addresses = re.search('servers (.*)', out).group(1).split()
        for address in addresses:
            if address.startswith('unix:'):
                self.assertFalse(os.path.exists(os.path.dirname(address[5:])))
        return addresses

    def test_by_torch_distributed(self):
        addresses = self.check_trains(self.start(DISTRIBUTED + START + TRAIN))
        self.assertEqual([address[:5] for address in addresses], ['unix:'])

    def test_by_the_store_of_torchrun(self):
        processes = self.start(START + TRAIN, ranks=3,
                               TORCHELASTIC_USE_AGENT_STORE='True')
        store = dist.TCPStore('127.0.0.1', self.port, is_master=True,
                              wait_for_workers=False)
        self.check_trains(processes)
        del store

    def test_by_torchrun(self):
        if int(torch.__version__.split('.')[0]) < 2:
            self.skipTest('torchrun of torch 1.13 does not start on Python 3.11')
        with tempfile.TemporaryDirectory(prefix='gs') as folder:
            script = os.path.join(folder, 'train.py')
            with open(script, 'w') as file:
                file.write(PRELUDE + textwrap.dedent(START + TRAIN))
            process = subprocess.Popen(
                [sys.executable, '-m', 'torch.distributed.run', '--standalone',
                 '--nproc-per-node=2', script], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            code, out, err = end(process)
        self.assertEqual(code, 0, err)
        self.assertEqual(out.count('bias -0.0500\n'), 2, out)

    def test_the_hook_needs_no_job(self):
        for process in self.start(DISTRIBUTED + '''
            net = torch.nn.parallel.DistributedDataParallel(model)
            net.register_comm_hook(gs.HookState(), gs.hook)
            gs.record_loss(0.5)
            net(torch.full((1, 64), dist.get_rank() + 1.0)).sum().backward()
            say('gradient %.2f' % model.weight.grad[0, 0])
            gs.finish()
        '''):
            code, out, err = end(process)
            self.assertEqual(code, 0, err)
            self.assertIn('gradient 1.50\n', out)

    def test_as_many_as_the_job_says(self):
        with tempfile.NamedTemporaryFile('w', suffix='.textproto') as job:
            job.write('name: "mine" model { name: "external" } '
                      'worker_optimizer { name: "external" } '
                      'cluster { num_workers: 2 num_servers: 2 }')
            job.flush()
            processes = self.start(DISTRIBUTED + START.replace(
                'init(', 'init(%r, ' % job.name) + TRAIN)
            self.assertEqual(len(self.check_trains(processes)), 2)

    # Processes of one machine that believe that they are on several.
    HOSTS = '''
            from gradsieve import _servers
            _servers._host = lambda: 'host-%d' % (int(os.environ['RANK']) // 2)
    '''

    def test_one_on_each_host_over_tcp(self):
        addresses = self.check_trains(self.start(
            self.HOSTS + DISTRIBUTED + START.replace(
                '})', ", 'security.mode': 'INSECURE'})") + TRAIN, ranks=4))
        self.assertEqual([address.partition(':')[0] for address in addresses],
                         2 * ['127.0.0.1'])
        self.assertNotEqual(*addresses)

    def test_hosts_need_certificates(self):
        for process in self.start(self.HOSTS + DISTRIBUTED + START + TRAIN, ranks=3):
            code, _, err = end(process)
            self.assertEqual(code, 1)
            self.assertIn('ConfigError: server 0: security.directory is empty', err)

    def test_a_missing_rank_is_named(self):
        processes = self.start('''
            if os.environ['RANK'] == '1':
                time.sleep(60)
        ''' + START.replace('})', ", 'cluster.startup_timeout_seconds': 2})"),
                               TORCHELASTIC_USE_AGENT_STORE='True')
        store = dist.TCPStore('127.0.0.1', self.port, is_master=True,
                              wait_for_workers=False)
        code, _, err = end(processes[0])
        processes[1].kill()
        processes[1].communicate()
        del store
        self.assertEqual(code, 1)
        self.assertIn('StartupTimeout: rank 1 has not called gradsieve.init after '
                      '2 s', err)

    def test_without_a_way_to_hear_of_each_other(self):
        for process in self.start(START):
            code, _, err = end(process)
            self.assertEqual(code, 1)
            self.assertIn('start the script by torchrun', err)


if __name__ == '__main__':
    unittest.main()
