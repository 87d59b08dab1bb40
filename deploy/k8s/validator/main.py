"""Renders the base, every overlay, and the base with each component, and checks the
results without a cluster.

Needs kubectl or kustomize, and the programs gradsieve, server and worker. Exit codes: 0
all is well, 1 it found errors, 64 wrong command line, 69 something is not installed."""

import argparse
import os
import subprocess
import sys
import tempfile

import yaml

import manifests
from planting import Plant
from programs import Programs
from rendering import Rendering
from rules import RULES, SCHEMA_RULES

EXIT_ERRORS, EXIT_USAGE, EXIT_MISSING = 1, 64, 69


def Arguments():
  parser = argparse.ArgumentParser(
      prog='deploy/k8s/validate', description=__doc__, allow_abbrev=False,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.error = lambda text: (
      print(f'deploy/k8s/validate: {text}; see --help', file=sys.stderr),
      sys.exit(EXIT_USAGE))
  parser.add_argument('--programs', metavar='DIR', help='the folder with gradsieve, '
                      'server and worker; default: where Bazel has built them')
  parser.add_argument('--data', metavar='DIR',
                      help='the data of jobs whose model depends on it')
  parser.add_argument('--self-test', action='store_true',
                      help='plant one error after the other in the rendered manifests, '
                      'and fail unless exactly the rule for it reports it')
  return parser.parse_args()


def Folders(name):
  return [f'{name}/{each.name}' for each in sorted(
      os.scandir(f'{manifests.FOLDER}/{name}'), key=lambda each: each.name)
          if each.is_dir()]


def Combined(resources, components):
  """Renders several folders and files as one overlay would."""
  with tempfile.TemporaryDirectory(prefix='gradsieve-k8s-') as folder:
    def From(paths):
      return [os.path.relpath(f'{manifests.FOLDER}/{path}', os.path.realpath(folder))
              for path in paths]
    with open(f'{folder}/kustomization.yaml', 'w', encoding='utf-8') as file:
      yaml.safe_dump({
          'apiVersion': 'kustomize.config.k8s.io/v1beta1', 'kind': 'Kustomization',
          'resources': From(resources), 'components': From(components)}, file)
    return manifests.Render(folder)


# What `gradsieve manifests` is asked for.
WRITTEN = {
    'manifests': ['--workers=6', '--servers=3', '--server-memory=2Gi'],
    'manifests with cert-manager': [
        '--workers=3', '--cert-manager', '--worker-cpus=2', '--worker-memory=4Gi',
        '--component=deploy/k8s/components/monitoring', '--data-claim=gradsieve-data',
        '--set=data.name=cifar10', '--set=data.directory=/data',
        '--set=model.name=resnet20'],
}


def Written(options, programs):
  with tempfile.TemporaryDirectory(prefix='gradsieve-k8s-') as folder:
    subprocess.run(
        [programs.paths['gradsieve'], 'manifests', 'deploy/k8s/base/job.textproto',
         '--name=run-1', f'--output={folder}/run', *options],
        cwd=manifests.REPOSITORY, check=True, stdout=subprocess.DEVNULL)
    objects = manifests.Render(f'{folder}/run')
  if '--data-claim=gradsieve-data' in options:
    # The claim is not the run's.
    with open(f'{manifests.FOLDER}/overlays/production/data-claim.yaml',
              encoding='utf-8') as claim:
      objects += manifests.FromYaml(claim.read())
  return objects


def Targets(programs):
  """Each overlay, and what else people may apply: names and objects."""
  for name in ['base', *Folders('overlays')]:
    yield name, manifests.Render(f'{manifests.FOLDER}/{name}')
  for name, options in WRITTEN.items():
    yield name, Written(options, programs)
  for resources, components in (
      # overlays/script has the job that this component needs.
      *((['base'], [name]) for name in Folders('components')
        if name != 'components/script'),
      (['base', 'copy/workers.yaml'], []),
      (['overlays/production', 'copy/data.yaml'], [])):
    yield ' + '.join(resources + components), Combined(resources, components)


def FindErrors(objects, programs):
  """What is wrong, as pairs of a rule and a line."""
  m = Rendering(objects, programs)
  for rules in SCHEMA_RULES, RULES:
    found = [(rule, line) for rule in rules for line in rule.Errors(m)]
    if found:
      break
  return found


def CheckAll(targets, programs):
  """Prints the errors of each target. Returns their number."""
  count = 0
  for name, objects in targets.items():
    found = FindErrors(objects, programs)
    print(f'{name}: {len(objects)} objects, {len(found) or "no"} errors')
    for _, line in found:
      print(f'  {line}')
    count += len(found)
  print(f'{len(SCHEMA_RULES + RULES)} rules, {len(targets)} renderings, {count} errors')
  return count


def TestRules(targets, programs):
  """Exactly the rule for it must report a planted error, and each rule must have one
  that it reports. Returns the number of failures."""
  results = []
  for rule in SCHEMA_RULES + RULES:
    for change in rule.planted or ['nothing is planted']:
      found = rule.planted and FindErrors(*Plant(targets, change, programs))
      results.append({each for each, _ in found} == {rule})
      print('ok  ' if results[-1] else 'FAIL', f'{rule.line} | {change}')
      if not results[-1]:
        print('\n'.join(['     reported:', *(f'     {line}' for _, line in found)]))
  print(f'{len(results)} planted errors, {results.count(False)} failures')
  return results.count(False)


def Main():
  arguments = Arguments()
  try:
    programs = Programs(arguments.programs, arguments.data)
    targets = dict(Targets(programs))
    count = CheckAll(targets, programs)
    if arguments.self_test and count == 0:
      count = TestRules(targets, programs)
  except manifests.Missing as missing:
    print(f'deploy/k8s/validate: {missing}', file=sys.stderr)
    sys.exit(EXIT_MISSING)
  except (manifests.Failure, subprocess.SubprocessError) as failure:
    print(f'deploy/k8s/validate: {failure}', file=sys.stderr)
    sys.exit(EXIT_ERRORS)
  sys.exit(EXIT_ERRORS if count else 0)


Main()
