#!/usr/bin/env python3
"""Times iterations of Gradsieve and of PyTorch's DistributedDataParallel over
gloo on the same slow links, in turns, in one run.

Each worker is a host of its own (a network namespace) whose link has this
bandwidth in each direction, as in `gradsieve bench network`, which measures our
side. Our servers are hosts, too: with one server, all workers' messages share
its link. Checks that both train as many parameters, that DDP's workers end with
the same weights, and that its loss falls. Needs root, iproute2, and a Python that
has PyTorch.

    benchmarks/ddp/compare_with_ddp.py --python PYTHON --model resnet20 \
        --bandwidth 100mbit
    benchmarks/ddp/compare_with_ddp.py --python PYTHON --model lstm_lm \
        --data shared/data/ptb --batch 20 --servers 1,2
"""

import argparse
import contextlib
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

GRADSIEVE = HERE.parents[1] / "bazel-bin/tools/gradsieve"
HOOKS = ["fp32", "fp16", "powersgd"]
# Each with the data for which the network in torch_models.py was written.
JOBS = {
    "resnet20": """model { name: "resnet20" }
data { name: "shapes" }""",
    "vgg16": """model { name: "vgg16" }
data { name: "shapes" }""",
    "lstm_lm": """model {
  name: "lstm_lm"
  lstm_lm { hidden: 650 dropout: 0.5 initial_range: 0.05 }
}
data { name: "ptb" text { steps: 35 } }""",
}
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def system(*command):
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")


