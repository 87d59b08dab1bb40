"""The steps `goals`, `step` and `more`: times beside PyTorch's."""
import json
import os

from gpu_run import commands

GOALS = ["--sizes=66e6", "--ratios=0.001",
         "--names=sidco_e,sidco_gp,sidco_p,topk"]
COMPRESSION = [
    ("sizes", ["--sizes=1e6,26e6", "--ratios=0.1,0.01,0.001", "--turns=1"]),
    ("ratios", ["--sizes=66e6", "--ratios=0.1,0.01", "--turns=1"]),
    ("large", ["--sizes=256e6", "--ratios=0.001", "--turns=1"]),
]
RESNET = ["--model=resnet50", "--batch=256", "--goal=1"]
LSTM = ["--model=lstm_lm", "--hidden=1500", "--batch=20", "--goal=1"]
# PyTorch takes its fastest algorithms in all of them.
STEPS = [
    ("resnet50", RESNET),
    ("lstm", LSTM),
    ("resnet50_fastest", [*RESNET, "--fastest"]),
    ("lstm_fastest", [*LSTM, "--fastest"]),
]
MORE_STEPS = [
    ("resnet50_without_graphs", [*RESNET, "--no-graphs"]),
    ("lstm_without_graphs", [*LSTM, "--no-graphs"]),
    ("lstm_128", ["--model=lstm_lm", "--hidden=1500", "--batch=128"]),
    ("vgg16", ["--model=vgg16", "--batch=512"]),
    ("resnet50_compiled", [*RESNET, "--compile"]),
]


def compare(run, step, name, script, options):
    """Runs a comparison with PyTorch, and takes over what it has found."""
    log = run.log(name)
    report = log[:-len(".log")] + ".json"
    if os.path.exists(report):
        os.remove(report)
    try:
        code = commands.run(
            [run.python, os.path.join(run.root, "benchmarks", script),
             f"--device={run.device}", f"--python={run.python}",
             f"--json={report}", *options], log, run.deadline)
    except commands.TimedOut:
        step.fail(f"{name}: not done when the time was over")
        return
    step.say(commands.last_lines(log, 1000))
    if code != 0:
        step.fail(f"{name}: exit code {code}\n{commands.last_lines(log)}")
        return
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    for key, fact in found["figures"].items():
        step.add(f"{name}: {key}", fact)
    for goal in found["goals"]:
        step.add(f"{name}: goal {goal['goal']}",
                 f"{goal['figure']:.2f}, "
                 f"{'reached' if goal['reached'] else 'missed'}")
        if not goal["reached"]:
            step.fail(f"{name}: goal missed: {goal['goal']}; it is "
                      f"{goal['figure']:.2f}")


def compare_steps(run, step, named):
    for name, options in named:
        compare(run, step, f"step_{name}",
                "training_step/compare_with_torch.py",
                ["--precision=bf16", *options])


def goals(run, step):
    compare(run, step, "goals", "compare_compression.py", GOALS)


def steps(run, step):
    compare_steps(run, step, STEPS)


def more(run, step):
    for name, options in COMPRESSION:
        compare(run, step, f"compression_{name}", "compare_compression.py",
                options)
    compare_steps(run, step, MORE_STEPS)
