"""What cannot work is refused, and named."""

import os
import unittest

import torch
from torch import nn

import gradsieve
import gradsieve.torch as gs
from ranks import COMMAND, Job


def join(rank, make_model, make_optimizer):
    model = make_model(rank)
    gs.DistributedOptimizer(make_optimizer(model), model)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def with_parameter(parameter):
    def make(rank):
        model = nn.Linear(40, 60)
        model.extra = nn.Parameter(parameter, requires_grad=True)
        return model
    return make


class RefusalsTest(unittest.TestCase):

    def refused(self, make_model, make_optimizer=sgd, kind=gs.ConfigError):
        with Job(ranks=1) as job:
            error, = job.run(join, make_model, make_optimizer)
        self.assertIsInstance(error, kind)
        return str(error)

    def test_parameters_of_other_types(self):
        for dtype, text in ((torch.bfloat16, 'the parameter extra is bfloat16; keep '
                             'float32 parameters and use autocast'),
                            (torch.float16, 'the parameter extra is float16; keep '
                             'float32'),
                            (torch.float64, 'the parameter extra is float64; it '
                             'must be float32'),
                            (torch.complex64, 'the parameter extra is complex')):
            self.assertIn(text, self.refused(
                with_parameter(torch.zeros(3, dtype=dtype))))
        self.assertIn('the parameter extra is on the device "meta"', self.refused(
            with_parameter(torch.zeros(3, device='meta'))))
        self.assertIn('the parameter weight has no values yet; run one batch first',
                      self.refused(lambda rank: nn.LazyLinear(3)))

    def test_models_that_share_out_parameters_themselves(self):
        class FullyShardedDataParallel(nn.Module):
            """Named as the real one, which needs several processes."""

            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(40, 60)

        self.assertIn('FullyShardedDataParallel cannot be used with '
                      'DistributedOptimizer: it shards',
                      self.refused(lambda rank: FullyShardedDataParallel()))
        self.assertIn('DataParallel cannot be used with DistributedOptimizer: give '
                      'it the plain model (model.module)',
                      self.refused(lambda rank: nn.DataParallel(nn.Linear(40, 60))))

    def test_what_is_no_model_or_optimizer(self):
        self.assertIn('the model is of type list',
                      self.refused(lambda rank: [],
                                   lambda model: sgd(nn.Linear(2, 2))))
        self.assertIn('the optimizer is of type int',
                      self.refused(lambda rank: nn.Linear(40, 60),
                                   lambda model: 3))
        self.assertIn('the model has no parameter with requires_grad',
                      self.refused(lambda rank: nn.Linear(4, 6).requires_grad_(
                          False)))

    def test_an_optimizer_of_another_model(self):
        self.assertIn('the optimizer has a parameter of shape [7, 3] that the model '
                      'does not have',
                      self.refused(lambda rank: nn.Linear(40, 60),
                                   lambda model: sgd(nn.Linear(3, 7))))

    def test_parameters_that_come_later(self):
        def thaw(rank):
            model = nn.Sequential(nn.Linear(40, 60), nn.Linear(60, 40))
            model[0].requires_grad_(False)
            optimizer = gs.DistributedOptimizer(sgd(model), model)
            model[0].weight.requires_grad_(True)
            model(torch.ones(1, 40)).sum().backward()
            optimizer.step()

        def add(rank):
            model = nn.Linear(40, 60)
            optimizer = gs.DistributedOptimizer(sgd(model), model)
            optimizer.add_param_group({'params': [nn.Parameter(torch.ones(9))]})
            optimizer.step()

        for function, text in ((thaw, 'the parameter 0.weight was frozen when '
                                'DistributedOptimizer was called'),
                               (add, 'the optimizer has other parameters than when '
                                'DistributedOptimizer was called, a new one of '
                                'shape [9]')):
            with Job(ranks=1) as job:
                error, = job.run(function)
            self.assertIsInstance(error, gs.ConfigError)
            self.assertIn(text, str(error))

    def test_another_model_in_another_rank(self):
        def swapped(rank):
            layers = [('first', nn.Linear(50, 50)), ('second', nn.Linear(50, 50))]
            if rank == 1:
                layers.reverse()
            model = nn.Sequential()
            for name, layer in layers:
                model.add_module(name, layer)
            return model
        # The rank that is not refused waits as long.
        with Job(startup=10) as job:
            results = job.run(join, swapped, sgd)
        texts = [str(result) for result in results]
        refused = [t for t in texts if 'has another model than worker' in t]
        self.assertTrue(refused, texts)
        self.assertIn('first.weight [50, 50]', refused[0])
        self.assertIn('second.weight [50, 50]', refused[0])

    def test_other_frozen_values_in_another_rank(self):
        def frozen(rank):
            model = nn.Sequential(nn.Linear(40, 60), nn.Linear(60, 3))
            nn.init.constant_(model[1].weight, 1)
            nn.init.constant_(model[1].bias, rank)
            model[1].requires_grad_(False)
            return model
        # The rank that is not refused waits as long.
        with Job(startup=10) as job:
            results = job.run(join, frozen, sgd)
        texts = [str(result) for result in results]
        refused = [t for t in texts if 'has another model than worker' in t]
        self.assertTrue(refused, texts)
        self.assertRegex(refused[0], r'frozen tensor 1: "1\.bias \[3\] float32 '
                         r'[0-9a-f]{16}" there and "1\.bias \[3\] float32 ')
        self.assertNotIn('1.weight', refused[0])

    def test_calls_in_another_order(self):
        def too_early(rank):
            gs.stats()

        def twice(rank):
            model = nn.Linear(40, 60)
            gs.DistributedOptimizer(sgd(model), model)
            gs.DistributedOptimizer(sgd(model), model)

        def init_again(rank):
            gs.init()

        def other_model(rank):
            model = nn.Linear(40, 60)
            gs.DistributedOptimizer(sgd(model), model)
            with gs.server_weights(nn.Linear(40, 60)):
                pass

        def step_within(rank):
            model = nn.Linear(40, 60)
            optimizer = gs.DistributedOptimizer(sgd(model), model)
            with gs.server_weights(model):
                optimizer.step()

        def use_after_finish(rank):
            gs.finish()
            gs.stats()

        for function, text in ((too_early, 'stats needs DistributedOptimizer'),
                               (twice, 'DistributedOptimizer is called twice'),
                               (init_again, 'gradsieve.init is called twice'),
                               (other_model, 'server_weights needs the model of'),
                               (step_within, 'step() is called within'),
                               (use_after_finish, 'stats needs Dist')):
            with self.subTest(function.__name__), Job(ranks=1) as job:
                error, = job.run(function)
                self.assertIsInstance(error, gs.Error)
                self.assertIn(text, str(error))
        self.assertRaisesRegex(gs.ConfigError, 'call gradsieve.init first', gs.rank)

    def init(self, a_job, **arguments):
        """The error of gs.init in a process of its own."""
        variables = arguments.pop('variables', {})
        script = a_job.script(0, 'gs.init(%s)' % ', '.join(
            '%s=%r' % item for item in arguments.items()), **variables)
        _, err = script.communicate(timeout=60)
        # Messages may have several lines; the bridge's own lines follow.
        return script.returncode, err[err.find('gradsieve._errors.'):]

    def test_ranks_and_sizes_that_do_not_fit(self):
        with Job(start_servers=False) as job:
            for arguments, text in (
                    ({'variables': {'WORLD_SIZE': '3'}},
                     'there are 3 ranks (size, or WORLD_SIZE or '
                     'OMPI_COMM_WORLD_SIZE), and the job has cluster.num_workers 2'),
                    ({'size': 4}, 'there are 4 ranks'),
                    ({'rank': 2}, 'the rank is 2; the job has ranks 0 to 1'),
                    ({'variables': {'RANK': 'first'}},
                     'RANK is "first"; must be a number')):
                code, error = self.init(job, **arguments)
                self.assertEqual(code, 78)
                self.assertIn('gradsieve._errors.ConfigError: ' + text, error)

    def test_jobs_that_do_not_fit(self):
        with Job(start_servers=False) as job:
            code, error = self.init(job, fields={'compressor.ratio': 2})
            self.assertEqual(code, 78)
            self.assertIn('compressor.ratio is 2; must be in (0, 1]', error)
            _, error = self.init(job, job='/nowhere.textproto')
            self.assertIn('/nowhere.textproto', error)
            with open(job.path, 'w') as file:
                file.write('model { name: "lenet5" }')
            _, error = self.init(job)
            self.assertIn('model.name is "lenet5"; the job of a program of yours '
                          'needs model { name: "external" }', error)
            with open(job.path, 'w') as file:
                file.write('model { name: "external" } '
                           'worker_optimizer { name: "external" }')
            _, error = self.init(job)
            self.assertIn('nothing says where the servers of the job are', error)

    def test_programs_that_are_not_there(self):
        with Job(start_servers=False) as job:
            _, error = self.init(job, variables={
                'GRADSIEVE_BRIDGE': '/nowhere/bridge', 'PATH': '/usr/bin'})
            if 'the program bridge is neither' not in error:
                self.skipTest('this tree has a built bridge')
            self.assertIn('/nowhere/bridge', error)

    def test_the_package_has_the_version_of_the_programs(self):
        self.assertIn(' %s' % gradsieve.__version__,
                      os.popen(COMMAND + ' --version').read())


if __name__ == '__main__':
    unittest.main()
