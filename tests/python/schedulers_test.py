"""What else has the optimizer keeps working."""

import copy
import pickle
import unittest
import warnings

import torch

import gradsieve.torch as gs
from ranks import Job

warnings.simplefilter('error')


def make():
    torch.manual_seed(0)
    model = torch.nn.Linear(40, 60)
    return model, torch.optim.SGD(model.parameters(), lr=1.0)


def train(optimizer, scheduler, model, steps=4):
    rates = []
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(2, 40)).sum().backward()
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]['lr'])
    return rates


def halve(optimizer):
    return torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)


def before(rank):
    model, optimizer = make()
    scheduler = halve(optimizer)
    gs.DistributedOptimizer(optimizer, model)
    return train(optimizer, scheduler, model), gs.stats()['steps']


def after(rank):
    model, optimizer = make()
    gs.DistributedOptimizer(optimizer, model)
    return train(optimizer, halve(optimizer), model), gs.stats()['steps']


def several(rank):
    model, optimizer = make()
    first = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=2)
    gs.DistributedOptimizer(optimizer, model)
    second = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer, [first, second], milestones=[2])
    train(optimizer, scheduler, model)
    return gs.stats()['steps']


def saved(rank):
    model, optimizer = make()
    optimizer = torch.optim.AdamW(model.parameters())
    gs.DistributedOptimizer(optimizer, model)
    train(optimizer, halve(optimizer), model, steps=2)
    state = optimizer.state_dict()
    read = pickle.loads(pickle.dumps(optimizer))
    copied = copy.deepcopy(optimizer)
    steps = gs.stats()['steps']
    # Neither of them exchanges anything.
    for other in read, copied:
        assert type(other) is torch.optim.AdamW
        assert other.param_groups[0]['lr'] == optimizer.param_groups[0]['lr']
    optimizer.load_state_dict(state)
    train(optimizer, halve(optimizer), model, steps=1)
    return gs.stats()['steps'] - steps


def scaled(rank):
    model, optimizer = make()
    gs.DistributedOptimizer(optimizer, model)
    # Switched off, as where there is no GPU.
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        scaler = torch.cuda.amp.GradScaler(enabled=False)
    scaler.scale(model(torch.ones(2, 40)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return isinstance(optimizer, torch.optim.SGD), gs.stats()['steps']


def overflowing(rank):
    model, optimizer = make()
    gs.DistributedOptimizer(optimizer, model)
    scaler = torch.amp.GradScaler('cpu')
    seen = []
    for factor in 1, float('inf'), 1:
        optimizer.zero_grad()
        loss = model(torch.ones(2, 40)).sum() * factor * (1 + rank)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        stats = gs.stats()
        seen.append((stats['steps'], stats['residual_norm'],
                     model.weight.tolist()))
    return seen


class SchedulersTest(unittest.TestCase):

    def test_made_before_or_after(self):
        for function in before, after:
            with Job(ranks=1) as job:
                (rates, steps), = job.results(function)
            self.assertEqual(rates, [0.5, 0.25, 0.125, 0.0625])
            self.assertEqual(steps, 4)

    def test_made_before_and_after(self):
        with Job(ranks=1) as job:
            self.assertEqual(job.results(several), [4])

    def test_an_optimizer_is_pickled_and_copied_as_without(self):
        with Job(ranks=1) as job:
            self.assertEqual(job.results(saved), [1])

    def test_a_gradient_scaler_takes_it(self):
        with Job(ranks=1) as job:
            self.assertEqual(job.results(scaled), [(True, 1)])

    @unittest.skipUnless(hasattr(torch, 'amp') and hasattr(torch.amp, 'GradScaler'),
                         'torch %s has no GradScaler for CPUs' % torch.__version__)
    def test_a_step_that_all_ranks_skip_changes_nothing(self):
        with Job(more='compressor { name: "topk" ratio: 0.1 }') as job:
            for first, overflow, last in job.results(overflowing):
                self.assertEqual(overflow, first)
                self.assertGreater(first[1], 0)
                self.assertEqual(last[0], 2)
                self.assertNotEqual(last[2], first[2])


if __name__ == '__main__':
    unittest.main()
