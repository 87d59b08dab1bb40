"""The common part of the scripts in this folder, which train with `gradsieve`."""

import argparse
import json
import os
import re
import subprocess
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))
JOB = os.path.join(_FOLDER, 'convergence.textproto')
_GRADSIEVE = os.path.join(_FOLDER, '..', 'bazel-bin', 'tools', 'gradsieve')


class Failure(Exception):
  """An error that ends the script with a message for the user."""


def Parser(description):
  """A parser with the option that all scripts have."""
  parser = argparse.ArgumentParser(description=description)
  parser.add_argument('--gradsieve', metavar='FILE', default=_GRADSIEVE,
                      help='the program; bazel-bin/tools/gradsieve')
  return parser


def Arguments(description, data="the folder of MNIST's four IDX files",
              epochs=3):
  """A parser with the options of scripts that train for accuracy."""
  parser = Parser(description)
  parser.add_argument('--data', metavar='DIR', required=True, help=data)
  parser.add_argument('--runs', metavar='DIR', required=True,
                      help='a new folder, for the runs and the report')
  parser.add_argument('--epochs', metavar='N', type=int, default=epochs)
  return parser


def Main(run, parser):
  """Calls run(arguments), a function that returns the exit code."""
  try:
    sys.exit(run(parser.parse_args()))
  except Failure as failure:
    sys.exit(f'{os.path.basename(sys.argv[0])}: {failure}')
  except KeyboardInterrupt:
    sys.exit(130)


def _Call(arguments, command):
  try:
    return subprocess.run([arguments.gradsieve] + command, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
  except OSError as error:
    raise Failure(f'cannot run {arguments.gradsieve}: {error.strerror}; build '
                  'it with: bazel build --config=opt //tools:gradsieve')


def Train(arguments, name, fields, job=JOB):
  """Trains `job` with these fields ("name=value"). Returns the run directory."""
  directory = os.path.join(arguments.runs, re.sub(r'[^\w.+-]+', '_', name))
  command = ['train', job, '--run-dir', directory]
  standard = ['name=' + name, 'data.directory=' + arguments.data]
  if arguments.epochs is not None:
    standard.append(f'training.epochs={arguments.epochs}')
  for field in standard + fields:
    command += ['--set', field]
  done = _Call(arguments, command)
  if done.returncode != 0:
    raise Failure(f'the run "{name}" failed:\n{done.stderr.strip()}')
  return directory


def Summary(directory):
  with open(os.path.join(directory, 'summary.json')) as file:
    return json.load(file)


def Evaluations(directory):
  """The evaluations in metrics.jsonl."""
  return _Rows(directory, 'evaluation')


def Iterations(directory):
  """The iterations in metrics.jsonl."""
  return _Rows(directory, 'iteration')


def Start(directory):
  """The first line of metrics.jsonl, which says what was trained."""
  return _Rows(directory, 'start')[0]


def _Rows(directory, event):
  with open(os.path.join(directory, 'metrics.jsonl')) as file:
    rows = [json.loads(line) for line in file]
  return [row for row in rows if row['event'] == event]


def Report(arguments, directories, name, times=None):
  """Draws the runs on a page; with `times`, as if an iteration of each took so
  many seconds. Returns the page's path."""
  page = os.path.join(arguments.runs, name)
  done = _Call(arguments, ['report'] + directories + ['--output', page] +
               _Times(times))
  if done.returncode != 0:
    raise Failure(f'no report: {done.stderr.strip()}')
  return page


def Draw(directories, path, y, x, times=None):
  """Draws the runs as a picture for documents."""
  os.makedirs(os.path.dirname(path), exist_ok=True)
  with open(path, 'w') as file:
    subprocess.run([os.path.join(_FOLDER, 'draw_runs'), f'--y={y}', f'--x={x}'] +
                   directories + _Times(times), check=True, stdout=file)


def _Times(times):
  return (['--seconds-per-iteration', ','.join(map(str, times))] if times else [])
