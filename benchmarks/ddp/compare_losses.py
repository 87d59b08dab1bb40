#!/usr/bin/env python3
"""Trains a GPT on the characters of a text by DistributedDataParallel over gloo and
by scripts that use our servers, each rank a host of its own with a link of this
bandwidth in each direction, and says how many seconds and bytes each takes to the
same validation loss. Needs root, iproute2, and a Python that has PyTorch.

    benchmarks/ddp/compare_losses.py --python PYTHON --data text.txt \
        --bandwidth 100mbit,1gbit --json losses.json --svg losses

A setting may end with @FACTOR, as in "DDP@2": it multiplies the learning rate.
Seconds are those of training, without evaluations. With several seeds, the table has
their means, and half of the distance from the least to the largest last loss; the
pictures show the first. A run's losses do not depend on its link, which the script
checks where settings are run on several.
"""

import argparse
import importlib.machinery
import json
import pathlib
import statistics
import sys

import compare_with_ddp

NONE = "compressor.name=none compressor.value_code=fp32"
SPARSE_LOCO = ("delta consistency.local_steps=15 worker_optimizer.step_ahead=0 "
               "compressor.name=chunk_topk compressor.ratio=0.015625 "
               "compressor.chunk_topk.chunk_elements=4096 "
               "compressor.value_code=two_bit_bins compressor.feedback_decay=0.95")
SETTINGS = {
    "DDP": "fp32",
    "DDP, fp16 hook": "fp16",
    "DDP, bf16 hook": "bf16",
    "DDP, PowerSGD hook": "powersgd",
    "our hook, all elements": compare_with_ddp.SCRIPTS["hook, no code"],
    "our hook, int8": "hook",
    "our hook, sidco_e 0.01": "hook compressor.name=sidco_e compressor.ratio=0.01",
    "our hook, sidco_e 0.1": "hook compressor.name=sidco_e compressor.ratio=0.1",
    "ours, all elements": "delta " + NONE,
    "ours, sidco_e 0.01": "delta",
    "ours, sidco_e 0.01, every 8 steps": "delta consistency.local_steps=8",
    # Steps that cost less time may be more; the rate falls over all of them.
    "ours, sidco_e 0.01, 3 times as long": "delta",
    "ours, DiLoCo, every 20 steps":
        "delta consistency.local_steps=20 optimizer.name=nesterov "
        "optimizer.learning_rate=0.7 optimizer.momentum=0.9 " + NONE,
    "ours, means every 15 steps": "delta consistency.local_steps=15 " + NONE,
    "ours, SparseLoCo, every 15 steps": SPARSE_LOCO,
    "ours, SparseLoCo, 3 times as long": SPARSE_LOCO,
    "ours, SparseLoCo, every 5 steps":
        SPARSE_LOCO.replace("local_steps=15", "local_steps=5"),
}


def first(evaluations, target):
    return next((e for e in evaluations if e["loss"] <= target), None)


def mean(numbers):
    return statistics.mean(list(numbers))


