"""Plays the StatefulSet's and the Job's controllers, and the kubelet: starts pods,
sees how their containers end, and starts them again."""

import os
import time

from manifests import Failure

# Exit codes, as docs/operations.md has them.
DONE, LOST, KILLED, ASKED = 0, 75, 137, 143
# The longest pause before a container is started again, as the kubelet's.
LONGEST_PAUSE = 300


class Running:
  """One pod and what happens to it."""

  def __init__(self, pod):
    self.pod = pod
    self.command = None  # podman, while it starts or stops the pod.
    self.then = None  # What to do when it has.
    self.pid = None  # Of the container's first process.
    self.address = None
    self.start_at = None  # When the container is to be started again.
    self.pause = 0
    self.allowed = {DONE, LOST}  # Exit codes that may come next.
    self.done = False  # It is not to be started again.


class Controllers:
  def __init__(self, podman, network, volumes, pods, first_pause):
    self.podman = podman
    self.network = network
    self.volumes = volumes
    self.first_pause = first_pause
    self.running = {pod.name: Running(pod) for pod in pods}

  def Say(self, text):
    print(f'    {time.strftime("%H:%M:%S")} {text}', flush=True)

  def Create(self, name):
    """A new pod, with a new address."""
    one = self.running[name]
    path = os.path.join(self.volumes.folder, f'{name}.json')
    with open(path, 'w') as file:
      file.write(one.pod.Json(self.volumes.Mounted(one.pod)))
    one.pause = 0
    alias = f':alias={one.pod.alias}' if one.pod.alias else ''
    self.Command(one, self.Started, 'kube', 'play',
                 f'--network={self.network.name}{alias}', path)

  def Command(self, one, then, *arguments):
    one.command, one.then = self.podman.Start(*arguments), then

  def Started(self, one):
    state = self.podman.State(one.pod.container_name)
    if state is None:
      raise Failure(f'{one.pod.name}: podman has not made its container')
    one.allowed = {DONE, LOST}
    one.pid = state['State']['Pid']
    networks = state['NetworkSettings']['Networks']
    one.address = networks[self.network.name]['IPAddress']

  def Ended(self, one):
    """Its process is gone."""
    code = self.Soon(one, lambda: self.podman.State(
        one.pod.container_name)['State'], 'exited')['ExitCode']
    one.pid = None
    self.Say(f'{one.pod.name} ended with {code}')
    if code not in one.allowed:
      raise Failure(f'{one.pod.name}: exit code {code}, and not one of '
                    f'{sorted(one.allowed)}; its log:\n'
                    f'{self.Log(one, "--tail=40")}')
    if one.command is not None:
      return  # Somebody takes care of it.
    if one.pod.restarts_in_place:
      # podman ends the pod with its last container, and what is started
      # meanwhile as well.
      self.Soon(one, lambda: {'Status': self.podman.Run(
          'pod', 'inspect', '--format={{.State}}', one.pod.name)}, 'Exited')
      one.start_at = time.monotonic() + one.pause
      one.pause = min(2 * one.pause or self.first_pause, LONGEST_PAUSE)
    elif code == DONE:
      one.done = True
    else:
      self.Replace(one)

  def Soon(self, one, state, wanted):
    end = time.monotonic() + 10
    while True:
      found = state()
      if found['Status'] == wanted:
        return found
      if time.monotonic() > end:
        raise Failure(f'{one.pod.name} has ended, and podman says it is '
                      f'{found["Status"]} and not {wanted}')
      time.sleep(0.05)

  def Replace(self, one):
    self.SaveLog(one)
    self.Command(one, lambda one: self.Create(one.pod.name), 'pod', 'rm',
                 '--force', one.pod.name)

  def Kill(self, name):
    """The pod is lost without warning, and replaced."""
    one = self.running[name]
    self.Say(f'{name} at {one.address} is killed')
    one.allowed = {KILLED}
    self.Command(one, self.Replace, 'kill', one.pod.container_name)

  def Evict(self, name):
    """SIGTERM, the grace period, a new pod."""
    one = self.running[name]
    self.Say(f'{name} at {one.address} is evicted')
    one.allowed = {DONE, LOST, ASKED}
    self.Stop(one, self.Replace)

  def Stop(self, one, then):
    # Not `pod stop`, which may take the network away before the container ends.
    self.Command(one, then, 'stop', f'--time={one.pod.grace_seconds}',
                 one.pod.container_name)

  def Delete(self, name):
    """The pod of a job that is done."""
    one = self.running[name]
    one.allowed = {DONE, ASKED}  # It may be done by itself.
    self.Stop(one, self.Deleted)

  def Deleted(self, one):
    one.done = True

  def Step(self):
    for one in self.running.values():
      if one.pid is not None and not os.path.exists(f'/proc/{one.pid}'):
        self.Ended(one)
      if one.command is not None and one.command.poll() is not None:
        self.Finished(one)
      if one.start_at is not None and time.monotonic() >= one.start_at:
        one.start_at = None
        self.Command(one, self.Started, 'pod', 'start', one.pod.name)

  def Finished(self, one):
    """podman has done what it was asked to do."""
    if one.pid is not None and one.then in (self.Replace, self.Deleted):
      return  # The end of the container comes first.
    output, _ = one.command.communicate()
    if one.command.returncode != 0:
      raise Failure(f'{" ".join(one.command.args)}: exit code '
                    f'{one.command.returncode}: {output}')
    then, one.command, one.then = one.then, None, None
    then(one)

  def IsBusy(self):
    return any(one.command or one.start_at for one in self.running.values())

  def Log(self, one, *options):
    return self.podman.Try('logs', *options, one.pod.container_name)[1]

  def SaveLog(self, one):
    """Before the pod is removed."""
    with open(f'{self.volumes.folder}/{one.pod.name}.log', 'a') as file:
      file.write(self.Log(one))

  def Remove(self):
    """All pods, whatever they do."""
    for one in self.running.values():
      if one.command is not None:
        one.command.wait()
      self.SaveLog(one)
    self.podman.Try('pod', 'rm', '--force', '--time=0', '--ignore', *self.running)
