#!/usr/bin/env python3
"""Trains LeNet-5 on MNIST with each compressor by a PyTorch script and by Gradsieve's
own workers, from the same weights and with the same job but for who computes, and
prints the losses of both on the way and their accuracies at the end, in percent.
Two workers on this host, SGD with momentum in delta mode, ratio 0.01.

    benchmarks/ddp/compare_with_workers.py --python PYTHON --data shared/data/mnist

Both take the images as their data set has them, of mean 0 and deviation 1. The order
of the examples differs, as does that of the sums in their networks.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRADSIEVE = ROOT / "bazel-bin/tools/gradsieve"
BATCH, IMAGES, WARM_UP, RATE = 32, 60000, 100, 0.04
SETTINGS = {name: "" for name in (
    "none", "topk", "chunk_topk", "sidco_e", "sidco_gp", "sidco_p", "dgc", "gaussiank",
    "redsync", "randomk", "scalecom", "adacomp", "powersgd")}
SETTINGS["threshold"] = "threshold { threshold: 0.001 }"
JOB = """name: "compare"
seed: %d
%s
compressor { name: "%s" ratio: 0.01 %s }
cluster { num_workers: 2 num_servers: 2 }
"""
OURS = """model { name: "lenet5" initial_weights: "%s" }
data { name: "mnist" directory: "%s" }
training { batch_size: %d epochs: %d }
worker_optimizer { name: "momentum" learning_rate: %g momentum: 0.9 }
schedule { name: "cosine" warmup_updates: %d }"""
SCRIPT = 'model { name: "external" } worker_optimizer { name: "external" }'


def new_model(seed):
    """That of both, with PyTorch's own first weights."""
    sys.path.insert(0, str(ROOT / "benchmarks/training_step"))
    import torch
    import torch_models
    torch.manual_seed(seed)
    return torch_models.new_model("lenet5")


def write_weights(seed, path):
    sys.path.insert(0, str(ROOT / "tests/fixtures"))
    import safetensors_file
    safetensors_file.save(path, {name: p.detach().numpy() for name, p in
                                 new_model(seed).named_parameters()})


def train(seed, data, epochs):
    """One rank of the script."""
    sys.path.insert(0, str(ROOT / "examples/torch"))
    import gradsieve.torch as gs
    import torch
    from digits import Digits
    from torch import nn
    gs.init()
    model = new_model(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    optimizer = gs.DistributedOptimizer(optimizer, model)
    iterations = epochs * (IMAGES // gs.size() // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: (step + 1) / WARM_UP if step < WARM_UP else
        0.5 + 0.5 * math.cos(math.pi * (step - WARM_UP) / (iterations - WARM_UP)))
    train_images, train_labels = Digits(data, train=True).tensors
    test_images, test_labels = Digits(data, train=False).tensors
    # As our workers do.
    deviation, mean = torch.std_mean(train_images)
    train_images.sub_(mean).div_(deviation)
    test_images.sub_(mean).div_(deviation)
    sampler = torch.utils.data.DistributedSampler(train_labels, gs.size(), gs.rank(),
                                                  seed=seed)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in torch.tensor(list(sampler)).split(BATCH):
            if len(batch) < BATCH:
                continue
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(train_images[batch]),
                                               train_labels[batch])
            gs.record_loss(loss)
            loss.backward()
            optimizer.step()
            schedule.step()
    with gs.server_weights(model), torch.no_grad():
        right = (model(test_images).argmax(1) == test_labels).float().mean().item()
    if gs.is_leader():
        print("accuracy", right)
    gs.finish()


def losses_of(folder):
    """Means over tenths of the training, and the last accuracy, if it is there."""
    losses, accuracy = [], None
    for line in open(folder / "metrics.jsonl", encoding="utf-8"):
        event = json.loads(line)
        if event["event"] == "iteration":
            losses.append(event["training_loss"])
        elif event["event"] == "evaluation":
            accuracy = event["test_accuracy"]
    tenth = len(losses) / 10
    return [sum(part) / len(part) for part in (
        losses[int(i * tenth):int((i + 1) * tenth)] for i in range(10))], accuracy


def run(job, folder, command, environment):
    (folder / "job.textproto").write_text(job, encoding="utf-8")
    done = subprocess.run(
        [GRADSIEVE, "train", folder / "job.textproto", f"--run-dir={folder}/run",
         *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"gradsieve train ended with {done.returncode}:\n{done.stdout}")
    losses, accuracy = losses_of(folder / "run")
    for line in done.stdout.splitlines():
        words = line.split()
        if words[-2:-1] == ["accuracy"] and command:
            accuracy = float(words[-1])
    return losses, accuracy


def compare(options, name, seed):
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"), OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        again = [options.python, __file__, f"--data={options.data}",
                 f"--epochs={options.epochs}", f"--seeds={seed}"]
        weights = folder / "weights.safetensors"
        subprocess.run([*again, f"--write={weights}"], env=environment, check=True)
        results = []
        for what, command in (
                (OURS % (weights, options.data, BATCH, options.epochs, RATE, WARM_UP),
                 []), (SCRIPT, ["--", *again, "--rank"])):
            part = folder / str(len(results))
            part.mkdir()
            results.append(run(JOB % (seed, what, name, SETTINGS[name]), part, command,
                               environment))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--python", help="a Python that has PyTorch")
    parser.add_argument("--data", required=True, help="the folder of MNIST's files")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seeds", default="1", help="as in 1,2,3")
    parser.add_argument("--compressors", default=",".join(SETTINGS))
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.data = os.path.abspath(options.data)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    if options.write:
        write_weights(seeds[0], options.write)
    elif options.rank:
        train(seeds[0], options.data, options.epochs)
    else:
        print("| compressor | seed | | loss in tenths of the training | accuracy |\n"
              "|---|---|---|---|---:|")
        for name in options.compressors.split(","):
            for seed in seeds:
                for who, (losses, accuracy) in zip(
                        ("own", "script"), compare(options, name, seed)):
                    print(f"| `{name}` | {seed} | {who} | "
                          f"{' '.join('%.3f' % loss for loss in losses)} | "
                          f"{100 * accuracy:.2f} |", flush=True)


if __name__ == "__main__":
    main()
