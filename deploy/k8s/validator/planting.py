"""Plants errors in rendered objects. A change is one of

  KIND[/NAME] PART... = YAML        delete KIND[/NAME] PART...
  KIND[/NAME] PART... += YAML       KIND[/NAME] PART...: OLD -> NEW

or several, with "; " between them, and " @OVERLAY" at the end if it is not for the
base. A part is a field, or the number or the name of an element of a list. += appends
to a list, which need not be there; -> replaces in a text or in one of several. "no
Secrets" is a gradsieve that makes none."""

import copy
import re

import yaml

import manifests

PARTS = {'POD': 'spec template spec', 'CONTAINER': 'spec template spec containers 0',
         'JOB': 'ConfigMap/gradsieve-job data job.textproto'}
CHANGE = re.compile(
    r'(?P<delete>delete )?(?P<where>.+?)'
    r'(?: (?P<set>\+?=) (?P<value>.*)|: (?P<old>.*) -> (?P<new>.*))?', re.S)


def Key(holder, part):
  if not isinstance(holder, list):
    return part
  if re.fullmatch(r'-?\d+', part):
    return int(part)
  return next(i for i, each in enumerate(holder) if each['name'] == part)


def Change(objects, change):
  found = CHANGE.fullmatch(change)
  kind, *parts = re.sub(r'\b[A-Z]+\b', lambda word: PARTS.get(word[0], word[0]),
                        found['where']).split()
  holder = manifests.Find(objects, *kind.split('/'))
  for part in parts[:-1]:
    holder = holder[Key(holder, part)]
  key = Key(holder, parts[-1])
  if found['delete']:
    del holder[key]
  elif found['set'] == '=':
    holder[key] = yaml.safe_load(found['value'])
  elif found['set'] == '+=':
    holder.setdefault(key, []).append(yaml.safe_load(found['value']))
  else:
    old, new = found['old'], found['new']
    changed = ([each.replace(old, new) for each in holder[key]]
               if isinstance(holder[key], list) else holder[key].replace(old, new, 1))
    if changed == holder[key]:
      raise manifests.Failure(f'nothing says {old}')
    holder[key] = changed


def Plant(targets, change, programs):
  """The objects and the programs of a target with these errors."""
  change, _, overlay = change.partition(' @')
  objects = copy.deepcopy(targets[f'overlays/{overlay}' if overlay else 'base'])
  programs = copy.copy(programs)
  if change == 'no Secrets':
    programs.Secrets = lambda job: ([], 'no such option')
  else:
    for each in change.split('; '):
      Change(objects, each)
  return objects, programs
