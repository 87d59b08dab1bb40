#!/usr/bin/env python3
"""Times PyTorch's exact top-k beside `gradsieve bench compressors`.

One core, the same residual step, Laplace gradients. Needs PyTorch; on Debian
the package python3-torch. Prints a list of objects with the fields of the
command's JSON that apply, so that both can be put side by side.
"""
import argparse
import json
import statistics
import time

import torch


def topk_milliseconds(elements, ratio, rounds):
    """Median time of residual += gradient, torch.topk, and clearing what it
    found in the residual."""
    torch.manual_seed(1)
    k = max(1, int(ratio * elements))
    law = torch.distributions.Laplace(0.0, 1.0)
    gradient = law.sample((elements,))
    residual = law.sample((elements,))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        residual += gradient
        indices = torch.topk(residual.abs(), k, sorted=False).indices
        values = residual[indices]
        residual[indices] = 0
        times.append(1e3 * (time.perf_counter() - start))
        if len(values) != k or residual.abs().max() > values.abs().min():
            raise SystemExit("torch.topk did not select the largest")
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=66034000)
    parser.add_argument("--ratio", type=float, default=0.001)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    milliseconds = topk_milliseconds(
        options.elements, options.ratio, options.rounds)
    print(json.dumps([{
        "name": "torch.topk",
        "elements": options.elements,
        "ratio": options.ratio,
        "milliseconds": milliseconds,
        "achieved_ratio":
            max(1, int(options.ratio * options.elements)) / options.elements,
    }], indent=2))


if __name__ == "__main__":
    main()
