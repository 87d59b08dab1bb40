#!/usr/bin/python3
"""Time of PyTorch's exact top-k on one core, with the residual step.

The second yardstick beside std::nth_element: residual += gradient, torch.topk
of the magnitudes, values gathered and cleared in the residual. Needs PyTorch
(Debian: python3-torch). Compare it with `gradsieve bench compressors` run
before and after it on the same machine.

    benchmarks/torch_topk.py [ELEMENTS] [RATIO] [ROUNDS]
"""
import statistics
import sys
import time


def main():
    try:
        import torch
    except ImportError:
        sys.exit("torch_topk.py needs PyTorch: apt-get install python3-torch")
    elements = int(sys.argv[1]) if len(sys.argv) > 1 else 66034000
    ratio = float(sys.argv[2]) if len(sys.argv) > 2 else 0.001
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    torch.set_num_threads(1)
    torch.manual_seed(1)
    k = max(1, int(ratio * elements))
    # Laplace, as the other benchmarks have it.
    gradient = torch.empty(elements).exponential_()
    gradient *= torch.randint(0, 2, (elements,), dtype=torch.int8) * 2 - 1
    residual = torch.zeros(elements)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        residual += gradient
        _, indices = torch.topk(residual.abs(), k, sorted=False)
        values = residual[indices]
        residual[indices] = 0
        times.append(1e3 * (time.perf_counter() - start))
        # What was kept is no larger than what was sent.
        assert residual.abs().max() <= values.abs().min()
    print(f"torch.topk {torch.__version__}, {elements} floats, ratio {ratio}, "
          f"one thread: {statistics.median(times):.1f} ms")


if __name__ == "__main__":
    main()
