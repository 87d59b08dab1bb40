"""The hook of DistributedDataParallel against its all-reduce."""

import contextlib
import json
import os
import subprocess
import unittest

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradsieve.torch as gs
from ranks import COMMAND, DELTA, EXCHANGE, Job, end

BUCKETS = 'training { bucket_megabytes: 0.001 }'
STEPS = 6

OPTIMIZERS = {
    'sgd': lambda p: torch.optim.SGD(p, lr=0.1),
    'momentum': lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    'adamw': lambda p: torch.optim.AdamW(p, lr=0.01),
}


class Odd(nn.Module):
    """Tied, frozen, scalar and, if wanted, unused parameters, and an LSTM."""

    def __init__(self, unused=False):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.rnn = nn.LSTM(16, 16, batch_first=True)
        self.middle = nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)
        self.frozen = nn.Linear(16, 16)
        if unused:
            self.unused = nn.Linear(3, 5)
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.out = nn.Linear(16, 20, bias=False)
        self.out.weight = self.embedding.weight
        for parameter in self.frozen.parameters():
            parameter.requires_grad_(False)

    def forward(self, tokens):
        x, _ = self.rnn(self.embedding(tokens))
        x = self.norm(self.middle(x))
        return self.out(self.frozen(torch.tanh(x)) * self.scale)


def loss_of(model, rank, step):
    generator = torch.Generator().manual_seed(100 * rank + step)
    tokens = torch.randint(0, 20, (4, 5), generator=generator)
    return nn.functional.cross_entropy(model(tokens).flatten(0, 1),
                                       (tokens + 1).flatten() % 20)


def step_once(model, optimizer, rank, step, how):
    optimizer.zero_grad()
    if 'no_sync' in how:
        with model.no_sync():
            for part in range(how['no_sync']):
                loss_of(model, rank, 1000 * part + step).backward()
    loss_of(model, rank, step).backward()
    if 'clip' in how:
        nn.utils.clip_grad_norm_(model.parameters(), how['clip'])
    optimizer.step()


def begin_group(rank, ranks, folder):
    os.environ['GLOO_SOCKET_IFNAME'] = 'lo'
    dist.init_process_group('gloo', init_method='file://%s/group' % folder,
                            rank=rank, world_size=ranks)


def train(rank, ranks, folder, name, how):
    """Trains with DDP's all-reduce, and with the hook. Returns the weights after
    each step of both, and the statistics."""
    begin_group(rank, ranks, folder)
    if 'cap' in how:
        # Else the first bucket has a megabyte.
        dist._DEFAULT_FIRST_BUCKET_BYTES = 1000
    histories = []
    for hooked in False, True:
        torch.manual_seed(1)
        plain = Odd('unused' in how)
        model = DistributedDataParallel(
            plain, bucket_cap_mb=how.get('cap', 25),
            find_unused_parameters='unused' in how)
        optimizer = OPTIMIZERS[name](plain.parameters())
        if hooked:
            model.register_comm_hook(gs.HookState(), gs.hook)
        history = []
        with model.join() if 'missing' in how else contextlib.nullcontext():
            for step in range(STEPS - rank * how.get('missing', 0)):
                step_once(model, optimizer, rank, step, how)
                history.append({key: value.detach().clone()
                                for key, value in plain.state_dict().items()})
        histories.append(history)
    dist.destroy_process_group()
    return histories, gs.stats()


def largest_difference(histories):
    return max((a[key] - b[key]).abs().max().item()
               for a, b in zip(*histories) for key in a)


