"""Hosts for the scripts in this folder: network namespaces at one switch."""

import os
import subprocess


def Ip(*arguments):
  subprocess.run(['ip', *arguments], check=True, capture_output=True)


class Network:
  """Hosts at one switch, each a network namespace."""

  def __init__(self, name):
    self.prefix = f'{name}-{os.getpid()}'
    self.switch = self.prefix + '-switch'
    self.hosts = {}
    Ip('netns', 'add', self.switch)
    Ip('-n', self.switch, 'link', 'add', 'name', 'bridge', 'type', 'bridge')
    Ip('-n', self.switch, 'link', 'set', 'bridge', 'up')

  def __enter__(self):
    return self

  def __exit__(self, *_):
    for name in [*self.hosts.values(), self.switch]:
      Ip('netns', 'del', name)

  def AddHost(self, host, number):
    """`host` has the address 10.77.0.NUMBER; another host may have had it."""
    name = f'{self.prefix}-{host}'
    self.hosts[host] = name
    Ip('netns', 'add', name)
    Ip('-n', self.switch, 'link', 'add', 'name', host, 'type', 'veth', 'peer',
       'name', 'eth0', 'address', f'02:00:00:00:00:{number:02x}', 'netns', name)
    Ip('-n', name, 'address', 'add', f'10.77.0.{number}/24', 'dev', 'eth0')
    Ip('-n', name, 'link', 'set', 'lo', 'up')
    self.Connect(host)
    Ip('-n', self.switch, 'link', 'set', 'dev', host, 'up')
    Ip('-n', name, 'link', 'set', 'eth0', 'up')

  def Connect(self, host):
    Ip('-n', self.switch, 'link', 'set', 'dev', host, 'master', 'bridge')

  def Cut(self, host):
    """What is sent vanishes, without an error at either end."""
    Ip('-n', self.switch, 'link', 'set', 'dev', host, 'nomaster')

  def Exec(self, host):
    return ['ip', 'netns', 'exec', self.hosts[host]]
