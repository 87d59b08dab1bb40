"""Renders the manifests of this folder, reads them, and asks the programs that they
run: what `validate` and deploy/images/train_in_pods have in common."""

import os
import re
import shutil
import subprocess

try:
  import yaml
except ImportError:  # Both programs look for it before they need it.
  yaml = None

FOLDER = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(FOLDER))
# Where Bazel builds the programs.
PROGRAMS = {'gradsieve': 'tools', 'server': 'server', 'worker': 'worker'}
# How to ask for the version, the first one that knows components, and how to render.
RENDERERS = (
    (('kubectl', 'version', '--client'), (1, 21), ('kubectl', 'kustomize')),
    (('kustomize', 'version'), (4, 0), ('kustomize', 'build')),
)
SUFFIXES = {'': 1, 'm': 1e-3, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12,
            'Ki': 1 << 10, 'Mi': 1 << 20, 'Gi': 1 << 30, 'Ti': 1 << 40}


class Failure(Exception):
  """What was asked for cannot be done; the message says why."""


class Missing(Exception):
  """Something is not installed or not built."""


def Renderer():
  for version, first, command in RENDERERS:
    if shutil.which(version[0]):
      shown = subprocess.run(version, capture_output=True, text=True, check=False)
      found = re.search(r'v(\d+)\.(\d+)', shown.stdout)
      if found and tuple(map(int, found.groups())) >= first:
        return command
  raise Missing('no kubectl or kustomize that knows components; install kubectl 1.21 '
                'or later (Debian\'s kubernetes-client is 1.20), or kustomize 4 or '
                'later')


def FromYaml(text):
  """The objects of a YAML stream. It is YAML 1.1, where 0440 is an octal number."""
  try:
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]
  except yaml.YAMLError as error:
    raise Failure(f'this is no YAML: {error}') from error


def Render(folder):
  done = subprocess.run(
      [*Renderer(), '--load-restrictor=LoadRestrictionsNone', folder],
      capture_output=True, text=True, check=False)
  if done.returncode != 0:
    raise Failure(f'{folder} cannot be rendered: {done.stderr.strip()}')
  return FromYaml(done.stdout)


def Find(objects, kind, name=None):
  """The only object of this kind, or the one with this name."""
  found = [each for each in objects if each['kind'] == kind and
           name in (None, each['metadata']['name'])]
  if len(found) != 1:
    raise Failure(f'{len(found)} objects are {kind} {name or ""}')
  return found[0]


def JobText(objects):
  """The text of the job that all processes read."""
  return Find(objects, 'ConfigMap', 'gradsieve-job')['data']['job.textproto']


def Quantity(text):
  """"1Gi", "500m" or 2 as a number."""
  found = re.fullmatch(r'([0-9.]+)([A-Za-z]*)', str(text))
  if not found or found[2] not in SUFFIXES:
    raise Failure(f'{text} is no quantity, such as 500m or 1Gi')
  return float(found[1]) * SUFFIXES[found[2]]


def Program(name, folder=None):
  """The path of a program of ours, in `folder` or where Bazel has built it."""
  path = os.path.abspath(os.path.join(
      folder or f'{REPOSITORY}/bazel-bin/{PROGRAMS[name]}', name))
  if not os.access(path, os.X_OK):
    raise Missing(f'there is no program {path}; ./quickstart --no-run builds it, or '
                  'name its folder with --programs')
  return path


def Secrets(gradsieve, job_text, folder):
  """Those that `gradsieve certs --kubernetes` makes, in `folder`."""
  with open(f'{folder}/job.textproto', 'w', encoding='utf-8') as file:
    file.write(job_text)
  done = subprocess.run(
      [gradsieve, 'certs', 'job.textproto', '--output=certificates', '--kubernetes'],
      cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
      check=False)
  if done.returncode != 0:
    raise Failure(f'gradsieve certs --kubernetes: {done.stdout.strip()}')
  with open(f'{folder}/certificates/secrets.yaml', encoding='utf-8') as file:
    return FromYaml(file.read())
