#!/usr/bin/env python3
"""Times our compressors and torch.topk on one device, in turns, in one run.

Runs `gradsieve bench compressors` and torch_topk.py alternately, so that both
see the same machine, and prints a Markdown table for each size and ratio: the
time, its ratio to the bound (on a GPU 12 bytes per element at the measured rate
of a copy there), and how many times faster it is than torch.topk.

    benchmarks/compare_compression.py --device cuda:0 --sizes 1e6,26e6,66e6,256e6

If the run has the size and ratio of the goals for GPUs, it says which of them it
reached. --json writes all figures and goals, as benchmarks/on_gpu reads them.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import peer

HERE = pathlib.Path(__file__).resolve().parent
GRADSIEVE = HERE.parent / "bazel-bin/tools/gradsieve"

# Goals for a device at this place: at most this many times the bound, and this
# many times faster than torch.topk.
GOALS = {"sidco_e": 1.3, "sidco_gp": 1.6, "sidco_p": 1.6}
GOAL_PLACE = 66_000_000, 0.001
GOAL_TOPK = 10


def rows_of(command, folder):
    path = os.path.join(folder, "rows.json")
    done = subprocess.run(command + [path], env=peer.environment(),
                          stdout=subprocess.PIPE,
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


def figures(ours, bounds, achieved, theirs, copies):
    """What was measured, by size, ratio and name."""
    found = {}
    for key, ms in ours.items():
        elements, ratio, name = key
        topk = theirs[elements, ratio, "torch"]
        found[f"{name}, {elements:,}, ratio {ratio}"] = {
            "ms": ms, "x_bound": ms / bounds[key], "x_faster_than_topk":
            topk / ms, "torch_topk_ms": topk, "achieved_ratio": achieved[key],
            "copy_gb_per_s": copies[elements, ratio, "torch"]}
    return found


def goals(ours, bounds, theirs):
    found = []
    for key, ms in ours.items():
        name = key[2]
        if key[:2] != GOAL_PLACE or name not in GOALS:
            continue
        faster = theirs[GOAL_PLACE + ("torch",)] / ms
        found.append({"goal": f"{name} at least {GOAL_TOPK} x torch.topk",
                      "figure": faster, "reached": faster >= GOAL_TOPK})
        times = ms / bounds[key]
        found.append({"goal": f"{name} at most {GOALS[name]} x the bound",
                      "figure": times, "reached": times <= GOALS[name]})
    return found


def print_goals(found):
    if found:
        print("\n| goal | figure | reached |\n|---|---|---|")
    for goal in found:
        print(f"| {goal['goal']} | {goal['figure']:.2f} "
              f"| {'yes' if goal['reached'] else 'no'} |")


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
    parser.add_argument("--json", help="a file for all figures and goals")
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
    copies = medians(their_turns, "copy_gigabytes_per_second")
    print(f"{options.device}, {options.turns} turns of {options.rounds} rounds "
          "(more for short gradients), medians; error feedback")
    print_tables(ours, bounds, achieved, theirs)
    reached = goals(ours, bounds, theirs)
    print_goals(reached)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"figures": figures(ours, bounds, achieved, theirs,
                                          copies), "goals": reached}, file)


if __name__ == "__main__":
    main()
