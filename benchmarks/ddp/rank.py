"""One rank of a PyTorch script, which the other files of this folder start. Its
argument is a JSON object, the fields of Options. Rank 0 prints what it measured as
one JSON object."""

import contextlib
import json
import math
import os
import pathlib
import sys
import time
import types

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (
    default_hooks, powerSGD_hook)
from torch.nn.parallel import DistributedDataParallel

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "python"), str(ROOT / "benchmarks/training_step"),
             str(ROOT / "examples/torch")]
import gradsieve.torch as gs  # pylint: disable=wrong-import-position
import mini_gpt_plain  # pylint: disable=wrong-import-position
import torch_models  # pylint: disable=wrong-import-position

# Width and layers of a GPT.
GPTS = {"gpt_800k": (128, 4), "gpt_10m": (512, 3)}
VALIDATION_BATCHES = 20


class RandomBatch:
    """One batch of each rank, whose loss falls."""

    def __init__(self, options):
        self.model = torch_models.new_model(options.model)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), momentum=0.9,
            lr=torch_models.learning_rate(options.model))
        torch.manual_seed(options.seed + 2 + dist.get_rank())
        self._inputs, self._labels = torch_models.random_batch(
            options.model, options.batch)

    def loss(self, model):
        return torch_models.mean_loss(model(self._inputs), self._labels)


class Text:
    """The characters of a text: a GPT, AdamW, a rate that rises and falls. Each
    rank draws windows of its own; the last tenth of the text is for validation."""

    def __init__(self, options):
        text = pathlib.Path(options.text).read_text(encoding="utf-8")
        alphabet = sorted(set(text))
        numbers = torch.tensor([alphabet.index(c) for c in text])
        self._train, self._rest = numbers.tensor_split([len(text) * 9 // 10])
        width, layers = GPTS[options.model]
        self.model = mini_gpt_plain.MiniGpt(len(alphabet), width, layers)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=options.rate)
        steps, warm_up = options.warm_up + options.iterations, 20
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: min(1, (step + 1) / warm_up) *
            (0.55 + 0.45 * math.cos(math.pi * min(1, step / steps))))
        self._batch = options.batch
        self._draws = torch.Generator().manual_seed(
            1000 * options.seed + dist.get_rank())

    def _loss(self, model, text, draws):
        inputs, targets = mini_gpt_plain.draw(text, draws, self._batch)
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    def loss(self, model):
        return self._loss(model, self._train, self._draws)

    @torch.no_grad()
    def validation_loss(self):
        draws = torch.Generator().manual_seed(0)
        return sum(self._loss(self.model, self._rest, draws).item()
                   for _ in range(VALIDATION_BATCHES)) / VALIDATION_BATCHES


def sent_bytes(interface):
    """Bytes that this host has sent, with all headers."""
    with open("/proc/net/dev", encoding="ascii") as file:
        for line in file:
            name, _, numbers = line.partition(":")
            if name.strip() == interface:
                return int(numbers.split()[8])
    sys.exit("the network's interface is not there")


def distributed(task, options):
    """The model to train, and how to clip: the setting's own lines of the script.
    "fp32", "fp16", "bf16" and "powersgd" are DDP, "hook FIELD=VALUE..." is DDP with our
    hook, and "delta FIELD=VALUE..." is our optimizer."""
    kind, *fields = options.setting.split()
    fields = dict(field.split("=", 1) for field in fields)
    if options.fields:
        fields.update(options.fields)
    if kind == "delta":
        gs.init(fields=fields)
        gs.DistributedOptimizer(task.optimizer, task.model)
        return task.model
    # The PowerSGD hook starts reductions as others end, in an order that may
    # differ between workers, which gloo does not allow; one bucket has one order.
    bucket = {"bucket_cap_mb": 1 << 14} if kind == "powersgd" else {}
    model = DistributedDataParallel(task.model, **bucket)
    if kind == "hook":
        model.register_comm_hook(gs.HookState(fields=fields), gs.hook)
    elif kind in ("fp16", "bf16"):
        model.register_comm_hook(
            None, getattr(default_hooks, kind + "_compress_hook"))
    elif kind == "powersgd":
        # The defaults of its documentation, but from the third iteration on, so
        # that all timed ones are compressed.
        state = powerSGD_hook.PowerSGDState(
            process_group=None, start_powerSGD_iter=2,
            matrix_approximation_rank=options.powersgd_rank)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif kind != "fp32":
        sys.exit(f"no such setting: {options.setting}")
    return model


