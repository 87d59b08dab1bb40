"""Makes a site of the documents, with navigation and a search.

    docs/site/build [--output=site]

The pages are those of docs/ and of the repository's root. A reference of commands, fields
of a job, metrics and messages comes from the programs of bazel-bin: what they print, and
what a job of theirs serves to Prometheus. Fails if a link or an anchor leads nowhere, if
a page is not in the navigation, or if a page, an alert or the dashboard names a metric
that no process has.
"""

import argparse
import html
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = {name: os.path.join(ROOT, 'bazel-bin', folder, name)
            for folder, name in [('tools', 'gradsieve'), ('server', 'server'),
                                 ('worker', 'worker')]}
PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']
LINK = re.compile(r'\]\(([^)#\s]+)')
METRIC = re.compile(r'\b(?:gradsieve_(?:server|worker|job)|process)_[a-z_]+[a-z]\b')

# Two workers with a stage each, so that servers also relay arrays between workers.
JOB = ['deploy/examples/resnet20_cifar10_stages.textproto', '--set=data.name=shapes',
       '--set=data.shapes.side=32', '--set=data.shapes.train_examples=64',
       '--set=data.shapes.test_examples=8', '--set=training.batch_size=4',
       '--set=training.epochs=1000', '--set=machine.worker_threads=1',
       '--set=checkpoint.every=0', '--set=compressor.name=sidco_e',
       '--set=compressor.sidco.exact_below=1000000000',
       '--set=cluster.num_servers=1', '--set=cluster.num_workers=2']


def printed(*command):
  result = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
  if result.returncode != 0:
    sys.exit(f'{" ".join(command)} failed:\n{result.stdout}')
  return result.stdout


def indented(text):
  return ''.join(f'    {line}'.rstrip() + '\n' for line in text.splitlines())


def commands():
  """The help of every command and program."""
  text = '# Commands\n'

  def add(words):
    nonlocal text
    shown = printed(PROGRAMS['gradsieve'], 'help', *words)
    text += f'\n## {" ".join(["gradsieve", *words])}\n\n{indented(shown)}'
    listed = re.search(r'^Commands:\n((?:  .*\n)+)', shown, re.M)
    if listed:
      for name in re.findall(r'^  ([a-z][a-z-]*)  ', listed.group(1), re.M):
        add([*words, name])

  add([])
  for program in 'server', 'worker':
    text += f'\n## {program}\n\n{indented(printed(PROGRAMS[program], "--help"))}'
  return text


def explained(fields):
  """What `gradsieve explain` says of each of these fields."""
  shown = printed(PROGRAMS['gradsieve'], 'explain', *fields)
  starts = [re.search(rf'^{re.escape(field)}: ', shown, re.M).start() for field in fields]
  return [shown[begin:end] for begin, end in zip(starts, starts[1:] + [None])]


def fields():
  """What each field of a job means."""
  text = ('# Fields of a job\n\nThis is what `gradsieve explain` says of each field. A field of a '
          'group is written `group { field: value }` in a job, and `group.field=value` after '
          '`--set`.\n')
  groups = {}

  def add(path, list_of_fields):
    nonlocal text
    listed = re.findall(r'^  ([a-z_0-9]+) +(\S.*)\n      ', list_of_fields, re.M)
    if tuple(listed) in groups:
      text += f'\nThe fields are those of `{groups[tuple(listed)]}`.\n'
      return
    groups[tuple(listed)] = path
    names = [f'{path}.{name}' if path else name for name, _ in listed]
    inner = []
    text += '\n<dl>\n'
    for name, (_, kind), shown in zip(names, listed, explained(names)):
      what, _, meaning = shown.partition('\n\n')
      if kind.endswith('group'):
        meaning, _, below = meaning.partition('\n\n')
        inner.append((name, below))
      # A blank line would end the list.
      meaning = html.escape(re.sub('^ +', '', meaning, flags=re.M).strip())
      text += (f'<dt><code>{name}</code> {html.escape(what.partition(": ")[2])}</dt>\n'
               '<dd>' + meaning.replace('\n\n', '\n&nbsp;\n') +
               '</dd>\n')
    text += '</dl>\n'
    for name, below in inner:
      text += f'\n{"###" if "." in name else "##"} {name}\n'
      add(name, below)

  add('', printed(PROGRAMS['gradsieve'], 'explain'))
  return text


def free_ports(number):
  """The first of so many free ports in a row."""
  while True:
    with socket.socket() as first:
      first.bind(('127.0.0.1', 0))
      port = first.getsockname()[1]
      try:
        for offset in range(1, number):
          with socket.socket() as other:
            other.bind(('127.0.0.1', port + offset))
        return port
      except OSError:
        continue


