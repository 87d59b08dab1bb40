"""The steps `tests` and `sanitizer`: the cases that use a device."""
import concurrent.futures
import json
import os
import re

from gpu_run import commands

# Where a case needs a device, its name says so (tests/tensor/require_device.h).
CASES = "*cuda*:*OnDevice*-*emulated*:*Emulated*"
# Programs whose device is emulated, and the rehearsal of this one.
NO_DEVICE = re.compile(r"(emulated_[^/]*|/on_gpu_test)$")
# Forbids to skip for want of a device.
REQUIRE = {"GRADSIEVE_REQUIRE_DEVICE": "1"}
# One allocation for each array, so that memcheck sees what overruns it.
SEPARATE = {"GRADSIEVE_CUDA_SEPARATE_ALLOCATIONS": "1"}
# Layers and models call cuDNN, with which a sanitizer takes hours.
SANITIZED = "tests/compressors/"
# A program is divided into parts of about this many cases, which run at once.
CASES_OF_SHARD = 32


def all_programs(root):
    listed = os.path.join(root, "TESTS")
    if os.path.exists(listed):
        with open(listed, encoding="utf-8") as file:
            programs = file.read().split()
    else:
        programs = []
        top = os.path.join(root, "bazel-bin")
        for folder, _, names in os.walk(os.path.join(top, "tests")):
            programs += [os.path.relpath(os.path.join(folder, name), top)
                         for name in names if name.endswith("_test")
                         and os.access(os.path.join(folder, name), os.X_OK)
                         and ".runfiles" not in folder]
    return sorted(name for name in programs if not NO_DEVICE.search(name))


def programs_with_cases(run, step):
    """The programs that have cases for a device, with the number of these."""
    def cases(program):
        log = run.log("list_" + program.replace("/", "."))
        code = commands.run(
            [run.program(program), f"--gtest_filter={CASES}",
             "--gtest_list_tests"], log, run.deadline)
        text = commands.last_lines(log, 100000)
        if code != 0:
            step.fail(f"{program} does not list its cases: exit code {code}")
            return 0
        os.remove(log)
        return sum(line.startswith("  ") for line in text.splitlines())
    programs = all_programs(run.root)
    with concurrent.futures.ThreadPoolExecutor(run.jobs) as pool:
        counts = list(pool.map(cases, programs))
    found = {p: count for p, count in zip(programs, counts) if count > 0}
    if not found:
        step.fail("there is no test program with cases for a device; build "
                  "//tests/... or unpack the bundle again")
    return found


class Program:
    """The cases of a program, which run in several shards."""

    def __init__(self, name):
        self.name = name
        self.fact = {"device_cases": 0, "other_cases": 0, "seconds": 0.0,
                     "failed": [], "skipped": []}

    def add_report(self, path):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        for suite in report["testsuites"]:
            for case in suite["testsuite"]:
                if case["status"] != "RUN":
                    continue
                name = f"{case['classname']}.{case['name']}"
                kind = "device_cases" if "device" in case else "other_cases"
                self.fact[kind] += 1
                self.fact["seconds"] += float(case["time"].rstrip("s"))
                if case.get("failures"):
                    self.fact["failed"].append(name)
                elif case["result"] == "SKIPPED":
                    self.fact["skipped"].append(name)


def run_shard(run, program, shard, shards, wrapper, environment):
    """Runs a part of a program. Returns (what failed or "", path of report)."""
    name = f"{wrapper[0]}." if wrapper else ""
    name += f"{program.replace('/', '.')}.{shard}"
    report = run.log(name)[:-len(".log")] + ".json"
    log = run.log(name)
    if os.path.exists(report):
        os.remove(report)
    try:
        code = commands.run(
            wrapper[1:] + [run.program(program), f"--gtest_filter={CASES}",
                           f"--gtest_output=json:{report}"],
            log, run.deadline,
            dict(REQUIRE, GTEST_TOTAL_SHARDS=str(shards),
                 GTEST_SHARD_INDEX=str(shard), **environment))
    except commands.TimedOut:
        return f"{program}: not done when the time was over", report
    if code != 0:
        return f"{program}: exit code {code}\n{commands.last_lines(log)}", report
    if not os.path.exists(report):
        return f"{program}: ended well but has written no report", report
    return "", report


def run_programs(run, step, programs, wrapper=(), environment=None):
    """Runs the programs in parallel and judges what they report.

    `programs` has the number of each program's cases.
    """
    prefix = f"{wrapper[0]} " if wrapper else ""
    with concurrent.futures.ThreadPoolExecutor(run.jobs) as pool:
        shards = []
        for program, cases in programs.items():
            count = -(-cases // CASES_OF_SHARD)
            shards += [(program, pool.submit(
                run_shard, run, program, shard, count, list(wrapper),
                environment or {})) for shard in range(count)]
        for name in programs:
            program = Program(name)
            problems = []
            for of, future in shards:
                if of != name:
                    continue
                problem, report = future.result()
                if problem:
                    problems.append(problem)
                if os.path.exists(report):
                    program.add_report(report)
            judge(step, program, problems, prefix)


def judge(step, program, problems, prefix):
    fact = program.fact
    for case in fact["failed"]:
        problems.append(f"{program.name}: {case} failed")
    if fact["skipped"]:
        problems.append(f"{program.name}: {len(fact['skipped'])} cases were "
                        f"skipped: {', '.join(fact['skipped'][:5])}")
    if not problems and fact["device_cases"] == 0:
        problems.append(f"{program.name}: no case has used the device")
    fact["seconds"] = round(fact["seconds"], 1)
    step.add(prefix + program.name,
             dict(cases=fact["device_cases"] + fact["other_cases"],
                  num_failed=len(fact["failed"]),
                  num_skipped=len(fact["skipped"]), **fact))
    step.say(f"{'FAILED' if problems else 'ok'} {prefix}{program.name}: "
             f"{fact['device_cases']} cases on the device, "
             f"{fact['other_cases']} others, {fact['seconds']} s")
    for problem in problems:
        step.fail(prefix + problem)


def tests(run, step):
    run_programs(run, step, programs_with_cases(run, step))


def sanitizer(run, step):
    programs = {name: cases
                for name, cases in programs_with_cases(run, step).items()
                if name.startswith(SANITIZED)}
    for tool in ("memcheck", "racecheck"):
        run_programs(run, step, programs,
                     [tool, "compute-sanitizer", "--tool", tool,
                      "--target-processes", "all", "--error-exitcode", "9"],
                     SEPARATE)
