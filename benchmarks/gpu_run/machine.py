"""The step `machine`: the device, its driver, and whether `gradsieve doctor`
finds everything that training on a device needs."""
import os
import subprocess

from gpu_run import commands


def commit(root):
    version = os.path.join(root, "VERSION")
    if os.path.exists(version):
        with open(version, encoding="utf-8") as file:
            return file.read().strip()
    done = subprocess.run(
        ["git", "describe", "--always", "--abbrev=40", "--dirty"], cwd=root,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        check=False)
    return done.stdout.strip() or "unknown"


def machine(run, step):
    log = run.log("nvidia_smi")
    code = commands.run(
        ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,uuid",
         "--format=csv,noheader"], log, run.deadline)
    text = commands.last_lines(log).strip()
    if code != 0 or not text:
        step.fail(f"nvidia-smi shows no device: {text}")
    else:
        step.add("gpu", text)
    step.add("cpus", os.cpu_count())
    log = run.log("doctor")
    code = commands.run([run.gradsieve, "doctor", "--require-cuda"], log,
                        run.deadline)
    text = commands.last_lines(log, 200)
    step.say(text)
    step.add("doctor", text.splitlines())
    if code != 0:
        missing = [line.strip() for line in text.splitlines()
                   if "MISSING" in line]
        step.fail(f"gradsieve doctor --require-cuda: exit code {code}; "
                  + ("; ".join(missing) or "see doctor.log"))