class HookTest(unittest.TestCase):

    def train(self, name='adamw', ranks=2, servers=1, more='', **how):
        with Job(ranks, servers, more, mode=EXCHANGE if 'downlink' not in more
                 else '') as job:
            results = job.results(train, ranks, job.folder, name, how)
        for _, stats in results:
            self.assertEqual(stats['steps'], STEPS)
        return results

    def check(self, within=0.0, **how):
        for rank, (histories, _) in enumerate(self.train(**how)):
            self.assertLessEqual(largest_difference(histories), within,
                                 'rank %d, %s' % (rank, how))

    def test_two_ranks_have_the_bits_of_all_reduce(self):
        for name in OPTIMIZERS:
            for servers, more in ((1, ''), (2, BUCKETS)):
                self.check(name=name, servers=servers, more=more)

    def test_unused_layers_and_passes_without_sync_have_these_bits_too(self):
        self.check(unused=True)
        self.check(no_sync=2, clip=0.1, more=BUCKETS)

    def test_ranks_that_join_have_these_bits_too(self):
        self.check(missing=2, more=BUCKETS)
        self.check(missing=STEPS - 1, name='momentum')

    def test_buckets_that_are_rebuilt_have_these_bits_too(self):
        for cap in 0.001, 0.004:
            self.check(cap=cap, name='momentum')
            self.check(cap=cap, more=BUCKETS)

    def test_four_ranks_are_equal_up_to_rounding(self):
        self.check(ranks=4, servers=2, within=1e-6, name='momentum', more=BUCKETS)

    def test_one_rank_has_the_bits_of_plain_torch(self):
        for name in OPTIMIZERS:
            (histories, _), = self.train(name=name, ranks=1)
            torch.manual_seed(1)
            model = Odd()
            optimizer = OPTIMIZERS[name](model.parameters())
            for step in range(STEPS):
                step_once(model, optimizer, 0, step, {})
            for key, value in model.state_dict().items():
                self.assertTrue(torch.equal(value, histories[1][-1][key]), key)

    def test_eight_bits_take_a_quarter_and_stay_close(self):
        code = 'compressor { value_code: "int8_block" }'
        (_, dense), _ = self.train()
        results = self.train(more='%s downlink { mode: MEAN %s }' % (code, code),
                             name='sgd')
        for histories, stats in results:
            self.assertLess(largest_difference(histories), 0.01)
            for key in 'bytes_up', 'bytes_down':
                self.assertLess(stats[key], dense[key] / 3)
        # All ranks have the same weights in any case.
        for a, b in zip(results[0][0][1][-1].values(),
                        results[1][0][1][-1].values()):
            self.assertTrue(torch.equal(a, b))

    def test_with_any_compressor_all_ranks_have_the_same_weights(self):
        listed = json.loads(subprocess.check_output(
            [COMMAND, 'list', 'compressors', '--json']))
        names = [entry['name'] for entry in listed]
        self.assertIn('sidco_e', names)
        for name in names:
            with self.subTest(name):
                results = self.train(
                    name='sgd', steps=3,
                    more='compressor { name: "%s" ratio: 0.1 }' % name)
                for key, value in results[0][0][1][-1].items():
                    self.assertTrue(value.isfinite().all())
                    self.assertTrue(
                        torch.equal(value, results[1][0][1][-1][key]), key)

    def test_two_runs_have_the_same_bits(self):
        more = ('compressor { name: "topk" ratio: 0.1 } downlink { mode: MEAN '
                'compressor { name: "randomk" ratio: 0.2 } }')
        runs = [self.train(more=more)[0][0][1] for _ in range(2)]
        self.assertEqual(largest_difference(runs), 0)

    def test_the_state_joins_at_its_first_use_and_can_be_pickled(self):
        with Job(ranks=1, start_servers=False) as job:
            process = job.script(0, '''
                import pickle
                import torch.distributed as dist
                # No job is named.
                del os.environ['GRADSIEVE_JOB']
                dist.init_process_group(
                    'gloo', init_method='file://%s/group' % os.environ['FOLDER'],
                    rank=0, world_size=1)
                state = pickle.loads(pickle.dumps(gs.HookState()))
                model = torch.nn.parallel.DistributedDataParallel(model)
                model.register_comm_hook(state, gs.hook)
                step()
                pickle.dumps(state)
                with gs.server_weights(model) as same:
                    assert same is model
                say('%d of %d, %d steps' % (gs.rank(), gs.size(),
                                            gs.stats()['steps']))
                gs.finish()
            ''', FOLDER=job.folder, GLOO_SOCKET_IFNAME='lo')
            code, out, err = end(process)
        self.assertEqual((code, out), (0, '0 of 1, 1 steps\n'), err)


