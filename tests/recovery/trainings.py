"""Small trainings for the scripts in this folder that disturb them."""

import argparse
import concurrent.futures
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

JOB = '''
model { name: "lenet5" }
data { name: "digits" digits { train_examples: 2000 test_examples: 200 } }
training { batch_size: 16 epochs: 1000 max_iterations: %d }
compressor { name: "sidco_e" ratio: 0.01 }
optimizer { name: "momentum" learning_rate: 0.04 momentum: 0.9 }
checkpoint { every: 20 }
cluster { num_workers: 2 num_servers: 2 }
machine { worker_threads: 1 }
'''
ITERATIONS = 600


class Failure(Exception):
  pass


class Training:
  """A process of `gradsieve train`, with its children."""

  def __init__(self, command, log, environment=None):
    self.log = log
    # The file may have an earlier part of the same run.
    self.before = os.path.getsize(log) if os.path.exists(log) else 0
    with open(log, 'a') as output:
      self.process = subprocess.Popen(command, stdout=output,
                                      stderr=subprocess.STDOUT, env=environment)

  def Output(self):
    with open(self.log, errors='replace') as file:
      file.seek(self.before)
      return file.read()

  def Pid(self, name):
    """The child that is "server-I" or "worker-R"; None if it does not run."""
    kind, index = name.split('-')
    option = f'--index={index}' if kind == 'server' else f'--rank={index}'
    parent = self.process.pid
    try:
      with open(f'/proc/{parent}/task/{parent}/children') as file:
        children = file.read().split()
      for pid in children:
        with open(f'/proc/{pid}/cmdline') as file:
          words = file.read().split('\0')
        if os.path.basename(words[0]) == kind and option in words:
          return int(pid)
    except OSError:
      pass  # It has just ended.
    return None

  def Fail(self, what):
    self.process.kill()
    self.process.wait()
    raise Failure(f'{what}; the end of {self.log}:\n{self.Output()[-4000:]}')

  def WaitUntil(self, condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
      if self.process.poll() is not None and not condition():
        self.Fail(f'it ended with {self.process.returncode} before {what}')
      if time.monotonic() > end:
        self.Fail(f'not within {seconds} s: {what}')
      time.sleep(0.002)

  def WaitForOutput(self, pattern, seconds=60):
    self.WaitUntil(lambda: re.search(pattern, self.Output()),
                   f'it said "{pattern}"', seconds)

  def WaitForExit(self, code, seconds=60):
    try:
      got = self.process.wait(seconds)
    except subprocess.TimeoutExpired:
      self.Fail(f'it did not end within {seconds} s')
    if got != code:
      self.Fail(f'exit code {got} instead of {code}')

  def Said(self, pattern):
    """The first line that has the pattern; a failure if there is none."""
    for line in self.Output().splitlines():
      if re.search(pattern, line):
        return line
    return self.Fail(f'it did not say "{pattern}"')


class Runs:
  """A folder for runs of one job, and what they must end with."""

  def __init__(self, gradsieve):
    self.gradsieve = os.path.abspath(gradsieve)
    self.folder = tempfile.mkdtemp(
        prefix=os.path.basename(sys.argv[0]) + '.')
    self.job = os.path.join(self.folder, 'job.textproto')
    with open(self.job, 'w') as file:
      file.write(JOB % ITERATIONS)
    self.undisturbed = os.path.join(self.folder, 'undisturbed')
    self.Train(self.undisturbed).WaitForExit(0)

  def Path(self, name):
    return os.path.join(self.folder, name)

  def Program(self, name):
    """The server or the worker, as `gradsieve` finds it."""
    folder = os.path.dirname(self.gradsieve)
    for path in [f'{folder}/{name}', f'{folder}/../{name}/{name}']:
      if os.path.isfile(path):
        return path
    raise Failure(f'there is no program {name} for {self.gradsieve}')

  def Train(self, run, fields=(), environment=None):
    command = [self.gradsieve, 'train', self.job, '--run-dir', run]
    for field in fields:
      command += ['--set', field]
    return Training(command, self.Log(run), environment)

  def Resume(self, run):
    return Training([self.gradsieve, 'train', '--resume', run], self.Log(run))

  def Log(self, run):
    """Never on a disk that fails."""
    return self.Path(os.path.relpath(run, self.folder).replace('/', '-') +
                     '.log')

  def CheckBits(self, run):
    name = 'weights.safetensors'
    if not filecmp.cmp(os.path.join(run, name),
                       os.path.join(self.undisturbed, name), shallow=False):
      raise Failure(f'{run} ended with other weights than undisturbed')

  def Remove(self):
    shutil.rmtree(self.folder)


def Iteration(run):
  """The latest iteration in the metrics of a run."""
  try:
    with open(os.path.join(run, 'metrics.jsonl')) as file:
      return file.read().count('"event":"iteration"')
  except OSError:
    return 0


def RunCase(case, runs):
  try:
    return case(runs), None
  except (Failure, OSError) as failure:
    return None, failure
  except subprocess.CalledProcessError as failure:
    return None, f'{failure}: {failure.stderr}'


def RunCases(description, cases, parallel=False):
  """Runs those that the command line names, or all. Each case takes a Runs,
  and returns what happened, and lines that users have seen."""
  parser = argparse.ArgumentParser(description=description)
  parser.add_argument('--gradsieve', default='bazel-bin/tools/gradsieve',
                      help='the program')
  parser.add_argument('--verbose', action='store_true',
                      help='also show what users are told')
  parser.add_argument('cases', nargs='*', metavar='CASE',
                      help='the beginning of a name; default: all of '
                      f'{"; ".join(cases)}')
  arguments = parser.parse_args()
  if os.geteuid() != 0:
    sys.exit(f'{parser.prog}: must run as root, because it mounts file systems '
             'or makes network namespaces')
  chosen = [name for name in cases
            if name.startswith(tuple(arguments.cases or ['']))]
  if not chosen:
    parser.error('there is no such case')
  runs = Runs(arguments.gradsieve)
  failed = 0
  with concurrent.futures.ThreadPoolExecutor(
      len(chosen) if parallel else 1) as pool:
    running = {pool.submit(RunCase, cases[name], runs): name
               for name in chosen}
    for done in concurrent.futures.as_completed(running):
      result, failure = done.result()
      if failure is not None:
        failed += 1
        print(f'{running[done]}: FAILED: {failure}', flush=True)
        continue
      print(f'{running[done]}: {result[0]}: same bits', flush=True)
      for line in result[1:] if arguments.verbose else []:
        print(f'    {line}', flush=True)
  if failed:
    sys.exit(f'{parser.prog}: {failed} cases failed; see {runs.folder}')
  runs.Remove()
