#!/usr/bin/env python3
"""Times our compressors and torch.topk on one device, in turns, in one run.

Runs `gradsieve bench compressors` and torch_topk.py alternately, so that both
see the same machine, and prints a Markdown table for each size and ratio: the
time, its ratio to the bound (on a GPU 12 bytes per element at the measured rate
of a copy there), and how many times faster it is than torch.topk.

    benchmarks/compare_compression.py --device cuda:0 --sizes 1e6,26e6,66e6,256e6

With --goals it says which of the goals for GPUs the run reached.
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
GRADSIEVE = HERE.parent / "bazel-bin/tools/gradsieve"

# Goals for a device at 66 million elements: at most this many times the bound.
GOALS = {"sidco_e": 1.3, "sidco_gp": 1.6, "sidco_p": 1.6}
GOAL_ELEMENTS = 66_000_000
GOAL_TOPK = 10


def rows_of(command, folder):
    path = os.path.join(folder, "rows.json")
    done = subprocess.run(command + [path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}{path} failed:\n{done.stdout}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def medians(turns, field):
    """Medians over the turns for each (elements, ratio, name)."""
    times = {}
    for row in (row for rows in turns for row in rows):
        key = row["elements"], row["ratio"], row.get("name", "torch")
        times.setdefault(key, []).append(row[field])
    return {key: statistics.median(values) for key, values in times.items()}


def print_tables(ours, bounds, achieved, theirs):
    places = sorted({key[:2] for key in ours}, key=lambda p: (p[0], -p[1]))
    for elements, ratio in places:
        topk = theirs[elements, ratio, "torch"]
        print(f"\n{elements:,} elements, ratio {ratio}; torch.topk "
              f"{topk:.3f} ms\n")
        print("| compressor | ms | x bound | x faster than torch.topk "
              "| achieved ratio |")
        print("|---|---|---|---|---|")
        for key, ms in ours.items():
            if key[:2] != (elements, ratio):
                continue
            print(f"| {key[2]} | {ms:.3f} | {ms / bounds[key]:.2f} "
                  f"| {topk / ms:.1f} | {achieved[key]:.3g} |")


def print_goals(ours, bounds, theirs):
    print("\n| goal | ratio | figure | reached |\n|---|---|---|---|")
    for key, ms in ours.items():
        elements, ratio, name = key
        if name not in GOALS:
            continue
        faster = theirs[elements, ratio, "torch"] / ms
        print(f"| {name}, {elements:,}: at least {GOAL_TOPK} x torch.topk "
              f"| {ratio} | {faster:.1f} x "
              f"| {'yes' if faster >= GOAL_TOPK else 'no'} |")
        if elements != GOAL_ELEMENTS:
            continue
        times = ms / bounds[key]
        print(f"| {name}, {elements:,}: at most {GOALS[name]} x the bound "
              f"| {ratio} | {times:.2f} x "
              f"| {'yes' if times <= GOALS[name] else 'no'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--sizes", default="1e6,26e6,66e6,256e6")
    parser.add_argument("--ratios", default="0.1,0.01,0.001")
    parser.add_argument("--names", default="sidco_e,sidco_gp,sidco_p,topk,dgc,"
                        "redsync,gaussiank,randomk")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--python", default=sys.executable,
                        help="a Python that has PyTorch")
    parser.add_argument("--goals", action="store_true")
    options = parser.parse_args()
    if not GRADSIEVE.exists():
        sys.exit(f"{GRADSIEVE} is not there; build //tools:gradsieve first")
    shape = [f"--sizes={options.sizes}", f"--ratios={options.ratios}",
             f"--rounds={options.rounds}"]
    our_turns, their_turns = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.turns):
            our_turns.append(rows_of(
                [str(GRADSIEVE), "bench", "compressors", *shape,
                 f"--device={options.device}", f"--names={options.names}",
                 "--json"], folder))
            their_turns.append(rows_of(
                [options.python, str(HERE / "torch_topk.py"), *shape,
                 f"--device={options.device}", "--json"], folder))
    ours = medians(our_turns, "milliseconds")
    bounds = medians(our_turns, "bound_milliseconds")
    achieved = medians(our_turns, "achieved_ratio")
    theirs = medians(their_turns, "milliseconds")
    print(f"{options.device}, {options.turns} turns of {options.rounds} rounds "
          "(more for short gradients), medians; error feedback")
    print_tables(ours, bounds, achieved, theirs)
    if options.goals:
        print_goals(ours, bounds, theirs)


if __name__ == "__main__":
    main()