class HookErrorsTest(unittest.TestCase):

    def errors(self, function, ranks=1, mode=EXCHANGE):
        with Job(ranks, mode=mode) as job:
            return job.run(function, ranks, job.folder)

    def check(self, error, kind, text):
        # Before torch 2 DDP raises a RuntimeError with an exception's name.
        self.assertTrue(isinstance(error, kind) or
                        kind.__name__ + ': ' in str(error), repr(error))
        self.assertIn(text, str(error))

    def test_a_gradient_that_is_not_finite_is_named(self):
        def spoil(rank, ranks, folder):
            begin_group(rank, ranks, folder)
            model = DistributedDataParallel(nn.Linear(64, 64))
            model.register_comm_hook(gs.HookState(), gs.hook)
            for factor in 1, float('inf') if rank else 1:
                (model(torch.ones(1, 64)).sum() * factor).backward()
        first, second = self.errors(spoil, ranks=2)
        text = 'the gradient of worker 1 is not finite in step 1'
        self.check(second, gs.NotFinite, text)
        self.check(first, gs.JobFailed, text)

    def test_after_an_overflow_on_one_rank_all_skip_the_step(self):
        class Scaler:
            """Scales as torch.amp.GradScaler does, which needs CUDA before torch 2."""

            def get_scale(self):
                return 1024.0

        def scaled(rank, ranks, folder, more):
            begin_group(rank, ranks, folder)
            histories = []
            for hooked in False, True:
                torch.manual_seed(rank)
                plain = Odd()
                model = DistributedDataParallel(plain)
                optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
                if hooked:
                    model.register_comm_hook(gs.HookState(scaler=Scaler()), gs.hook)
                history = []
                for step in range(4):
                    optimizer.zero_grad()
                    factor = float('inf') if step == 2 and rank == 1 else 1024
                    (loss_of(model, rank, step) * factor).backward()
                    gradients = [p.grad for p in plain.parameters()
                                 if p.grad is not None]
                    if all(bool(g.isfinite().all()) for g in gradients):
                        for gradient in gradients:
                            gradient.div_(1024)
                        optimizer.step()
                    elif hooked:
                        assert all(bool(g.isnan().all()) for g in gradients)
                    history.append({key: value.detach().clone()
                                    for key, value in plain.state_dict().items()})
                histories.append(history)
            gs.check_weights(plain)
            dist.destroy_process_group()
            try:
                gs.load_state_dict(gs.state_dict())
            except gs.ConfigError as error:
                assert 'after the first backward pass' in str(error)
            else:
                raise AssertionError('a state that comes too late is ignored')
            return histories, gs.stats()

        for more in '', 'compressor { name: "topk" ratio: 0.1 }':
            with Job(2, 1, more, mode=EXCHANGE) as job:
                results = job.results(scaled, 2, job.folder, more)
            for histories, stats in results:
                # The step that was skipped was not exchanged.
                self.assertEqual(stats['steps'], 3)
                self.assertEqual(largest_difference([histories[1][1:2],
                                                     histories[1][2:3]]), 0.0)
                if not more:
                    self.assertEqual(largest_difference(histories), 0.0)
                    self.assertEqual(stats['residual_norm'], 0.0)

    def test_a_run_that_goes_on_has_the_bits_of_one_that_did_not_stop(self):
        def run(rank, ranks, folder, steps, saved=None):
            begin_group(rank, ranks, folder)
            torch.manual_seed(0)
            plain = Odd()
            optimizer = OPTIMIZERS['adamw'](plain.parameters())
            if saved is not None:
                plain.load_state_dict(saved[0]['model'])
                optimizer.load_state_dict(saved[rank]['optimizer'])
                gs.load_state_dict(saved[rank]['gradsieve'])
            model = DistributedDataParallel(plain)
            model.register_comm_hook(gs.HookState(), gs.hook)
            for step in steps:
                step_once(model, optimizer, rank, step, {})
            dist.destroy_process_group()
            return {'model': plain.state_dict(), 'gradsieve': gs.state_dict(),
                    'optimizer': optimizer.state_dict()}
        more = 'compressor { name: "topk" ratio: 0.1 }'
        saved = None
        for steps in range(3), range(3, 6):
            with Job(2, 1, more, mode=EXCHANGE) as job:
                saved = job.results(run, 2, job.folder, steps, saved)
        with Job(2, 1, more, mode=EXCHANGE) as job:
            for whole, parts in zip(job.results(run, 2, job.folder, range(6)), saved):
                self.assertEqual(largest_difference([[whole['model']],
                                                     [parts['model']]]), 0.0)
                self.assertTrue(torch.equal(whole['gradsieve']['state'],
                                            parts['gradsieve']['state']))

    def test_a_job_of_the_other_mode_is_refused(self):
        def hook(rank, ranks, folder):
            begin_group(rank, ranks, folder)
            model = DistributedDataParallel(nn.Linear(64, 64))
            model.register_comm_hook(gs.HookState(), gs.hook)
            model(torch.ones(1, 64)).sum().backward()

        def optimizer(rank, ranks, folder):
            model = nn.Linear(64, 64)
            gs.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1),
                                    model)
        error, = self.errors(hook, mode=DELTA)
        self.check(error, gs.ConfigError,
                   'hook needs a job with downlink { mode: MEAN }')
        error, = self.errors(optimizer)
        self.check(error, gs.ConfigError, 'the job has downlink.mode MEAN, which is '
                   'for gradsieve.torch.hook')

    def test_gradients_of_other_kinds_are_refused(self):
        def train_one(rank, ranks, folder, model, inputs):
            begin_group(rank, ranks, folder)
            model = DistributedDataParallel(model)
            model.register_comm_hook(gs.HookState(), gs.hook)
            model(inputs).sum().backward()
        def sparse(*where):
            train_one(*where, nn.Embedding(40, 60, sparse=True), torch.tensor([1]))
        def double(*where):
            train_one(*where, nn.Linear(64, 64).double(),
                      torch.ones(1, 64).double())
        error, = self.errors(sparse)
        self.check(error, gs.ConfigError, 'is sparse; it must be dense')
        error, = self.errors(double)
        self.check(error, gs.ConfigError, 'a bucket has gradients of float64')

    def test_the_exit_code_is_that_of_the_error(self):
        with Job(ranks=1) as job:
            code, _, err = end(job.script(0, '''
                import torch.distributed as dist
                dist.init_process_group(
                    'gloo', init_method='file://%s/group' % os.environ['FOLDER'],
                    rank=0, world_size=1)
                model = torch.nn.parallel.DistributedDataParallel(model)
                model.register_comm_hook(gs.HookState(), gs.hook)
                step()
            ''', FOLDER=job.folder, GLOO_SOCKET_IFNAME='lo'))
        self.assertEqual(code, gs.ConfigError.exit_code)
        self.assertIn('ConfigError: gradsieve.torch.hook needs a job with', err)


if __name__ == '__main__':
    unittest.main()
