"""A network of podman's, whose names are those of a headless Service."""

import json
import os
import subprocess

# Locally administered.
HARDWARE_ADDRESS = '02:00:00:00:00:01'


def Ip(*arguments):
  subprocess.run(['ip', *arguments], check=True)


class Network:
  """A bridge that podman finds and does not make itself.

  A bridge has the lowest of its ports' hardware addresses, so its own changes as
  containers come and go, unless it was set. podman's name server is at the bridge,
  and containers that know it by its former address would get no answers for up to
  a minute."""

  def __init__(self, podman):
    self.podman = podman
    self.name = f'gradsieve-{os.getpid()}'
    self.links = []

  def Make(self):
    self.podman.Run('network', 'create', self.name)
    found = json.loads(self.podman.Run('network', 'inspect', self.name))
    bridge, subnet = found[0]['network_interface'], found[0]['subnets'][0]
    self.links = [bridge, f'{bridge}-a']
    Ip('link', 'add', 'name', bridge, 'address', HARDWARE_ADDRESS, 'type', 'bridge')
    length = subnet['subnet'].split('/')[1]
    Ip('address', 'add', f'{subnet["gateway"]}/{length}', 'dev', bridge)
    Ip('link', 'set', bridge, 'up')
    # A port of our own keeps podman from removing the bridge with the last
    # container.
    Ip('link', 'add', 'name', f'{bridge}-a', 'type', 'veth', 'peer', 'name',
       f'{bridge}-b')
    Ip('link', 'set', f'{bridge}-a', 'master', bridge)

  def Remove(self):
    self.podman.Try('network', 'rm', '--force', self.name)
    for link in self.links:
      subprocess.run(['ip', 'link', 'del', link], capture_output=True, check=False)
