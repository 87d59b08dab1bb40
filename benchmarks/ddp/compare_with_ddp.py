#!/usr/bin/env python3
"""Times iterations of PyTorch's DistributedDataParallel over gloo, of scripts that
use our servers, and of Gradsieve's own workers, on the same links, in turns, in one
run.

Each worker is a host of its own (a network namespace) whose link has this
bandwidth in each direction, as in `gradsieve bench network`, which measures our own
workers. Their servers are hosts, too: with one server, all workers' messages share
its link. The ranks of a script start their servers beside them, one each. With
--bandwidth loopback all ranks are on this host, and our own workers are left out.
Checks that all train as many parameters, that a script's ranks end with the same
weights, and that its loss falls. A bandwidth needs root and iproute2.

    benchmarks/ddp/compare_with_ddp.py --python PYTHON --model resnet20 \
        --bandwidth 100mbit
    benchmarks/ddp/compare_with_ddp.py --python PYTHON --model lstm_lm \
        --data shared/data/ptb --batch 20 --servers 1,2
    benchmarks/ddp/compare_with_ddp.py --python PYTHON --model gpt_10m \
        --data text.txt --batch 4 --bandwidth loopback
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peer  # pylint: disable=wrong-import-position

GRADSIEVE = HERE.parents[1] / "bazel-bin/tools/gradsieve"
# Of AdamW, for models of text.
RATE = 2e-3
# Settings of rank.py, by the name of their row.
SCRIPTS = {
    "DDP fp32": "fp32",
    "DDP fp16": "fp16",
    "DDP powersgd": "powersgd",
    "hook, no code": "hook compressor.value_code=fp32 "
                     "downlink.compressor.value_code=fp32",
    "hook, int8": "hook",
    "delta, all elements": "delta compressor.name=none compressor.value_code=fp32",
    "delta, sidco_e 0.01": "delta",
}
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
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


def run_script(options, setting, **more):
    """What rank 0 of a PyTorch script with this setting of rank.py prints. With a
    bandwidth each rank is a host of its own, otherwise all are on this one."""
    with contextlib.ExitStack() as stack:
        # As open to that network as gloo's connections are.
        fields = {"security.mode": "INSECURE", "security.insecure_networks": True}
        interface, master, hosts = "lo", "127.0.0.1", [[]] * options.workers
        if options.bandwidth != "loopback":
            hosts = stack.enter_context(links(options.workers, options.bandwidth))
            interface, master = "eth0", "198.18.0.1"
        worker = json.dumps({
            "model": options.model, "setting": setting, "batch": options.batch,
            "threads": options.threads, "warm_up": options.warm_up,
            "iterations": options.iterations, "seed": 0, "text": options.data,
            "evaluate_every": 0, "powersgd_rank": 1, "rate": RATE,
            "interface": interface,
            "fields": fields if interface == "eth0" else {}, **more})
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        ranks = [
            subprocess.Popen(
                [*host, options.python, str(HERE / "rank.py"), worker],
                env=peer.environment(
                    RANK=str(rank), WORLD_SIZE=str(options.workers),
                    MASTER_ADDR=master, MASTER_PORT=str(port),
                    GLOO_SOCKET_IFNAME=interface,
                    OMP_NUM_THREADS=str(options.threads)),
                stdout=subprocess.PIPE, text=True)
            for rank, host in enumerate(hosts)]
        outputs = [rank.communicate()[0] for rank in ranks]
        if any(rank.returncode != 0 for rank in ranks):
            sys.exit(f"the script with \"{setting}\" failed")
    found = json.loads(outputs[0].splitlines()[-1])
    found["ms"] = 1e3 * statistics.median(found["seconds"])
    found["sent"] = found["sent_bytes"]
    return found


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
    parser.add_argument("--model", default="resnet20",
                        help="of torch_models.py or rank.py; our own workers have "
                        + ", ".join(JOBS))
    parser.add_argument("--data", help="the folder of the data that our own workers "
                        "need, or the text of a GPT")
    parser.add_argument("--batch", type=int, default=32, help="of each worker")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--servers", default="1,2")
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--bandwidth", default="100mbit")
    parser.add_argument("--scripts", default="DDP fp32;DDP fp16;DDP powersgd",
                        help="some of " + "; ".join(SCRIPTS))
    parser.add_argument("--settings", default="none,none:bf16,topk:0.01,"
                        "sidco_e:0.01:int8_block")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    if options.bandwidth != "loopback" and os.geteuid() != 0:
        sys.exit("needs root, which makes the links")
    rows = {}
    for _ in range(options.turns):
        for name in options.scripts.split(";"):
            rows.setdefault(name, []).append(run_script(options, SCRIPTS[name]))
        if options.bandwidth == "loopback":
            continue
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
    print_parts(rows)


def print_parts(rows):
    """Where the time of our scripts went, by the means of rank 0."""
    ours = {name: [run["ours"] for run in runs]
            for name, runs in rows.items() if "ours" in runs[0]}
    if not ours:
        return
    print("\n| ms an iteration | exchange | waiting for the bridge | copies | Python "
          "| of it, the bridge: compress | await | apply |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, runs in ours.items():
        def ms(field, runs=runs):
            return 1e3 * statistics.median(run[field] for run in runs)
        exchange, waits, copies = (ms("exchange_seconds"), ms("waits"),
                                   ms("copy_seconds"))
        print(f"| {name} | {exchange:.2f} | {waits:.2f} | {copies:.2f} | "
              f"{exchange - waits - copies:.3f} | {ms('compress_seconds'):.2f} | "
              f"{ms('await_seconds'):.2f} | {ms('apply_seconds'):.2f} |")
    call = min(run["seconds_a_call"] for runs in rows.values() for run in runs
               if "seconds_a_call" in run)
    print(f"gs.rank() takes {1e6 * call:.2f} microseconds.")


if __name__ == "__main__":
    main()