@contextlib.contextmanager
def links(num_hosts, rate):
    """Namespaces joined by a switch, with the filters of
    tools/bench/network/slow_network.cc. Yields how to run something in each."""
    names = [f"ddp-{os.getpid()}-{i}" for i in range(num_hosts)]
    hub = f"ddp-{os.getpid()}-hub"
    number = float(rate.rstrip("kmgbit")) * UNITS[rate.lstrip("0123456789.")]
    burst = max(0.002 * number / 8, min(128 << 10, 0.05 * number / 8))
    shape = ["root", "tbf", "rate", rate, "burst", str(int(burst)), "latency",
             "50ms"]
    made = []
    try:
        for name in [hub, *names]:
            system("ip", "netns", "add", name)
            made.append(name)
        system("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        system("ip", "-n", hub, "link", "set", "bridge", "up")
        for i, name in enumerate(names):
            system("ip", "-n", hub, "link", "add", f"h{i}", "type", "veth",
                   "peer", "name", "eth0", "netns", name)
            system("ip", "-n", hub, "link", "set", f"h{i}", "master", "bridge",
                   "up")
            system("ip", "-n", name, "link", "set", "lo", "up")
            system("ip", "-n", name, "address", "add", f"198.18.0.{i + 1}/15",
                   "dev", "eth0")
            system("ip", "-n", name, "link", "set", "eth0", "up")
            system("tc", "-n", hub, "qdisc", "add", "dev", f"h{i}", *shape)
            system("tc", "-n", name, "qdisc", "add", "dev", "eth0", *shape)
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def run_ddp(options, hook):
    with links(options.workers, options.bandwidth) as hosts:
        workers = [
            subprocess.Popen(
                [*host, options.python, str(HERE / "ddp_worker.py"),
                 options.model, hook, str(options.batch), str(options.threads),
                 str(options.warm_up), str(options.iterations)],
                env=peer.environment(
                    RANK=str(rank), WORLD_SIZE=str(options.workers),
                    MASTER_ADDR="198.18.0.1", MASTER_PORT="29500",
                    GLOO_SOCKET_IFNAME="eth0",
                    OMP_NUM_THREADS=str(options.threads)),
                stdout=subprocess.PIPE, text=True)
            for rank, host in enumerate(hosts)]
        outputs = [worker.communicate()[0] for worker in workers]
        if any(worker.returncode != 0 for worker in workers):
            sys.exit(f"DDP with {hook} failed")
    found = json.loads(outputs[0].splitlines()[-1])
    return {"ms": 1e3 * statistics.median(found["seconds"]),
            "sent": found["sent_bytes"], "torch": found["torch"],
            "num_parameters": found["num_parameters"]}


def run_gradsieve(options, servers):
    """What each setting took, by its name."""
    job = f"""name: "ddp"
{JOBS[options.model]}
training {{ batch_size: {options.batch} epochs: 1000 }}
optimizer {{ name: "momentum" learning_rate: 0.01 momentum: 0.9 }}
cluster {{ num_workers: {options.workers} num_servers: {servers} }}
machine {{ worker_threads: {options.threads} }}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "job.textproto").write_text(job, encoding="utf-8")
        command = [options.gradsieve, "bench", "network", path / "job.textproto",
                   f"--bandwidth={options.bandwidth}",
                   f"--settings={options.settings}",
                   f"--iterations={options.warm_up + options.iterations}",
                   f"--warm-up={options.warm_up}", f"--json={path}/found.json",
                   f"--run-dir={path}/runs"]
        if options.data:
            command.append(f"--set=data.directory={options.data}")
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"gradsieve bench network failed: {done.stderr}")
        found = json.loads((path / "found.json").read_text(encoding="utf-8"))
    found = found["bandwidths"][0] if "bandwidths" in found else found
    for run in found["runs"]:
        if "failure" in run:
            sys.exit(f"{run['setting']}: {run['failure']}")
    return {run["setting"]:
                {"ms": 1e3 * run["seconds_per_iteration_median"],
                 "sent": run["bytes_up_per_iteration"] / options.workers,
                 "num_parameters": found["num_parameters"]}
            for run in found["runs"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", required=True,
                        help="a Python that has PyTorch")
    parser.add_argument("--gradsieve", default=str(GRADSIEVE))
    parser.add_argument("--model", default="resnet20", choices=JOBS)
    parser.add_argument("--data", help="the folder of the data that it needs")
    parser.add_argument("--batch", type=int, default=32, help="of each worker")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--servers", default="1,2")
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--bandwidth", default="100mbit")
    parser.add_argument("--hooks", default=",".join(HOOKS))
    parser.add_argument("--settings", default="none,none:bf16,topk:0.01,"
                        "sidco_e:0.01:int8_block")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("needs root, which makes the links")
    rows = {}
    for _ in range(options.turns):
        for hook in options.hooks.split(","):
            rows.setdefault(f"DDP {hook}", []).append(run_ddp(options, hook))
        for servers in options.servers.split(","):
            for setting, run in run_gradsieve(options, servers).items():
                plural = "" if servers == "1" else "s"
                rows.setdefault(f"{setting}, {servers} server{plural}",
                                []).append(run)
    counts = {run["num_parameters"] for runs in rows.values() for run in runs}
    if len(counts) != 1:
        sys.exit(f"the numbers of parameters differ: {sorted(counts)}")
    first, *_ = rows.values()
    print(f"{options.model}, {counts.pop():,} parameters, {options.workers} "
          f"workers with batches of {options.batch}, {options.threads} thread(s) "
          f"each, {options.bandwidth}, PyTorch {first[0]['torch']}; medians of "
          f"{options.turns} turns of {options.iterations} iterations, with the "
          "least and the greatest")
    print("| | ms an iteration | kB sent by a worker | DDP fp32 / this |\n"
          "|---|---:|---:|---:|")
    for name, runs in rows.items():
        ms = [run["ms"] for run in runs]
        ratios = [one["ms"] / run["ms"] for one, run in zip(first, runs)]
        print(f"| {name} | {statistics.median(ms):.1f} ({min(ms):.1f} to "
              f"{max(ms):.1f}) | {runs[0]['sent'] / 1e3:,.0f} | "
              f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to "
              f"{max(ratios):.2f}) |")


if __name__ == "__main__":
    main()