def scraped():
  """What a server and two workers serve after an evaluation."""
  with tempfile.TemporaryDirectory() as folder:
    port = free_ports(3)
    log = os.path.join(folder, 'log')
    with open(log, 'w') as output:
      job = subprocess.Popen(
          [PROGRAMS['gradsieve'], 'train', os.path.join(ROOT, JOB[0]), *JOB[1:],
           f'--run-dir={folder}/run', f'--metrics-listen=127.0.0.1:{port}'],
          stdout=output, stderr=subprocess.STDOUT)
      try:
        deadline = time.monotonic() + 120
        text = ''
        while 'gradsieve_job_evaluation{' not in text:
          if job.poll() is not None or time.monotonic() > deadline:
            sys.exit(f'the job whose metrics are to be listed did not train:\n{open(log).read()}')
          time.sleep(0.2)
          text = ''
          try:
            for process in range(3):
              with urllib.request.urlopen(
                  f'http://127.0.0.1:{port + process}/metrics') as answer:
                text += answer.read().decode()
          except OSError:
            pass  # It does not listen yet.
        return text
      finally:
        job.send_signal(signal.SIGINT)
        job.wait()


def metrics():
  """Name, type, labels and meaning of each metric."""
  text = scraped()
  helps = dict(re.findall(r'^# HELP (\S+) (.*)$', text, re.M))
  types = dict(re.findall(r'^# TYPE (\S+) (.*)$', text, re.M))
  labels = {name: {} for name in helps}
  for name, given in re.findall(r'^(\w+)\{([^}]*)\}', text, re.M):
    family = name if name in helps else re.sub(r'_(bucket|sum|count)$', '', name)
    for label, value in re.findall(r'(\w+)="([^"]*)"', given):
      if label != 'le':
        labels[family].setdefault(label, set()).add(value)

  def label_text(name, label):
    # Others have the values of this job.
    if label not in ('kind', 'phase'):
      return f'`{label}`'
    return f'`{label}`: {", ".join(sorted(labels[name][label]))}'

  page = ('# Metrics\n\nWhat processes serve to Prometheus at `--metrics-listen`, as their '
          '`# HELP` lines say.\n')
  for kind, title in [('gradsieve_server', 'Servers'), ('gradsieve_worker', 'Workers'),
                      ('gradsieve_job', 'Worker 0, of the whole job'),
                      ('process', 'Every process')]:
    page += f'\n## {title}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n'
    for name in sorted(helps):
      if name.startswith(kind):
        with_labels = ', '.join(label_text(name, each) for each in sorted(labels[name]))
        page += f'| `{name}` | {types[name]} | {with_labels} | {helps[name]} |\n'
  return page, set(helps)


def check_metrics(names):
  """Whether all metrics that are written about exist."""
  for folder in 'docs', 'deploy/monitoring', 'deploy/k8s/components/monitoring':
    for file in sorted(os.listdir(os.path.join(ROOT, folder))):
      path = os.path.join(ROOT, folder, file)
      if not file.endswith(('.md', '.yml', '.yaml', '.json')):
        continue
      with open(path) as text:
        for used in sorted(set(METRIC.findall(text.read()))):
          if used not in names and re.sub(r'_(bucket|sum|count)$', '', used) not in names:
            sys.exit(f'{folder}/{file} names {used}, which no process serves')


def copy(path, tree):
  """A file of the repository, with what its links lead to."""
  target = os.path.join(tree, path)
  if os.path.exists(target):
    return
  os.makedirs(os.path.dirname(target), exist_ok=True)
  shutil.copy(os.path.join(ROOT, path), target)
  if not path.endswith('.md'):
    return
  with open(target) as text:
    for link in LINK.findall(text.read()):
      linked = os.path.normpath(os.path.join(os.path.dirname(path), link))
      # What is not there is left for mkdocs to report.
      if '://' not in link and os.path.isfile(os.path.join(ROOT, linked)):
        copy(linked, tree)


def slug(heading, separator):
  """The anchor that GitHub gives a heading."""
  return re.sub(r'[^\w\- ]', '', heading.strip().lower()).replace(' ', separator)


def main():
  parser = argparse.ArgumentParser(
      prog='docs/site/build', description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--output', default=os.path.join(ROOT, 'site'))
  arguments = parser.parse_args()
  for name, path in PROGRAMS.items():
    if not os.access(path, os.X_OK):
      sys.exit(f'docs/site/build: the program {name} is not built; run ./quickstart --no-run')
  logging.basicConfig(level=logging.WARNING, format='docs/site/build: %(message)s')
  metrics_page, names = metrics()
  check_metrics(names)
  with tempfile.TemporaryDirectory() as tree:
    for page in PAGES + [f'docs/{each}' for each in os.listdir(os.path.join(ROOT, 'docs'))
                         if each.endswith('.md')]:
      copy(page, tree)
    with open(os.path.join(ROOT, 'tests', 'documents', 'mistakes.md')) as file:
      messages = file.read()
    os.mkdir(os.path.join(tree, 'reference'))
    for name, text in [('commands', commands()), ('config', fields()),
                       ('metrics', metrics_page), ('messages', messages)]:
      with open(os.path.join(tree, 'reference', name + '.md'), 'w') as file:
        file.write(text)
    config = load_config(os.path.join(HERE, 'mkdocs.yml'), docs_dir=tree,
                         site_dir=os.path.abspath(arguments.output), strict=True)
    config.mdx_configs['toc'] = {'slugify': slug}
    try:
      build(config)
    except MkDocsException as error:
      sys.exit(f'docs/site/build: {error}')
  print(f'The site is in {arguments.output}')


if __name__ == '__main__':
  main()