def table(runs, target):
    """Rows of one bandwidth; `runs` by name, each a list of a run for each seed."""

    def when(name):
        """The mean evaluation at the target; None unless all runs come to it."""
        reached = [first(run["evaluations"], target) for run in runs[name]]
        return None if None in reached else {
            key: mean(e[key] for e in reached) for key in ("seconds", "sent_bytes")}

    base = when("DDP")
    lines = ["| | ms a step | last loss | MB sent by a rank | seconds to the loss | "
             "MB to it | DDP's seconds / these | DDP's MB / these |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name, of_seeds in runs.items():
        last = [run["evaluations"][-1] for run in of_seeds]
        losses, reached = [e["loss"] for e in last], when(name)
        spread = (f" ± {(max(losses) - min(losses)) / 2:.3f}" if len(losses) > 1
                  else "")
        row = (f"| {name} | {mean(run['ms'] for run in of_seeds):.0f} | "
               f"{mean(losses):.3f}{spread} | "
               f"{mean(e['sent_bytes'] for e in last) / 1e6:,.1f} | ")
        row += (f"{reached['seconds']:.0f} | {reached['sent_bytes'] / 1e6:,.1f} | "
                f"{base['seconds'] / reached['seconds']:.1f} | "
                f"{base['sent_bytes'] / reached['sent_bytes']:.1f} |" if reached
                else "– | – | – | – |")
        lines.append(row)
    return "\n".join(lines)


def draw(runs, title, x_name, x_of, path):
    folder = pathlib.Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(folder))
    draw_runs = importlib.machinery.SourceFileLoader(
        "draw_runs", str(folder / "draw_runs")).load_module()
    lines = [(name, [(x_of(e), e["loss"]) for e in of_seeds[0]["evaluations"]])
             for name, of_seeds in runs.items()]
    path.write_text(draw_runs.picture(title, x_name, "validation loss", lines, True),
                    encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", required=True, help="a Python that has PyTorch")
    parser.add_argument("--data", required=True, help="a text")
    parser.add_argument("--model", default="gpt_800k")
    parser.add_argument("--batch", type=int, default=8, help="of each rank")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1, help="of each rank")
    parser.add_argument("--bandwidth", default="100mbit,1gbit")
    parser.add_argument("--iterations", type=int, default=600)
    parser.add_argument("--evaluate-every", type=int, default=40)
    parser.add_argument("--warm-up", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1.02,
                        help="the loss to reach, as a multiple of DDP's last one")
    parser.add_argument("--settings", default=";".join(SETTINGS))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--json", type=pathlib.Path,
                        help="where the runs are kept; those that are there are not "
                        "made again")
    parser.add_argument("--svg", help="the beginning of the pictures' names")
    options = parser.parse_args()
    found = {}
    if options.json and options.json.exists():
        found = json.loads(options.json.read_text(encoding="utf-8"))
    names, seeds = options.settings.split(";"), options.seeds.split(",")
    for bandwidth in options.bandwidth.split(","):
        options.bandwidth = bandwidth
        runs = found.setdefault(bandwidth, {})
        for seed in seeds:
            for name in names:
                of_seeds = runs.setdefault(name, {})
                if seed in of_seeds:
                    continue
                setting, _, factor = name.partition("@")
                more = 3 if setting.endswith("3 times as long") else 1
                run = of_seeds[seed] = compare_with_ddp.run_script(
                    options, SETTINGS[setting], evaluate_every=options.evaluate_every,
                    iterations=more * options.iterations, powersgd_rank=4,
                    seed=int(seed), rate=float(factor or 1) * compare_with_ddp.RATE)
                print(f"{bandwidth}, {name}, seed {seed}: {run['ms']:.0f} ms, loss "
                      f"{run['evaluations'][-1]['loss']:.3f}", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(found), encoding="utf-8")
    for name in names:
        for seed in seeds:
            # gloo adds in the order in which messages come.
            losses = {tuple(e["loss"] for e in found[link][name][seed]["evaluations"])
                      for link in found}
            if len(losses) > 1 and not name.startswith("DDP"):
                sys.exit(f"the losses of \"{name}\" depend on the link")
    for bandwidth, made in found.items():
        runs = {name: [made[name][seed] for seed in seeds] for name in names}
        base = runs["DDP"][0]
        target = options.tolerance * mean(run["evaluations"][-1]["loss"]
                                          for run in runs["DDP"])
        print(f"\n{options.model}, {base['num_parameters']:,} parameters, "
              f"{options.workers} ranks with batches of {options.batch}, "
              f"{options.iterations} steps, {bandwidth}, PyTorch "
              f"{base['torch']}, seeds {options.seeds}; to a loss of {target:.3f}\n"
              + table(runs, target))
        if options.svg:
            title = (f"{base['num_parameters'] / 1e6:.1f} million parameters, "
                     f"{options.workers} ranks")
            draw(runs, f"{title}, {bandwidth}", "seconds of training",
                 lambda e: e["seconds"], pathlib.Path(f"{options.svg}_{bandwidth}.svg"))
            draw(runs, title, "MB that a rank has sent", lambda e: e["sent_bytes"] / 1e6,
                 pathlib.Path(f"{options.svg}_by_bytes.svg"))


if __name__ == "__main__":
    main()
