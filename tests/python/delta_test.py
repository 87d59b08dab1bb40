"""Delta mode against plain PyTorch."""

import copy
import json
import os
import signal
import subprocess
import tempfile
import unittest
import warnings

import torch
from torch import nn

import gradsieve.torch as gs
from ranks import BEHIND, COMMAND, Job

SGD = lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)
BUCKETS = 'training { bucket_megabytes: 0.0005 }'
ADAMW = lambda p: torch.optim.AdamW(p, lr=0.01)
# SparseLoCo, with answers that come while a rank goes on.
SPARSE_LOCO = '''
consistency { local_steps: 4 answer_delay: 1 answer_weight: 0.75 }
compressor {
  name: "chunk_topk" ratio: 0.0625 chunk_topk { chunk_elements: 64 }
  value_code: "two_bit_bins" feedback_decay: 0.95
}
'''


class Odd(nn.Module):
    """Tied, unused, frozen, scalar and empty parameters, and batch
    normalisation."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        # A bias before a normalisation has a gradient of rounding errors.
        self.middle = nn.Linear(16, 16, bias=False)
        self.norm = nn.BatchNorm1d(16)
        self.frozen = nn.Linear(16, 16)
        self.unused = nn.Linear(3, 5)
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.empty = nn.Parameter(torch.zeros(0, 4))
        self.out = nn.Linear(16, 20, bias=False)
        self.out.weight = self.embedding.weight
        for parameter in self.frozen.parameters():
            parameter.requires_grad_(False)
            # The same on all ranks.
            parameter.uniform_(-0.25, 0.25, generator=torch.Generator().manual_seed(
                parameter.numel()))

    def forward(self, tokens):
        x = self.norm(self.middle(self.embedding(tokens)))
        return self.out(self.frozen(torch.tanh(x)) * self.scale)


def make(seed):
    torch.manual_seed(seed)
    return Odd()


def tokens_of(rank, step):
    generator = torch.Generator().manual_seed(100 * rank + step)
    return torch.randint(0, 20, (8,), generator=generator)


def loss_of(model, tokens):
    return nn.functional.cross_entropy(model(tokens), (tokens + 1) % 20)


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def plain_step(model, optimizer, rank, step, **how):
    optimizer.zero_grad()
    for part in range(how.get('accumulate', 1)):
        loss_of(model, tokens_of(rank, step + 1000 * part)).backward()
    if 'clip' in how:
        nn.utils.clip_grad_norm_(model.parameters(), how['clip'])
    optimizer.step()


def train(rank, new_optimizer, steps, how=None):
    """Returns the weights before, after each step, and at the servers."""
    # Those of rank 0 count.
    model = make(seed=rank)
    frozen = copy.deepcopy(model.frozen.state_dict())
    optimizer = new_optimizer(model.parameters())
    wrapped = gs.DistributedOptimizer(optimizer, model)
    assert wrapped is optimizer
    history = [weights(model)]
    for step in range(steps):
        plain_step(model, optimizer, rank, step, **(how or {}))
        history.append(weights(model))
    with gs.server_weights(model) as same:
        assert same is model
        servers = weights(model)
    for name, value in weights(model).items():
        assert torch.equal(value, history[-1][name]), name
    for name, value in model.frozen.state_dict().items():
        assert torch.equal(value, frozen[name]), name
    return history, servers, gs.stats()


def largest_difference(a, b, skip=('frozen',)):
    return max((a[name].float() - b[name].float()).abs().max().item() for name in a
               if a[name].numel() > 0 and not name.startswith(skip))


class DeltaTest(unittest.TestCase):

    def test_all_ranks_begin_with_the_weights_of_rank_0(self):
        with Job() as job:
            results = job.results(train, SGD, 0)
        first = weights(make(seed=0))
        for history, servers, stats in results:
            self.assertEqual(largest_difference(history[0], first), 0)
            self.assertEqual(largest_difference(servers, first), 0)
            self.assertEqual(stats['steps'], 0)

    def check_one_rank(self, new_optimizer, how=None, more='', pushes=15):
        with Job(ranks=1, more=more) as job:
            (history, _, stats), = job.results(train, new_optimizer, 15, how)
        model = make(seed=0)
        optimizer = new_optimizer(model.parameters())
        for step in range(15):
            plain_step(model, optimizer, 0, step, **(how or {}))
        self.assertLess(largest_difference(history[-1], weights(model)), 1e-6)
        self.assertEqual(stats["steps"], pushes)
        return stats

    def test_one_rank_is_plain_torch(self):
        for new_optimizer in SGD, ADAMW:
            self.check_one_rank(new_optimizer)

    def test_gradients_are_accumulated_and_clipped_as_without(self):
        self.check_one_rank(ADAMW, {'accumulate': 3, 'clip': 0.1})

    def test_parameter_groups_keep_their_rates(self):
        def groups(parameters):
            parameters = list(parameters)
            return torch.optim.SGD([{'params': parameters[:3], 'lr': 0.01},
                                    {'params': parameters[3:]}], lr=0.1)
        self.check_one_rank(groups)

    def test_an_optimizer_with_a_closure_is_plain_torch(self):
        def train_with_closure(rank, wrap):
            model = make(seed=0)
            optimizer = torch.optim.LBFGS(
                [p for p in model.parameters() if p.requires_grad], max_iter=3)
            if wrap:
                gs.DistributedOptimizer(optimizer, model)
            def closure():
                optimizer.zero_grad()
                loss = loss_of(model, tokens_of(rank, 0))
                loss.backward()
                return loss
            for _ in range(3):
                loss = optimizer.step(closure)
                assert torch.is_tensor(loss)
            return weights(model)
        with Job(ranks=1) as job:
            result, = job.results(train_with_closure, True)
        self.assertLess(largest_difference(result, train_with_closure(0, False)),
                        1e-5)

    def test_a_gan_whose_last_optimizer_exchanges_is_plain_torch(self):
        def train_gan(rank, wrap):
            torch.manual_seed(0)
            model = nn.ModuleDict({'generator': nn.Linear(16, 64),
                                   'critic': nn.Linear(64, 32)})
            generator, critic = [SGD(net.parameters()) for net in model.values()]
            if wrap:
                gs.DistributedOptimizer(generator, model)
            for _ in range(5):
                made = model['generator'](torch.randn(8, 16))
                critic.zero_grad()
                model['critic'](made.detach()).pow(2).mean().backward()
                (1 - model['critic'](torch.ones(8, 64))).pow(2).mean().backward()
                critic.step()
                generator.zero_grad()
                (1 - model['critic'](made)).pow(2).mean().backward()
                generator.step()
            return weights(model), wrap and gs.stats()['steps']
        with Job(ranks=1) as job:
            (result, steps), = job.results(train_gan, True)
        self.assertEqual(steps, 5)
        self.assertLess(largest_difference(result, train_gan(0, False)[0]), 1e-6)

    def test_ranks_with_the_same_data_are_one_rank(self):
        def same(rank):
            model = make(seed=rank)
            optimizer = gs.DistributedOptimizer(SGD(model.parameters()), model)
            for step in range(5):
                plain_step(model, optimizer, 0, step)
            return weights(model)
        for ranks in 1, 3:
            with Job(ranks) as job:
                results = job.results(same)
            model = make(seed=0)
            optimizer = SGD(model.parameters())
            for step in range(5):
                plain_step(model, optimizer, 0, step)
            for result in results:
                self.assertLess(largest_difference(result, weights(model)), 1e-5)

    def check_mean_of_steps(self, new_optimizer, ranks, servers, more=''):
        """The ranks' weights, in the mean, move by the mean of the steps."""
        with Job(ranks, servers, more) as job:
            results = job.results(train, new_optimizer, 10)
        models = [make(seed=rank) for rank in range(ranks)]
        optimizers = [new_optimizer(m.parameters()) for m in models]
        for step in range(10):
            for rank, (model, optimizer) in enumerate(zip(models, optimizers)):
                # The ranks' own weights before the step.
                with torch.no_grad():
                    for name, p in model.named_parameters():
                        if p.requires_grad:
                            p.copy_(results[rank][0][step][name])
                plain_step(model, optimizer, rank, step)
            moved = [weights(model) for model in models]
            for name in moved[0]:
                if name.startswith('frozen') or moved[0][name].numel() == 0:
                    continue
                expected = sum(m[name].double() for m in moved) / ranks
                mean = sum(r[0][step + 1][name].double() for r in results) / ranks
                self.assertLess((mean - expected).abs().max().item(), 1e-6,
                                '%s after step %d' % (name, step))
        return results

    def test_without_compression_all_ranks_take_the_mean_of_the_steps(self):
        for new_optimizer in SGD, ADAMW:
            # Small buckets make slices for two servers.
            for ranks, servers, more in ((2, 1, ''), (3, 2, BUCKETS)):
                results = self.check_mean_of_steps(new_optimizer, ranks, servers,
                                                   more)
                for history, at_servers, _ in results:
                    self.assertEqual(
                        largest_difference(at_servers, results[0][1]), 0)
                    self.assertLess(
                        largest_difference(history[-1], at_servers), 1e-6)

    def test_with_compression_the_mean_of_the_weights_moves_as_far(self):
        results = self.check_mean_of_steps(
            SGD, 2, 1, 'compressor { name: "topk" ratio: 0.05 }')
        # And what is at the servers is the same for all.
        self.assertEqual(largest_difference(results[0][1], results[1][1]), 0)
        for history, servers, stats in results:
            squares = sum((history[-1][name] - servers[name]).double().pow(2).sum()
                          for name in servers if not name.startswith('frozen'))
            self.assertAlmostEqual(stats['residual_norm'], squares.sqrt().item(),
                                   places=4)
            self.assertGreater(stats['residual_norm'], 0)
            self.assertGreater(stats['bytes_up'], 0)

    def test_every_compressor_keeps_what_it_does_not_send(self):
        listed = json.loads(subprocess.check_output(
            [COMMAND, 'list', 'compressors', '--json']))
        names = [entry['name'] for entry in listed]
        self.assertIn('sidco_e', names)
        for name in names:
            more = 'compressor { name: "%s" ratio: 0.1 }' % name
            with self.subTest(name):
                # What lgc decodes at the servers is an approximation.
                if name != 'lgc':
                    self.check_one_rank(SGD, more=more)
                    continue
                with Job(ranks=1, more=more) as job:
                    (history, _, stats), = job.results(train, SGD, 5)
                self.assertEqual(stats['steps'], 5)
                self.assertTrue(all(p.isfinite().all()
                                    for p in history[-1].values()))

    def test_ranks_that_do_not_wait_end_with_the_same_weights(self):
        def drift(rank, steps):
            model = make(seed=rank)
            optimizer = gs.DistributedOptimizer(ADAMW(model.parameters()), model)
            for step in range(steps):
                plain_step(model, optimizer, rank, step)
            return lambda: weights(model)
        for mode in 'STALE_SYNCHRONOUS', 'ASYNCHRONOUS':
            more = 'consistency { mode: %s } ' % mode
            self.check_one_rank(ADAMW, more=more)
            for codec in '', 'compressor { name: "topk" ratio: 0.1 }':
                with Job(ranks=3, servers=2, more=more + BUCKETS + codec) as job:
                    results = job.results(drift, 8)
                for result in results:
                    self.assertEqual(largest_difference(result, results[0]), 0)
                self.assertGreater(
                    largest_difference(results[0], weights(make(seed=0))), 0.01)

    def check_local_steps(self, delay, weight, more):
        """Every 5 steps are exchanged, and `delay` steps later each rank goes on
        with this share of the mean."""
        with Job(more='consistency { local_steps: 5 %s }' % more) as job:
            results = job.results(train, SGD, 12)
        models = [make(seed=0) for rank in range(2)]
        optimizers = [SGD(model.parameters()) for model in models]
        servers = {}
        for step in range(12):
            for rank, model in enumerate(models):
                plain_step(model, optimizers[rank], rank, step)
            if step % 5 == 4:
                a, b = [weights(model) for model in models]
                servers = {name: (a[name] + b[name]) / 2 for name in a}
            if servers and step % 5 == (4 + delay) % 5:
                for model in models:
                    for name, p in model.named_parameters():
                        with torch.no_grad():
                            p.lerp_(servers[name], weight)
        for model, (history, at_servers, stats) in zip(models, results):
            self.assertEqual(stats['steps'], 2)
            self.assertLess(largest_difference(history[-1], weights(model)), 1e-5)
            self.assertLess(largest_difference(at_servers, servers), 1e-5)

    def test_local_steps_are_exchanged_together(self):
        self.check_one_rank(ADAMW, more='consistency { local_steps: 5 }', pushes=3)
        self.check_local_steps(delay=0, weight=1, more='')

    def test_answers_may_be_used_some_steps_later(self):
        self.check_local_steps(delay=2, weight=0.75,
                               more='answer_delay: 2 answer_weight: 0.75')

    def check_stagger(self, steps, delay=0, weight=1):
        """Each bucket is exchanged every so many steps, in its own step."""
        def staggered(rank):
            model = make(seed=rank)
            optimizer = SGD(model.parameters())
            gs.DistributedOptimizer(optimizer, model, stagger=True)
            exchange, pushes = gs._state.exchange, []
            names = [[exchange._trained[i][0] for i in bucket]
                     for bucket in exchange._buckets]
            tell = exchange._session.tell

            def note(op, a=0, text=''):
                pushes.append((step, a))
                tell(op, a, text)
            exchange._session.tell = note
            for step in range(1, 3 * steps + 3):
                plain_step(model, optimizer, rank, step)
            own = weights(model)
            with gs.server_weights(model):
                return own, weights(model), names, pushes, gs.stats()['steps']
        more = 'consistency { local_steps: %d ' % steps
        if delay:
            more += 'answer_delay: %d answer_weight: %g ' % (delay, weight)
        with Job(servers=2, more=more + '}' + BUCKETS) as job:
            results = job.results(staggered)
        names = results[0][2]
        self.assertGreater(len(names), 2)
        due = [(bucket + 1) * steps // len(names) for bucket in range(len(names))]
        models = [make(seed=0) for _ in results]
        optimizers = [SGD(model.parameters()) for model in models]
        parameters = [dict(model.named_parameters()) for model in models]
        servers, answers = weights(models[0]), {}
        for step in range(1, 3 * steps + 3):
            for rank, model in enumerate(models):
                plain_step(model, optimizers[rank], rank, step)
            for bucket, first in enumerate(due):
                if step >= first and (step - first) % steps == 0:
                    for name in names[bucket]:
                        servers[name] = (parameters[0][name] +
                                         parameters[1][name]).detach() / 2
                    answers[step + delay] = names[bucket]
            with torch.no_grad():
                for name in answers.pop(step, []):
                    for own in parameters:
                        own[name].lerp_(servers[name], weight)
        for model, (own, at_servers, _, pushes, rounds) in zip(models, results):
            self.assertEqual(sorted(pushes), sorted(
                (first + steps * i, bucket) for bucket, first in enumerate(due)
                for i in range(4) if first + steps * i < 3 * steps + 3))
            self.assertEqual(rounds, 3)
            self.assertLess(largest_difference(own, weights(model)), 1e-5)
            self.assertLess(largest_difference(at_servers, servers), 1e-5)

    def test_buckets_take_turns(self):
        # As many steps as buckets and more, which they may not divide.
        for steps in 4, 8, 11:
            self.check_stagger(steps)
        self.check_stagger(8, delay=2, weight=0.75)
        self.check_stagger(11, delay=1, weight=0.5)

    def test_one_bucket_that_takes_turns_has_the_same_bits(self):
        def run(rank, stagger):
            model = make(seed=0)
            optimizer = ADAMW(model.parameters())
            gs.DistributedOptimizer(optimizer, model, stagger=stagger)
            for step in range(8):
                plain_step(model, optimizer, rank, step)
            own = weights(model)
            with gs.server_weights(model):
                return own, weights(model), gs.stats()
        runs = []
        for stagger in False, True:
            with Job(more=SPARSE_LOCO, mode=BEHIND) as job:
                runs.append(job.results(run, stagger))
        for a, b in zip(*runs):
            for plain, staggered in zip(a[:2], b[:2]):
                self.assertEqual(largest_difference(plain, staggered), 0)
            for name in 'steps', 'bytes_up', 'bytes_down', 'residual_norm':
                self.assertEqual(a[2][name], b[2][name], name)

    def test_turns_that_a_job_does_not_allow(self):
        def run(rank, stagger):
            model = make(seed=0)
            gs.DistributedOptimizer(SGD(model.parameters()), model,
                                    stagger=stagger[rank])
        for more, text in (
                ('local_steps: 2', 'buckets that take turns (stagger), and '
                 'consistency.local_steps is 2; must be at least as many'),
                ('local_steps: 8 answer_delay: 7', 'consistency.answer_delay is 7; '
                 'must be at most '),
                ('mode: ASYNCHRONOUS', 'buckets take turns (stagger), and '
                 'consistency.mode is ASYNCHRONOUS; must be SYNCHRONOUS')):
            with Job(ranks=1, more='consistency { %s }' % more + BUCKETS) as job:
                error, = job.run(run, [True])
            self.assertIsInstance(error, gs.ConfigError)
            self.assertIn(text, str(error))
        with Job(more='consistency { local_steps: 8 }' + BUCKETS) as job:
            errors = job.run(run, [True, False])
        self.assertTrue(any('buckets of a push' in str(error) for error in errors),
                        errors)

    def test_ranks_whose_buckets_take_turns_may_follow(self):
        def run(rank):
            model = make(seed=0)
            optimizer = SGD(model.parameters())
            gs.DistributedOptimizer(optimizer, model, stagger=True)
            with gs.join():
                for step in range(9 + 10 * rank):
                    plain_step(model, optimizer, rank, step)
            with gs.server_weights(model):
                return weights(model)
        with Job(more='consistency { local_steps: 6 }' + BUCKETS) as job:
            results = job.results(run)
        self.assertEqual(largest_difference(*results), 0)

    def test_what_needs_the_answer_has_it_at_once(self):
        def run(rank):
            model = make(seed=0)
            optimizer = SGD(model.parameters())
            gs.DistributedOptimizer(optimizer, model)
            for step in range(5):
                plain_step(model, optimizer, rank, step)
            own = weights(model)
            mean = gs.average({'rank': rank})['rank']
            return own, weights(model), mean
        more = 'consistency { local_steps: 5 answer_delay: 3 }'
        with Job(more=more) as job:
            results = job.results(run)
        servers = {name: (value + results[1][0][name]) / 2
                   for name, value in results[0][0].items()}
        for own, then, mean in results:
            self.assertEqual(mean, 0.5)
            half = {name: (value + servers[name]) / 2 for name, value in own.items()}
            self.assertLess(largest_difference(then, half), 1e-5)

    def test_ranks_that_join_take_different_numbers_of_steps(self):
        def uneven(rank, how_many):
            model = make(seed=rank)
            optimizer = gs.DistributedOptimizer(SGD(model.parameters()), model)
            history = []
            with gs.join():
                for step in range(how_many[rank]):
                    plain_step(model, optimizer, rank, step)
                    history.append(weights(model))
            with gs.server_weights(model):
                return history, weights(model), gs.stats()['steps']
        for how_many in (3, 7, 5), (4, 4, 4), (0, 2, 0):
            with Job(ranks=3, servers=2, more=BUCKETS) as job:
                results = job.results(uneven, how_many)
            mean = make(seed=0)
            models = [make(seed=0) for _ in results]
            optimizers = [SGD(model.parameters()) for model in models]
            for step in range(max(how_many)):
                for rank, model in enumerate(models):
                    model.load_state_dict(mean.state_dict())
                    if step < how_many[rank]:
                        plain_step(model, optimizers[rank], rank, step)
                with torch.no_grad():
                    for p, *parts in zip(mean.parameters(),
                                         *[m.parameters() for m in models]):
                        p.copy_(sum(parts) / len(parts))
                for rank, (history, _, _) in enumerate(results):
                    if step < how_many[rank]:
                        self.assertLess(largest_difference(
                            history[step], weights(mean)), 1e-5)
            for _, servers, steps in results:
                self.assertEqual(steps, max(how_many))
                self.assertLess(largest_difference(servers, weights(mean)), 1e-5)

    def test_what_was_not_sent_is_sent_while_a_rank_follows(self):
        def uneven(rank):
            model = make(seed=0)
            optimizer = gs.DistributedOptimizer(SGD(model.parameters()), model)
            with gs.join():
                for step in range(2 + 30 * rank):
                    plain_step(model, optimizer, rank, step)
                before = gs.stats()['residual_norm']
            return before, gs.stats()['residual_norm']
        with Job(more='compressor { name: "topk" ratio: 0.2 }') as job:
            (before, after), _ = job.results(uneven)
        self.assertGreater(before, 0)
        self.assertEqual(after, 0)

    def test_exchanges_are_weighed_by_samples(self):
        # At each of two steps that are exchanged together.
        counts = [(3, 4), (1, 0)]

        def count(rank):
            model = make(seed=0)
            optimizer = gs.DistributedOptimizer(SGD(model.parameters()), model)
            for step in range(6):
                if counts[rank][step % 2]:
                    gs.count_samples(counts[rank][step % 2])
                plain_step(model, optimizer, rank, step)
            return weights(model)
        with Job(more='consistency { local_steps: 2 }' + BUCKETS) as job:
            results = job.results(count)
        models = [make(seed=0) for _ in results]
        optimizers = [SGD(model.parameters()) for model in models]
        for step in range(6):
            for rank, model in enumerate(models):
                plain_step(model, optimizers[rank], rank, step)
            if step % 2 == 1:
                with torch.no_grad():
                    for a, b in zip(*[model.parameters() for model in models]):
                        a.copy_((7 * a + b) / 8)
                        b.copy_(a)
        for result in results:
            self.assertLess(largest_difference(result, weights(models[0])), 1e-5)

    def test_equal_samples_have_the_bits_of_none(self):
        def count(rank, samples):
            model = make(seed=0)
            optimizer = gs.DistributedOptimizer(ADAMW(model.parameters()), model)
            for step in range(4):
                if samples:
                    gs.count_samples(samples)
                plain_step(model, optimizer, rank, step)
            return weights(model)
        runs = []
        for samples in 0, 1, 96:
            with Job(ranks=3, more='compressor { name: "topk" ratio: 0.1 }') as job:
                runs.append(job.results(count, samples))
        for run in runs[1:]:
            for a, b in zip(runs[0], run):
                self.assertEqual(largest_difference(a, b), 0)

    def test_samples_that_weigh_nothing_are_errors(self):
        def wrong(rank, samples):
            model = make(seed=0)
            gs.DistributedOptimizer(SGD(model.parameters()), model)
            gs.count_samples(samples)
        for samples in 0, -1, 2.0, float('nan'), 1 << 41, None:
            with Job(ranks=1) as job:
                error, = job.run(wrong, samples)
            self.assertIsInstance(error, gs.ConfigError)
            self.assertIn('count_samples gets %r; must be a whole number from 1 to '
                          '1099511627776' % samples, str(error))

    def test_samples_that_only_some_count_are_an_error(self):
        def some(rank, which):
            model = make(seed=0)
            optimizer = gs.DistributedOptimizer(SGD(model.parameters()), model)
            for step in range(2):
                if (rank, step) in which:
                    gs.count_samples(5)
                plain_step(model, optimizer, rank, step)
        with Job() as job:
            for error in job.run(some, [(0, 0)]):
                self.assertIsInstance(error, gs.Error)
                self.assertIn('worker 0 tells that its push 0 is from 5 samples, and '
                              'worker 1 tells none', str(error))
        with Job(ranks=1) as job:
            error, = job.run(some, [(0, 0)])
            self.assertIn('count_samples was called before an earlier exchange, and '
                          'not before this one', str(error))
        with Job(ranks=1, more='consistency { mode: ASYNCHRONOUS }') as job:
            error, = job.run(some, [(0, 0)])
            self.assertIsInstance(error, gs.ConfigError)
            self.assertIn('consistency.mode is ASYNCHRONOUS; must be SYNCHRONOUS',
                          str(error))

    def test_samples_cannot_be_counted_while_ranks_follow(self):
        def follow(rank):
            model = make(seed=0)
            gs.DistributedOptimizer(SGD(model.parameters()), model)
            with gs.join():
                gs.count_samples(5)
        with Job(ranks=1) as job:
            error, = job.run(follow)
        self.assertIsInstance(error, gs.ConfigError)
        self.assertIn('count_samples cannot be used within join', str(error))

    def test_join_without_an_optimizer(self):
        def early(rank):
            with gs.join():
                pass
        with Job(ranks=1) as job:
            error, = job.run(early)
        self.assertIsInstance(error, gs.ConfigError)
        self.assertIn('join needs DistributedOptimizer first', str(error))

    def test_several_buckets_change_nothing(self):
        self.check_one_rank(SGD, more=BUCKETS)

    def test_two_runs_have_the_same_bits(self):
        runs = []
        for _ in range(2):
            with Job(more='compressor { name: "sidco_e" ratio: 0.05 }') as job:
                runs.append(job.results(train, ADAMW, 8))
        for first, second in zip(*runs):
            self.assertEqual(largest_difference(first[0][-1], second[0][-1]), 0)

    def test_numbers_and_buffers_are_averaged(self):
        def average(rank):
            model = nn.Sequential(nn.Linear(64, 800), nn.BatchNorm1d(800))
            optimizer = gs.DistributedOptimizer(SGD(model.parameters()), model)
            inputs = torch.randn(8, 64) + rank
            for _ in range(2):
                optimizer.zero_grad()
                loss = model(inputs).pow(2).sum()
                with warnings.catch_warnings():
                    warnings.simplefilter('error')
                    gs.record_loss(loss)
                loss.backward()
                optimizer.step()
            before = copy.deepcopy(model[1].state_dict())
            gs.average_buffers(model)
            means = gs.average({'loss': torch.tensor([1.5 + rank]), 'rank': rank})
            model.eval()
            evaluated = [model(torch.ones(1, 64)).detach()]
            with gs.server_weights(model):
                evaluated.append(model(torch.ones(1, 64)).detach())
            return before, model[1].state_dict(), means, evaluated
        with Job(more='compressor { name: "topk" ratio: 0.1 }') as job:
            results = job.results(average)
        (own, same), (other_own, other_same) = [r[3] for r in results]
        self.assertTrue(torch.equal(same, other_same))
        self.assertFalse(torch.equal(own, other_own))
        for _, after, means, _ in results:
            self.assertEqual(means, {'loss': 2.0, 'rank': 0.5})
            self.assertEqual(after['num_batches_tracked'], 2)
            for name in 'running_mean', 'running_var':
                expected = (results[0][0][name] + results[1][0][name]) / 2
                self.assertTrue(torch.equal(after[name], expected), name)
                self.assertFalse(torch.equal(after[name], results[0][0][name]))

    def test_a_run_that_goes_on_has_the_bits_of_one_that_did_not_stop(self):
        def run(rank, steps, saved=None):
            model = make(seed=rank)
            optimizer = ADAMW(model.parameters())
            if saved is not None:
                model.load_state_dict(saved[0]['model'])
            # Before or after it: the same.
            early = saved is not None and rank == 0
            if early:
                gs.load_state_dict(saved[rank]['gradsieve'])
            gs.DistributedOptimizer(optimizer, model)
            if saved is not None:
                optimizer.load_state_dict(saved[rank]['optimizer'])
                if not early:
                    gs.load_state_dict(saved[rank]['gradsieve'])
            for step in steps:
                plain_step(model, optimizer, rank, step)
            own = weights(model)
            with gs.server_weights(model):
                return own, {'model': copy.deepcopy(model.state_dict()),
                             'optimizer': copy.deepcopy(optimizer.state_dict()),
                             'gradsieve': gs.state_dict()}
        more = 'compressor { name: "sidco_e" ratio: 0.05 }'
        saved = None
        for steps in range(5), range(5, 8):
            with Job(more=more) as job:
                results = job.results(run, steps, saved)
            saved = [state for _, state in results]
        with Job(more=more) as job:
            for whole, parts in zip(job.results(run, range(8)), results):
                self.assertEqual(largest_difference(whole[0], parts[0]), 0.0)
                self.assertEqual(
                    largest_difference(whole[1]['gradsieve'],
                                       parts[1]['gradsieve']), 0)

    def test_a_killed_run_that_goes_on_has_the_bits_of_one_that_was_not(self):
        def run(rank, stagger, folder, steps, save_after, killed):
            model = make(seed=0)
            optimizer = ADAMW(model.parameters())
            begins = steps[0] == 0
            if not begins:
                saved = [torch.load('%s/%d.pt' % (folder, r)) for r in range(2)]
                model.load_state_dict(saved[0]['model'])
                # Before or after it: the same.
                if rank == 0:
                    gs.load_state_dict(saved[rank]['gradsieve'])
            gs.DistributedOptimizer(optimizer, model, stagger=stagger)
            if not begins:
                optimizer.load_state_dict(saved[rank]['optimizer'])
                if rank == 1:
                    gs.load_state_dict(saved[rank]['gradsieve'])
            for step in steps:
                plain_step(model, optimizer, rank, step)
                if step == save_after:
                    with gs.server_weights(model):
                        state = {'model': model.state_dict(),
                                 'optimizer': optimizer.state_dict(),
                                 'gradsieve': gs.state_dict()}
                        torch.save(state, '%s/%d.pt' % (folder, rank))
            if rank == killed:
                os.kill(os.getpid(), signal.SIGKILL)
            own = weights(model)
            with gs.server_weights(model):
                return own, weights(model), gs.state_dict()
        # At an exchange whose answer is not used yet, and between two.
        for stagger, last in ((False, 6), (False, 7), (False, 8), (True, 6), (True, 7),
                              (True, 8)):
            with tempfile.TemporaryDirectory() as folder:
                def go(steps, killed=None):
                    with Job(servers=2, more=SPARSE_LOCO + BUCKETS,
                             mode=BEHIND) as job:
                        results = job.run if killed else job.results
                        return results(run, stagger, folder, steps, last, killed)
                whole = go(range(14))
                failed = go(range(last + 3), killed=1)
                self.assertIsInstance(failed[0], gs.JobFailed)
                self.assertIsInstance(failed[1], EOFError)
                parts = go(range(last + 1, 14))
            for (a, a_servers, a_state), (b, b_servers, b_state) in zip(whole, parts):
                self.assertEqual(largest_difference(a, b), 0)
                self.assertEqual(largest_difference(a_servers, b_servers), 0)
                self.assertEqual(largest_difference(a_state, b_state), 0)
            self.assertGreater(largest_difference(whole[0][0], whole[0][1]), 0)

    def test_servers_that_are_killed_go_on_with_the_same_bits(self):
        def run(rank, servers, stagger):
            model = make(seed=0)
            optimizer = SGD(model.parameters())
            gs.DistributedOptimizer(optimizer, model, stagger=stagger)
            for step in range(14):
                plain_step(model, optimizer, rank, step)
                # With a push under way, and between two.
                if rank == 0 and step in servers:
                    os.kill(servers[step], signal.SIGKILL)
            own = weights(model)
            with gs.server_weights(model):
                return own, weights(model), gs.state_dict(), gs.stats()['bytes_up']
        outer = 'optimizer { name: "nesterov" learning_rate: 0.7 momentum: 0.9 }'
        log = 'checkpoint { directory: "FOLDER" }'
        more = SPARSE_LOCO + BUCKETS + outer + log
        for stagger in False, True:
            runs = []
            for kills in (), (7, 9):
                with Job(servers=2, more=more, mode=BEHIND, lost_server=60) as job:
                    job.start_again_when_killed()
                    runs.append(job.results(run, {
                        step: server.pid for step, server in zip(kills, job.servers)},
                                            stagger))
                    for index in range(2):
                        with open(job.log_of(index)) as text:
                            self.assertEqual('goes on from' in text.read(), bool(kills))
            for a, b in zip(*runs):
                for undisturbed, killed in zip(a[:3], b[:3]):
                    self.assertEqual(largest_difference(undisturbed, killed), 0)
                self.assertEqual(a[3], b[3])

    def test_a_rank_may_leave_out_a_step(self):
        def skip(rank):
            model = make(seed=0)
            first = copy.deepcopy(model)
            gs.DistributedOptimizer(SGD(model.parameters()), model,
                                    exchange_on_step=False)
            if rank == 0:  # As a GradScaler whose gradient has overflowed.
                optimizer = SGD(model.parameters())
                plain_step(model, optimizer, rank, 0)
            gs.exchange()
            with gs.server_weights(model):
                gs.check_weights(model)
            return first.state_dict(), model.state_dict(), gs.stats()['steps']

        def alone(rank):
            model = make(seed=0)
            gs.DistributedOptimizer(SGD(model.parameters()), model)
            gs.exchange()
        with Job() as job:
            for first, last, steps in job.results(skip):
                self.assertEqual(steps, 1)
                self.assertGreater(largest_difference(first, last), 0)
        with Job(ranks=1) as job:
            error, = job.run(alone)
            self.assertIsInstance(error, gs.ConfigError)
            self.assertIn('exchange_on_step=False first', str(error))

    def test_a_rank_that_has_other_weights_is_named(self):
        def spoil(rank):
            model = make(seed=0)
            gs.DistributedOptimizer(SGD(model.parameters()), model)
            gs.check_weights(model)
            if rank == 2:
                with torch.no_grad():
                    next(model.parameters()).flatten()[0] += 1e-6
            gs.check_weights(model)
        with Job(ranks=3) as job:
            for error in job.run(spoil):
                self.assertIn('the parameters of rank 2 differ from those of rank 0',
                              str(error))

    def test_the_default_job_needs_nothing_else(self):
        def alone(rank):
            model = make(seed=0)
            optimizer = gs.DistributedOptimizer(SGD(model.parameters()), model)
            for step in range(3):
                plain_step(model, optimizer, rank, step)
            return gs.size(), gs.rank(), gs.is_leader(), gs.stats()['steps']
        with Job(ranks=1, start_servers=False) as job:
            job.path = None
            self.assertEqual(job.results(alone), [(1, 0, True, 3)])


if __name__ == '__main__':
    unittest.main()