class Waits:
    """The seconds in which Python waits for the bridge."""

    def __init__(self):
        self.seconds = 0.0
        receive = gs._session.Session._receive

        def timed(session, op):
            start = time.perf_counter()
            try:
                return receive(session, op)
            finally:
                self.seconds += time.perf_counter() - start

        gs._session.Session._receive = timed


def run(options):
    ours = options.setting.split()[0] in ("hook", "delta")
    text = options.model in GPTS
    torch.manual_seed(options.seed + 1)
    task = Text(options) if text else RandomBatch(options)
    model = distributed(task, options)
    num_parameters = sum(p.numel() for p in task.model.parameters())
    times, losses, evaluations = [], [], []
    waits = Waits()
    before = {}
    for iteration in range(options.warm_up + options.iterations):
        if iteration == options.warm_up:
            dist.barrier()
            sent = sent_bytes(options.interface)
            # The hook joins in the first step.
            if ours and iteration > 0:
                before = {"waits": waits.seconds, **gs.stats()}
        start = time.perf_counter()
        task.optimizer.zero_grad(set_to_none=True)
        loss = task.loss(model)
        loss.backward()
        if text:
            nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
        task.optimizer.step()
        if text:
            task.schedule.step()
        losses.append(loss.item())
        if iteration >= options.warm_up:
            times.append(time.perf_counter() - start)
            done = iteration + 1 - options.warm_up
            if options.evaluate_every and done % options.evaluate_every == 0:
                bytes_so_far = sent_bytes(options.interface) - sent
                dist.barrier()
                with (gs.server_weights(task.model) if ours else
                      contextlib.nullcontext()):
                    evaluations.append({
                        "iteration": done, "seconds": sum(times),
                        "sent_bytes": bytes_so_far,
                        "loss": task.validation_loss()})
                dist.barrier()
                sent = sent_bytes(options.interface) - bytes_so_far
    sent = (sent_bytes(options.interface) - sent) / options.iterations
    found = {"torch": torch.__version__, "seconds": times, "sent_bytes": sent,
             "num_parameters": num_parameters, "evaluations": evaluations}
    if ours:
        after = {"waits": waits.seconds, **gs.stats()}
        found["ours"] = {name: (after[name] - before.get(name, 0)) / options.iterations
                         for name in after}
        calls = 1000
        start = time.perf_counter()
        for _ in range(calls):
            gs.rank()
        found["seconds_a_call"] = (time.perf_counter() - start) / calls
        with gs.server_weights(task.model):
            check_weights(task.model)
        gs.finish()
    else:
        check_weights(task.model)
    if not losses[-1] < losses[0]:
        sys.exit(f"the loss did not fall: {losses}")
    return found


def check_weights(model):
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    all_weights = [torch.empty_like(weights)
                   for _ in range(dist.get_world_size())]
    dist.all_gather(all_weights, weights)
    if not all(torch.equal(weights, other) for other in all_weights):
        sys.exit("the ranks' weights differ")


def main():
    options = types.SimpleNamespace(**json.loads(sys.argv[1]))
    torch.set_num_threads(options.threads)
    dist.init_process_group("gloo")
    found = run(options)
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    # All are done; gloo's threads sometimes abort a process that ends as usual.
    dist.barrier()
    os._exit(0)


main()
