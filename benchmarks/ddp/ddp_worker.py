"""One process of PyTorch's DistributedDataParallel over gloo, which
compare_with_ddp.py starts. Rank 0 prints what it measured as one JSON object."""

import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import (
    default_hooks, powerSGD_hook)
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "training_step"))
import torch_models  # pylint: disable=wrong-import-position


def sent_bytes():
    """Bytes that this host has sent, with all headers."""
    with open("/proc/net/dev", encoding="ascii") as file:
        for line in file:
            name, _, numbers = line.partition(":")
            if name.strip() == os.environ["GLOO_SOCKET_IFNAME"]:
                return int(numbers.split()[8])
    sys.exit("the network's interface is not there")


def register_hook(model, hook):
    if hook == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif hook == "powersgd":
        # The defaults of its documentation, but from the third iteration on, so
        # that all timed ones are compressed.
        state = powerSGD_hook.PowerSGDState(
            process_group=None, matrix_approximation_rank=1,
            start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)


def main():
    name, hook, batch, threads, warm_up, iterations = sys.argv[1:]
    warm_up, iterations = int(warm_up), int(iterations)
    torch.set_num_threads(int(threads))
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = torch_models.new_model(name)
    num_parameters = sum(p.numel() for p in model.parameters())
    # The PowerSGD hook starts reductions as others end, in an order that may
    # differ between workers, which gloo does not allow; one bucket has one order.
    bucket = {"bucket_cap_mb": 1 << 14} if hook == "powersgd" else {}
    model = DistributedDataParallel(model, **bucket)
    register_hook(model, hook)
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9,
                                lr=torch_models.learning_rate(name))
    torch.manual_seed(2 + dist.get_rank())
    x, labels = torch_models.random_batch(name, int(batch))
    times, losses = [], []
    for iteration in range(warm_up + iterations):
        if iteration == warm_up:
            dist.barrier()
            before = sent_bytes()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = torch_models.mean_loss(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if iteration >= warm_up:
            times.append(time.perf_counter() - start)
    sent = (sent_bytes() - before) / iterations
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    all_weights = [torch.empty_like(weights)
                   for _ in range(dist.get_world_size())]
    dist.all_gather(all_weights, weights)
    if not all(torch.equal(weights, other) for other in all_weights):
        sys.exit("the workers' weights differ")
    if not losses[-1] < losses[0]:
        sys.exit(f"the loss did not fall: {losses}")
    if dist.get_rank() == 0:
        print(json.dumps({"torch": torch.__version__, "seconds": times,
                          "sent_bytes": sent,
                          "num_parameters": num_parameters}), flush=True)
    # All are done; gloo's threads sometimes abort a process that ends as usual.
    dist.barrier()
    os._exit(0)


main()
