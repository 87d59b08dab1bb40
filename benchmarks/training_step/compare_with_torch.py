#!/usr/bin/env python3
"""Times Gradsieve's training step and PyTorch's, in turns, in one run.

Checks first that both compute the same loss and gradient. Then runs
training_step_bench and torch_training_step.py alternately, so that both see the
same machine, and prints both medians, the ratio against PyTorch's faster memory
format (and against the compiled step, with --compile), and where the time goes.
A ratio is the median of the turns', with the least and the greatest. On a GPU our times by layer come from a separate run that waits
for each kernel (CUDA_LAUNCH_BLOCKING=1), and PyTorch's from its profiler.

    bazel build --config=opt //benchmarks/training_step:training_step_bench
    benchmarks/training_step/compare_with_torch.py --model resnet20 --batch 128
    benchmarks/training_step/compare_with_torch.py --device cuda:0 \
        --precision bf16 --compile --model resnet50 --batch 256
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peer  # pylint: disable=wrong-import-position

CHECKED_BATCH = 4
BENCH = "bazel-bin/benchmarks/training_step/training_step_bench"


def run(command, threads, **more):
    environment = peer.environment(OMP_NUM_THREADS=str(threads), **more)
    done = subprocess.run(command, env=environment, check=False,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed")
    return json.loads(done.stdout.splitlines()[-1])


def check(our_command, their_command, threads):
    """Stops if the two do not compute the same; see --check there."""
    small = f"--batch={CHECKED_BATCH}", "--precision=fp32"
    with tempfile.TemporaryDirectory() as folder:
        step = folder + "/step.safetensors"
        done = subprocess.run([*our_command, *small, f"--dump={step}"],
                              check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(our_command)} --dump failed")
        found = run([*their_command, "--check", step], threads)
    print("loss and gradient agree: relative differences "
          f"{found['loss_error']:.1e} and {found['gradient_error']:.1e}")


def median_kinds(runs):
    kinds = {}
    for one in runs:
        for kind, ms in one.items():
            kinds.setdefault(kind, []).append(ms)
    return {kind: statistics.median(ms) for kind, ms in kinds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=5, help="in a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32",
                        choices=["fp32", "tf32", "bf16"])
    parser.add_argument("--hidden", type=int, default=0, help="width of lstm_lm")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--fastest", action="store_true",
                        help="let a GPU try its libraries' algorithms, as "
                        "PyTorch does here, instead of giving the same bits in "
                        "every run (machine.deterministic)")
    parser.add_argument("--no-graphs", action="store_true",
                        help="without CUDA graphs on our side")
    parser.add_argument("--goal", type=float, help="how many times as fast as "
                        "PyTorch's faster format it must be")
    parser.add_argument("--check", action="store_true",
                        help="check that both compute the same; time nothing")
    parser.add_argument("--json", help="a file for all figures and goals")
    parser.add_argument("--python", default="/usr/bin/python3",
                        help="a Python that has PyTorch")
    parser.add_argument("--bench", default=str(HERE.parents[1] / BENCH))
    options = parser.parse_args()
    if not os.path.exists(options.bench):
        sys.exit(f"{options.bench} is not there; build it first")
    our_command = [
        options.bench, f"--model={options.model}", f"--batch={options.batch}",
        f"--threads={options.threads}", f"--steps={options.steps}",
        f"--device={options.device}", f"--precision={options.precision}",
        "--json"]
    their_command = [
        options.python, str(HERE / "torch_training_step.py"),
        "--model", options.model, "--batch", str(options.batch),
        "--threads", str(options.threads), "--steps", str(options.steps),
        "--device", options.device, "--precision", options.precision, "--json"]
    is_cuda = options.device.startswith("cuda")
    if options.fastest:
        our_command.append("--fastest")
    if options.no_graphs:
        our_command.append("--no-graphs")
    if options.hidden:
        our_command.append(f"--hidden={options.hidden}")
        their_command += ["--hidden", str(options.hidden)]
    if options.compile:
        their_command.append("--compile")
    check(our_command, their_command, options.threads)
    if options.check:
        return
    ours, theirs = [], []
    for _ in range(options.turns):
        ours.append(run(our_command, options.threads))
        theirs.append(run(their_command, options.threads))

    if is_cuda and ("recorded" in ours[0]["kinds"]) == options.no_graphs:
        sys.exit("CUDA graphs were "
                 + ("used" if options.no_graphs else "not recorded"))
    our_ms = statistics.median(t for one in ours for t in one["all_step_ms"])
    formats = {
        name: statistics.median(
            t for one in theirs for t in one["formats"][name]["all_step_ms"])
        for name in theirs[0]["formats"]}
    best = min((name for name in formats if "compiled" not in name),
               key=formats.get)
    ratios = {name: [statistics.median(torch["formats"][name]["all_step_ms"])
                     / statistics.median(our["all_step_ms"])
                     for our, torch in zip(ours, theirs)] for name in formats}
    print(f"{options.model}, batch {options.batch}, {options.device}, "
          f"{options.precision}, {options.threads} thread(s), "
          f"{options.turns} turns of {options.steps} steps, medians")
    torch = f"PyTorch {theirs[0]['torch']}"
    print(f"{'Gradsieve':38}{our_ms:9.2f} ms")
    for name, ms in formats.items():
        print(f"{torch + ' ' + name:38}{ms:9.2f} ms")
    for name in [best] + [n for n in formats if "compiled" in n]:
        print(f"ratio against {name}: {statistics.median(ratios[name]):.2f} x "
              f"({min(ratios[name]):.2f} to {max(ratios[name]):.2f})")

    timed = ours
    if is_cuda:
        # Otherwise the times would be those of queueing the work.
        timed = [run([*our_command, "--no-graphs"], options.threads,
                     CUDA_LAUNCH_BLOCKING="1")]
    our_kinds = median_kinds(
        {kind: t["forward_ms"] + t["backward_ms"]
         for kind, t in one["kinds"].items()} for one in timed)
    their_kinds = median_kinds(one["formats"][best]["kinds"] for one in theirs)
    print(f"\n{'ms a step':16}{'Gradsieve':>12}{'PyTorch':>12}")
    for kind in sorted(set(our_kinds) | set(their_kinds),
                       key=lambda k: -their_kinds.get(k, 0)):
        print(f"{kind:16}{our_kinds.get(kind, 0):12.2f}"
              f"{their_kinds.get(kind, 0):12.2f}")
    print(f"reorders of activations a step: "
          f"{ours[0]['reorders_per_step']:.0f}; activations "
          f"{ours[0]['activation_bytes'] / 2**20:.0f} MiB")
    if options.json:
        write_json(options, our_ms, formats, statistics.median(ratios[best]))


def write_json(options, our_ms, formats, ratio):
    found = {"figures": {"step": dict(
        {f"torch {name} ms": ms for name, ms in formats.items()},
        ms=our_ms, x_torch=ratio)}, "goals": []}
    if options.goal:
        found["goals"].append({
            "goal": f"{options.model}, batch {options.batch}: at least "
                    f"{options.goal} x PyTorch", "figure": ratio,
            "reached": ratio >= options.goal})
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
