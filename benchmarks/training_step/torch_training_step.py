#!/usr/bin/python3
"""Time of PyTorch's training step, beside training_step_bench.

The same model, batch and update (SGD with momentum 0.9) on the same random
batch in every step; of images, with both memory formats. Needs PyTorch (Debian:
python3-torch).

    benchmarks/training_step/torch_training_step.py \
        [--model resnet20] [--batch 128] [--threads 1] [--steps 10] [--json]
"""

import argparse
import json
import statistics
import sys
import time

# What PyTorch calls its parts, by kind of layer; the first that fits counts.
KINDS = [
    ("convolution", ("conv",)),
    ("dropout", ("dropout", "bernoulli")),
    ("embedding", ("embedding",)),
    ("cells", ("sigmoid", "tanh", "chunk")),
    ("batch_norm", ("batch_norm",)),
    ("activation", ("relu", "threshold")),
    ("pooling", ("pool",)),
    ("products", ("addmm", "aten::mm")),
    ("loss", ("log_softmax", "nll_loss")),
    ("reorder", ("reorder", "contiguous", "to_dense", "to_mkldnn", "copy_")),
    ("residual", ("add", "pad", "slice", "fill_", "zero")),
]


def kind_of(name):
    for kind, parts in KINDS:
        if any(part in name for part in parts):
            return kind
    return "other"


def measure(options, torch, memory_format):
    import torch_models

    torch.manual_seed(1)
    model = torch_models.MODELS[options.model]().to(memory_format=memory_format)
    x, labels = torch_models.random_batch(options.model, options.batch)
    if x.dim() == 4:
        x = x.to(memory_format=memory_format)
    rate = 0.5 if options.model in torch_models.TEXT_MODELS else 0.01
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    parameters = sum(p.numel() for p in model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    losses, times = [step(), step()], []
    for _ in range(options.steps):
        start = time.perf_counter()
        losses.append(step())
        times.append(1e3 * (time.perf_counter() - start))
    if not losses[-1] < losses[0]:
        sys.exit(f"the loss did not fall: {losses}")
    with torch.profiler.profile() as profile:
        step()
    kinds = {}
    for event in profile.key_averages():
        name = event.key
        kind = "update" if "Optimizer" in name else kind_of(name)
        ms = event.self_cpu_time_total / 1e3
        kinds[kind] = kinds.get(kind, 0) + ms
    return {
        "step_ms": statistics.median(times),
        "all_step_ms": times,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "parameters": parameters,
        "kinds": kinds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("needs PyTorch: apt-get install python3-torch")
    import torch_models

    if options.model not in torch_models.MODELS:
        sys.exit(f"no model {options.model!r} here; there are "
                 + ", ".join(torch_models.MODELS))
    torch.set_num_threads(options.threads)
    formats = {"contiguous": torch.contiguous_format}
    if options.model in torch_models.IMAGE_MODELS:
        formats["channels_last"] = torch.channels_last
    result = {
        "torch": torch.__version__,
        "model": options.model,
        "batch": options.batch,
        "threads": options.threads,
        "formats": {name: measure(options, torch, memory_format)
                    for name, memory_format in formats.items()},
    }
    if options.json:
        print(json.dumps(result))
        return
    for name, run in result["formats"].items():
        print(f"PyTorch {torch.__version__}, {options.model}, batch "
              f"{options.batch}, {options.threads} thread(s), {name}: "
              f"{run['step_ms']:.1f} ms a step (median), loss "
              f"{run['first_loss']:.4f} -> {run['last_loss']:.4f}")
        for kind, ms in sorted(run["kinds"].items(), key=lambda x: -x[1]):
            print(f"  {kind:16}{ms:10.2f} ms")


if __name__ == "__main__":
    main()
