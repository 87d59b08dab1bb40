"""Asks gradsieve, server and worker what they know. Answers are kept."""

import os
import re
import subprocess
import tempfile

import manifests

# Generated data, and data of files with the same sizes.
STAND_INS = {'cifar10': 'shapes', 'mnist': 'digits'}
GENERATED = 'digits', 'shapes', 'phrases', 'phrase_characters', 'tones'
PATIENCE = 120


class Programs:

  def __init__(self, folder, data):
    self.paths = {name: manifests.Program(name, folder)
                  for name in manifests.PROGRAMS}
    self.data = data and os.path.abspath(data)
    self.answers = {}

  def Ask(self, *key, job=None):
    """The exit code and the output of a program, the first of `key`."""
    key = (*key, job)
    if key not in self.answers:
      program, *arguments, _ = key
      with tempfile.TemporaryDirectory(prefix='gradsieve-job-') as folder:
        if job is not None:
          with open(f'{folder}/job.textproto', 'w', encoding='utf-8') as file:
            file.write(job)
        done = subprocess.run(
            [self.paths[program], *arguments], cwd=folder, timeout=PATIENCE, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
      self.answers[key] = done.returncode, done.stdout.strip()
    return self.answers[key]

  def Help(self, program):
    code, text = self.Ask(program, '--help')
    if code != 0:
      raise manifests.Missing(f'{program} --help fails: {text}')
    return text

  def Options(self, program):
    """The options that the program takes, such as --config."""
    return re.findall(r'^ +(?:-\w, )?(--[a-z-]+)', self.Help(program), re.M)

  def CheckJob(self, job, settings):
    """What is wrong with the job, or "". Reads no data."""
    code, text = self.Ask('gradsieve', 'train', 'job.textproto', *settings, '--check',
                          '--no-data', job=job)
    return '' if code == 0 else text

  def Secrets(self, job):
    """What `gradsieve certs --kubernetes` makes, and what it says if it fails."""
    if ('secrets', job) not in self.answers:
      with tempfile.TemporaryDirectory(prefix='gradsieve-certificates-') as folder:
        try:
          answer = manifests.Secrets(self.paths['gradsieve'], job, folder), ''
        except manifests.Failure as failure:
          answer = [], str(failure)
      self.answers['secrets', job] = answer
    return self.answers['secrets', job]

  def ServerMebibytes(self, job, settings, data_name):
    """The most that one of the job's servers takes. Raises Failure."""
    data = []
    if self.data:
      data = [f'--set=data.directory={self.data}']
    elif data_name in STAND_INS:
      data = [f'--set=data.name={STAND_INS[data_name]}']
    elif data_name not in GENERATED:
      raise manifests.Failure('how much memory it needs cannot be told: it depends on '
                              f'the data "{data_name}"; name its folder with --data')
    code, text = self.Ask('gradsieve', 'plan-memory', 'job.textproto', *settings, *data,
                          job=job)
    bounds = [int(bound) for bound in re.findall(r'at most (\d+) MiB', text)]
    if code != 0 or not bounds:
      raise manifests.Failure(f'how much memory it needs cannot be told: {text}')
    return max(bounds)
