"""The objects of one rendering, and what the rules ask of them."""

import functools
import re

import manifests

TOKEN = re.compile(
    r'''#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}<>[\]:;,]|[^\s{}<>[\]:;,"'#]+''')


class Map(dict):
  """A map of a manifest. Its fields are attributes, too; one that is absent is an
  empty map."""

  def __missing__(self, key):
    return Map()

  def __getattr__(self, name):
    if name.startswith('__'):
      raise AttributeError(name)
    return self[name]


def Mapped(each):
  """The same with Maps, and without what is null."""
  if isinstance(each, dict):
    return Map({key: Mapped(value) for key, value in each.items() if value is not None})
  if isinstance(each, list):
    return [Mapped(value) for value in each if value is not None]
  return each


def ParseJob(text):
  """A map from "cluster.num_workers" to ["2"]. `gradsieve train --check` judges
  whether the job is valid."""
  fields, path, name, is_value, is_list = {}, [], '', False, False
  for token in TOKEN.findall(text):
    if token in '{<':
      path.append(name)
      is_value = is_list = False
    elif token in '}>':
      name = path.pop() if path else ''
    elif token in '[]':
      is_list = token == '['
    elif token == ':':
      is_value = True
    elif token in ',;' or token[0] == '#':
      continue
    elif is_value or is_list:
      fields.setdefault('.'.join([*path, name]), []).append(token.strip('"\''))
      is_value = False
    else:
      name = token
  return fields


# What a script gets in place of the worker's options (docs/pytorch.md).
SCRIPT_VARIABLES = {'GRADSIEVE_JOB': 'config', 'GRADSIEVE_RUN_DIR': 'run-dir',
                    'GRADSIEVE_METRICS_LISTEN': 'metrics-listen'}


def Selects(selector, labels):
  """Whether a matchLabels selector selects these labels. An empty one selects all."""
  return selector.matchLabels.items() <= labels.items()


def Name(each):
  return f'{each.kind} {each.metadata.name}'


def Quantity(text):
  return manifests.Quantity(text or 0)


class Pod:
  """A pod's template. `role` is the program of ours that it runs, if it does."""

  def __init__(self, m, owner, template, job=None, replicated_job=None):
    self.m, self.owner = m, owner
    self.job, self.replicated_job = job or Map(), replicated_job  # Its spec and name.
    self.name = Name(owner) + (f' ({replicated_job})' if replicated_job else '')
    self.spec = template.spec
    self.container = (template.spec.containers or [Map()])[0]
    self.labels = template.metadata.labels
    self.annotations = template.metadata.annotations
    self.replicas = self.job.completions or owner.spec.replicas or 1
    self.claims = [Map(claim.metadata, name=claim.metadata.name or '',
                       persistentVolumeClaim=Map())
                   for claim in owner.spec.volumeClaimTemplates]
    self.volumes = [*self.spec.volumes, *self.claims]
    self.mounts = list(self.container.volumeMounts)
    self.image = self.container.image or ''
    self.requests, self.limits = (
        self.container.resources.requests, self.container.resources.limits)
    self.security, self.own = (
        self.spec.securityContext, self.container.securityContext)
    name = self.container.name
    self.role = name if name in ('server', 'worker') else None
    self.settings = [arg for arg in self.container.args if arg.startswith('--set=')]

  @property
  def is_external(self):
    """Whether the job's workers are scripts."""
    return self.Text('model.name') == 'external'

  @property
  def is_script(self):
    return self.is_external and self.role == 'worker'

  @functools.cached_property
  def arguments(self):
    """Those of our program, or what stands for them."""
    if not self.is_script:
      return list(self.container.args)
    return [f'--{SCRIPT_VARIABLES[each.name]}={each.value}'
            for each in self.container.env if each.name in SCRIPT_VARIABLES]

  @functools.cached_property
  def fields(self):
    """The job as the pod's process reads it."""
    changed = (setting.split('=', 2)[1:] for setting in self.settings)
    return {**ParseJob(self.m.job_text), **{name: value for name, *value in changed}}

  def Text(self, field):
    """Of the job; None if it does not say."""
    return (self.fields.get(field) or [None])[-1]

  def Number(self, field):
    text = self.Text(field) or ''
    return int(text) if text.isdigit() else 0

  def Options(self, name):
    """The values of an option."""
    return [arg[len(name) + 3:] for arg in self.arguments
            if arg.startswith(f'--{name}=')]

  def Port(self, port):
    """The number of a port with this name or number; None if there is none."""
    return next((each.containerPort for each in self.container.ports
                 if port in (each.name, each.containerPort)), None)

  def Volume(self, name):
    """Empty if there is none."""
    return next((each for each in self.volumes if each.name == name), Map())

  def Mounted(self, path):
    """The innermost mount that holds a path, and its volume; empty if there is none."""
    mounts = [mount for mount in self.mounts
              if f'{path}/'.startswith(f'{mount.mountPath}/')]
    mount = max(mounts, key=lambda each: len(each.mountPath), default=Map())
    return mount, self.Volume(mount.name)

  @property
  def certificates(self):
    """The volume that has them."""
    return self.Mounted(self.Text('security.directory'))[1]

  @property
  def processes(self):
    """The names of their certificates, such as worker-0, and the URIs in them."""
    job = self.Text('name')
    for i in range(self.Number(f'cluster.num_{self.role}s')):
      yield f'{self.role}-{i}', f'spiffe://gradsieve/{job}/{self.role}/{i}'


def Templates(each):
  """The owner of each pod, its template, and the spec and the name of its Job."""
  if each.kind == 'Pod':
    yield each, each
  elif each.kind == 'StatefulSet':
    yield each, each.spec.template
  elif each.kind == 'Job':
    yield each, each.spec.template, each.spec
  for job in each.spec.replicatedJobs:
    yield each, job.template.spec.template, job.template.spec, job.name


class Rendering:

  def __init__(self, objects, programs):
    self.objects = Mapped(objects)
    self.programs = programs

  @functools.cached_property
  def pods(self):
    return [Pod(self, *found) for each in self.objects for found in Templates(each)]

  @functools.cached_property
  def processes(self):
    """The pods that run our programs."""
    return [pod for pod in self.pods if pod.role]

  @property
  def server(self):
    """In a list, which is empty if there is none."""
    return [pod for pod in self.processes if pod.role == 'server'][:1]

  @property
  def certificates(self):
    """Those of processes."""
    return [each for each in self.All('Certificate') if not each.spec.isCA]

  @property
  def certificate_secrets(self):
    """Those that cert-manager makes."""
    return [each.spec.secretName for each in self.All('Certificate')]

  @property
  def job_text(self):
    return next((each.data['job.textproto'] for each in self.All('ConfigMap')
                 if each.data['job.textproto']), '')

  def All(self, kind):
    return [each for each in self.objects if each.kind == kind]

  def Find(self, kind, name):
    """Empty if there is none."""
    return next((each for each in self.All(kind) if each.metadata.name == name), Map())

  def Each(self, what):
    """What a rule wants to see (rules.py), with names that begin a line."""
    if what == 'all':
      return [('', self)]
    if what == 'objects' or what[0].isupper():
      found = self.objects if what == 'objects' else self.All(what)
      return [(f'{Name(each)}: ', each) for each in found]
    pods = ([pod for pod in self.processes if pod.job] if what == 'jobs' else
            getattr(self, what))
    return [(f'{pod.name}: ', pod) for pod in pods]
