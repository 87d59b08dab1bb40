"""The steps `train` and `trace`: whole jobs with one worker and one server."""
import concurrent.futures
import filecmp
import json
import os

from gpu_run import commands

# By how much the accuracy on a device may be below that on the CPU.
LENET_TOLERANCE = 0.005
RESNET_TOLERANCE = 0.03  # After few epochs, also in TF32 and BF16.


class Jobs:
    """Runs jobs of deploy/examples and remembers their summaries."""

    def __init__(self, run, step):
        self.run = run
        self.step = step
        self.summaries = {}

    def train(self, name, device, job, *settings):
        """Runs a job. Returns whether it has succeeded."""
        directory = os.path.join(self.run.output, name)
        command = [self.run.gradsieve, "train",
                   f"deploy/examples/{job}.textproto",
                   f"--run-dir={directory}",
                   "--set", f'machine.device="{device}"',
                   "--set", "cluster.num_workers=1",
                   "--set", "cluster.num_servers=1"]
        for setting in settings:
            command += ["--set", setting]
        log = self.run.log(name)
        try:
            code = commands.run(command, log, self.run.deadline)
        except commands.TimedOut:
            self.step.fail(f"{name}: not done when the time was over")
            return False
        if code != 0:
            self.step.fail(f"{name}: exit code {code}\n"
                           f"{commands.last_lines(log)}")
            return False
        summary = self._read(name, "summary.json")
        if summary is None:
            return False
        self.summaries[name] = summary
        fact = {key: summary.get(key) for key in
                (summary["metric"], "iterations", "seconds",
                 "samples_per_second")}
        graphs = summary.get("cuda_graphs", {})
        fact["graphs_recorded"] = graphs.get("recorded", 0)
        fact["graphs_failed"] = graphs.get("failed", 0)
        fact["compression_hidden"] = self._hidden(directory)
        self.step.add(name, fact)
        self.step.say(f"ok {name}: {json.dumps(fact)}")
        wants_graphs = device != "cpu" and \
            "machine.cuda_graphs=false" not in settings
        if wants_graphs and (fact["graphs_recorded"] == 0
                             or fact["graphs_failed"] != 0):
            self.step.fail(f"{name}: {fact['graphs_recorded']} CUDA graphs "
                           f"were recorded and {fact['graphs_failed']} failed")
        if not wants_graphs and fact["graphs_recorded"] != 0:
            self.step.fail(f"{name}: {fact['graphs_recorded']} CUDA graphs "
                           "were recorded, though there must be none")
        return True

    def lenet(self, name, device, *settings):
        return self.train(name, device, "lenet_mnist_sidco",
                          f'data.directory="{self.run.data}/mnist"', *settings)

    def resnet(self, name, device, *settings):
        return self.train(name, device, "resnet20_cifar10",
                          f'data.directory="{self.run.data}/cifar10"',
                          f"training.epochs={self.run.epochs}", *settings)

    def expect_accuracy(self, name, cpu, tolerance):
        """Expects that a job is as accurate as that on the CPU."""
        if name not in self.summaries or cpu not in self.summaries:
            return  # It has failed, which has been said.
        metric = self.summaries[cpu]["metric"]
        ours = self.summaries[name][metric]
        theirs = self.summaries[cpu][metric]
        # Written so that a NaN fails, too.
        if not ours >= theirs - tolerance:
            self.step.fail(f"{name}: {metric} {ours:.4f} is more than "
                           f"{tolerance} below {cpu}'s {theirs:.4f}")

    def expect_same_bits(self, one, other):
        if one not in self.summaries or other not in self.summaries:
            return
        files = [os.path.join(self.run.output, name, "weights.safetensors")
                 for name in (one, other)]
        same = filecmp.cmp(*files, shallow=False)
        self.step.add(f"{one} and {other}",
                      "the same bits" if same else "different bits")
        if not same:
            self.step.fail(f"{one} and {other} have different bits")

    def _read(self, name, file):
        path = os.path.join(self.run.output, name, file)
        try:
            with open(path, encoding="utf-8") as opened:
                return json.load(opened)
        except (OSError, ValueError) as error:
            self.step.fail(f"{name}: {path}: {error}")
            return None

    @staticmethod
    def _hidden(directory):
        """The share of compression that ran beside the backward pass, with that
        of writing the answers into the weights."""
        overlapped = total = 0.0
        with open(os.path.join(directory, "metrics.jsonl"),
                  encoding="utf-8") as file:
            for line in file:
                phases = json.loads(line).get("phases", {})
                overlapped += phases.get("overlapped", 0)
                total += phases.get("compress", 0) + phases.get("apply", 0)
        return round(overlapped / total, 3) if total > 0 else 0


def train(run, step):
    jobs = Jobs(run, step)
    device = run.device
    few_threads = f"machine.worker_threads={max(1, (os.cpu_count() or 1) - 4)}"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        # The CPU's jobs take longest, so they run beside the device's.
        on_cpu = pool.submit(lambda: (
            jobs.lenet("lenet_cpu", "cpu", few_threads),
            jobs.resnet("resnet20_cpu", "cpu", few_threads)))
        jobs.lenet("lenet_cuda", device)
        # Deterministic by default.
        jobs.lenet("lenet_again", device)
        jobs.expect_same_bits("lenet_cuda", "lenet_again")
        # Buckets split the graph into several stretches.
        buckets = "training.bucket_megabytes=0.25"
        jobs.lenet("lenet_buckets", device, buckets)
        jobs.lenet("lenet_without_graphs", device, buckets,
                   "machine.cuda_graphs=false")
        jobs.expect_same_bits("lenet_buckets", "lenet_without_graphs")
        jobs.resnet("resnet20_cuda", device)
        jobs.resnet("resnet20_tf32", device, "training.precision=TF32")
        jobs.resnet("resnet20_bf16", device, "training.precision=BF16")
        on_cpu.result()
    for name in ("lenet_cuda", "lenet_buckets"):
        jobs.expect_accuracy(name, "lenet_cpu", LENET_TOLERANCE)
    for name in ("resnet20_cuda", "resnet20_tf32", "resnet20_bf16"):
        jobs.expect_accuracy(name, "resnet20_cpu", RESNET_TOLERANCE)


def trace(run, step):
    done = Jobs(run, step).train(
        "trace", run.device, "resnet20_cifar10",
        f'data.directory="{run.data}/cifar10"', "training.max_iterations=60",
        "compressor.ratio=0.001", "compressor.warmup.stages=0",
        "training.bucket_megabytes=0.25", "training.trace_iteration=50")
    if not done:
        return
    picture = os.path.join(run.output, "trace.svg")
    code = commands.run(
        [os.path.join(run.root, "tools/trace_picture"),
         os.path.join(run.output, "trace/trace.json")], picture, run.deadline)
    if code != 0:
        step.fail(f"tools/trace_picture: exit code {code}\n"
                  f"{commands.last_lines(picture)}")
    step.add("picture", picture)
