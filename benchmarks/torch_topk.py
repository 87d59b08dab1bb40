#!/usr/bin/env python3
"""Times PyTorch's exact top-k with the residual step, on one core or a GPU.

This is an independent yardstick: residual += gradient, torch.topk of the
magnitudes, values gathered and cleared in the residual. On a GPU indices and
values are then copied to the host, from where they would be sent, and the rate
of a copy within its memory is measured in the same turns. Needs PyTorch (of PyPI,
or Debian's python3-torch, with /usr/bin/python3). Compare it with `gradsieve bench
compressors` run before and after it on the same machine.

    benchmarks/torch_topk.py [--device cpu] [--sizes 66034000] \\
        [--ratios 0.001] [--rounds 3] [--json FILE]
"""
import argparse
import json
import statistics
import sys
import time

# A call on fewer elements is short and needs more rounds.
FULL_ELEMENTS = 1 << 22


def numbers(kind):
    return lambda text: [kind(float(part)) for part in text.split(",")]


class Device:
    """Runs work on a device and times it until it is done."""

    def __init__(self, torch, name):
        self.torch = torch
        self.device = torch.device(name)
        self.is_cuda = self.device.type == "cuda"
        self.description = "one thread"
        if self.is_cuda:
            self.description = torch.cuda.get_device_name(self.device)

    def wait(self):
        if self.is_cuda:
            self.torch.cuda.synchronize(self.device)

    def milliseconds(self, work):
        self.wait()
        start = time.perf_counter()
        result = work()
        self.wait()
        return 1e3 * (time.perf_counter() - start), result


def laplace(torch, elements, device):
    """Draws a gradient as the other benchmarks do."""
    values = torch.empty(elements, device=device).exponential_()
    return values.mul_(torch.randint(0, 2, (elements,), dtype=torch.int8,
                                     device=device).mul_(2).sub_(1))


def measure(torch, device, elements, ratio, rounds):
    k = max(1, int(ratio * elements))
    gradient = laplace(torch, elements, device.device)
    residual = torch.zeros(elements, device=device.device)
    copy = torch.empty_like(gradient)
    # The elements to send must be in memory that the network card can read.
    sent = [torch.empty(k, dtype=kind, pin_memory=device.is_cuda)
            for kind in (torch.int64, torch.float32)]

    def compress():
        residual.add_(gradient)
        _, indices = torch.topk(residual.abs(), k, sorted=False)
        values = residual[indices]
        residual[indices] = 0
        if device.is_cuda:
            sent[0].copy_(indices, non_blocking=True)
            sent[1].copy_(values, non_blocking=True)
        return values

    compress()
    times, copies = [], []
    for _ in range(rounds * max(1, FULL_ELEMENTS // elements)):
        ms, _ = device.milliseconds(lambda: copy.copy_(gradient))
        copies.append(ms)
        ms, values = device.milliseconds(compress)
        times.append(ms)
        # No kept magnitude may exceed a sent one.
        if not residual.abs().max() <= values.abs().min():
            sys.exit("torch.topk kept a larger magnitude than it sent")
    return {
        "elements": elements,
        "ratio": ratio,
        "milliseconds": statistics.median(times),
        "copy_gigabytes_per_second":
            8e-6 * elements / statistics.median(copies),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sizes", type=numbers(int), default=[66034000])
    parser.add_argument("--ratios", type=numbers(float), default=[0.001])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write the rows as a list of objects")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch_topk.py needs PyTorch, as ./test --interop installs it")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    device = Device(torch, options.device)
    rows = []
    for elements in options.sizes:
        for ratio in options.ratios:
            row = measure(torch, device, elements, ratio, options.rounds)
            rows.append(row)
            print(f"torch.topk {torch.__version__}, {elements} floats, ratio "
                  f"{ratio}, {device.description}: "
                  f"{row['milliseconds']:.3f} ms; copies at "
                  f"{row['copy_gigabytes_per_second']:.1f} GB/s")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
