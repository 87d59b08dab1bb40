"""One training in pods, from the first `podman kube play` to the last weights."""

import json
import os
import time
import urllib.request

from manifests import Failure, Quantity
from pods import probe
from pods.controllers import Controllers
from pods.network import Network
from pods.pod import ServerPods, WorkerPods
from pods.volumes import Volumes

# Between the pods that are started first and the others.
HEAD_START = 3
# How long the training may stand still.
PATIENCE = 120
# Later than the first snapshot (checkpoint.every).
FIRST_KILL = 150
# Bytes of metrics.jsonl that have its latest records.
TAIL = 1 << 16


class Plan:
  """What both trainings have in common."""

  def __init__(self, objects, epochs, first_pause):
    self.objects = objects
    self.first_pause = first_pause
    self.more = [] if epochs is None else [f'--set=training.epochs={epochs}']

  def Pods(self):
    pods = {'server': ServerPods(self.objects), 'worker': WorkerPods(self.objects)}
    for pod in pods['server'] + pods['worker']:
      pod.container['args'] = pod.container['args'] + self.more
    return pods


class Training:
  def __init__(self, podman, folder, plan):
    self.podman = podman
    self.title = os.path.basename(folder)
    self.network = Network(podman)
    os.makedirs(folder)
    self.volumes = Volumes(folder, plan.objects)
    self.pods = plan.Pods()
    every_pod = self.pods['server'] + self.pods['worker']
    self.controllers = Controllers(podman, self.network, self.volumes, every_pod,
                                   plan.first_pause)
    self.run = os.path.join(
        self.volumes.Claim(self.pods['worker'][0].ClaimName('state')), 'run')
    self.weights = os.path.join(self.run, 'weights.safetensors')
    self.rate = None  # Iterations for each second.

  def Iteration(self):
    """The latest one in the metrics; 0 if there is none."""
    try:
      with open(os.path.join(self.run, 'metrics.jsonl'), 'rb') as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
        lines = file.read().split(b'\n')[1:-1]
    except OSError:
      return 0
    for line in reversed(lines):
      record = json.loads(line)
      if record['event'] == 'iteration':
        return record['iteration']
    return 0

  def Until(self, condition, what, seconds=PATIENCE, pause=0.05):
    end = time.monotonic() + seconds
    while not condition():
      self.controllers.Step()
      if time.monotonic() > end:
        raise Failure(f'{self.title}: not within {seconds} s: {what}')
      time.sleep(pause)

  def For(self, seconds):
    end = time.monotonic() + seconds
    self.Until(lambda: time.monotonic() >= end, '', seconds + PATIENCE)

  def Run(self, order, every=None):
    """Starts the kinds of pods in this order. Disturbs the training if there is a
    time between evictions."""
    print(f'{self.title}: {order[0]}s are started before {order[1]}s', flush=True)
    for pod in self.pods['server'] + self.pods['worker']:
      if self.podman.Try('pod', 'exists', pod.name)[0] == 0:
        raise Failure(f'there is a pod {pod.name} already; podman pod rm it')
    try:
      self.network.Make()
      self.Start(order)
      self.CheckConfinement()
      self.CheckPorts()
      if every is not None:
        self.Disturb(every)
      self.ToTheEnd()
    finally:
      self.controllers.Remove()
      self.network.Remove()

  def Start(self, order):
    begin = time.monotonic()
    for pod in self.pods[order[0]]:
      self.controllers.Create(pod.name)
    self.For(HEAD_START)
    last = time.monotonic()
    for pod in self.pods[order[1]]:
      self.controllers.Create(pod.name)
    self.Until(self.Iteration, 'the first iteration', pause=0.02)
    self.first_iteration = time.monotonic()
    print(f'  first iteration {self.first_iteration - begin:.1f} s after the first'
          f' `podman kube play`, {self.first_iteration - last:.1f} s after the '
          f'last', flush=True)
    self.Until(lambda: not self.controllers.IsBusy(), 'all pods run')

  def CheckConfinement(self):
    """podman leaves out what it does not know; the kernel tells."""
    for one in self.controllers.running.values():
      with open(f'/proc/{one.pid}/status') as file:
        status = dict(line.rstrip('\n').split(':\t', 1) for line in file)
      user = one.pod.spec['securityContext']['runAsUser']
      with open(f'/proc/{one.pid}/mountinfo') as file:
        root = [line.split()[5] for line in file if line.split()[4] == '/']
      if (status['Uid'].split() != [str(user)] * 4 or
          int(status['CapEff'], 16) or int(status['CapBnd'], 16) or
          status['NoNewPrivs'] != '1' or 'ro' not in root[0].split(',')):
        raise Failure(f'{one.pod.name} may do more than its manifest says: '
                      f'{status}, {root}')
      limit = one.pod.container['resources']['limits']['memory']
      state = self.podman.State(one.pod.container_name)
      if state['HostConfig']['Memory'] != Quantity(limit):
        raise Failure(f'{one.pod.name}: its memory is not limited to {limit}')

  def CheckPorts(self):
    """What probes and Prometheus would see while it trains."""
    for one in self.controllers.running.values():
      for kind, asked in one.pod.probes.items():
        got = probe.Health(one.address, asked['port'], asked['service'])
        if got != 'SERVING':
          raise Failure(f'{one.pod.name}: {kind} says {got}')
      if probe.Health(one.address, asked['port'], 'nonsense') is not None:
        raise Failure(f'{one.pod.name} knows the service "nonsense"')
      metrics = f'http://{one.address}:{one.pod.ports["metrics"]}/metrics'
      with urllib.request.urlopen(metrics, timeout=5) as answer:
        if b'gradsieve_' not in answer.read():
          raise Failure(f'{one.pod.name} has no metrics')

  def Progress(self):
    """Waits until everybody runs and an iteration has been done."""
    self.Until(lambda: not self.controllers.IsBusy(), 'all pods run')
    now = self.Iteration()
    self.Until(lambda: self.Iteration() > now or self.IsDone(), 'an iteration')
    if self.IsDone():
      raise Failure('the training was over before everything was disturbed; give '
                    'it more --epochs')

  def IsDone(self):
    return all(self.controllers.running[pod.name].done
               for pod in self.pods['worker'])

  def Disturb(self, every):
    self.Until(lambda: self.Iteration() >= FIRST_KILL, f'iteration {FIRST_KILL}')
    for kind in ('server', 'worker'):
      name = self.pods[kind][-1].name
      before = self.controllers.running[name].address
      self.controllers.Kill(name)
      self.For(1)
      self.Progress()
      if self.controllers.running[name].address == before:
        raise Failure(f'{name} has its old address')
    for pod in self.pods['server'] + self.pods['worker']:
      self.For(every)
      self.controllers.Evict(pod.name)
      self.For(1)
      self.Progress()

  def ToTheEnd(self):
    self.Until(self.IsDone, 'the end', 3600)
    end = time.monotonic()
    iterations = self.Iteration()
    self.rate = iterations / (end - self.first_iteration)
    print(f'  {iterations} iterations in {end - self.first_iteration:.1f} s, '
          f'{self.rate:.1f} a second', flush=True)
    # Servers are started again, to tell workers that the job is done.
    self.Until(lambda: not self.controllers.IsBusy(), 'servers run again')
    for pod in self.pods['server']:
      self.controllers.Delete(pod.name)
    self.Until(lambda: not self.controllers.IsBusy(), 'servers end')
