"""Calls podman, and says what is missing where it cannot work."""

import json
import os
import resource
import shutil
import subprocess
import tempfile

import manifests
from manifests import Failure

# What Debian 12 has: its crun does not work with every layout of control groups,
# and without systemd there is no manager of them.
CONFIGURATION = '''[containers]
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
[engine]
runtime = "{runtime}"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
'''
HELPERS = '/usr/lib/podman', '/usr/libexec/podman', '/usr/local/libexec/podman'
# What podman calls: the program, and the Debian package that has it.
PROGRAMS = {
    'podman': 'podman', 'conmon': 'conmon', 'runc': 'runc', 'netavark': 'netavark',
    'aardvark-dns': 'aardvark-dns', 'catatonit': 'catatonit', 'iptables': 'iptables',
    'ip6tables': 'iptables', 'ip': 'iproute2'}


def Missing():
  """What the test cannot run without, in words; empty if all is there."""
  missing = []
  if os.geteuid() != 0:
    missing.append('root, who makes networks and folders of other users')
  folders = os.pathsep.join([os.environ.get('PATH', os.defpath), *HELPERS])
  for program, package in PROGRAMS.items():
    if not shutil.which(program, path=folders) and not (
        program == 'runc' and shutil.which('crun')):
      missing.append(f'the program {program} (Debian: {package})')
  if not manifests.yaml:
    missing.append('the Python module yaml (Debian: python3-yaml)')
  try:
    manifests.Renderer()
  except manifests.Missing as renderer:
    missing.append(str(renderer))
  return missing


def Limit(kind):
  """At most what this process has, and what a container needs."""
  hard = resource.getrlimit(kind)[1]
  return 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)


class Podman:
  """podman with settings of its own, unless CONTAINERS_CONF names some."""

  def __init__(self):
    self.environment = dict(os.environ)
    self.file = None
    if 'CONTAINERS_CONF' not in os.environ:
      with tempfile.NamedTemporaryFile(
          'w', prefix='gradsieve-containers.', suffix='.conf',
          delete=False) as file:
        file.write(CONFIGURATION.format(
            runtime='runc' if shutil.which('runc') else 'crun',
            files=Limit(resource.RLIMIT_NOFILE),
            processes=Limit(resource.RLIMIT_NPROC)))
      self.file = file.name
      self.environment['CONTAINERS_CONF'] = file.name

  def Close(self):
    if self.file is not None:
      os.remove(self.file)

  def Start(self, *arguments):
    # Ctrl-C is for the test, which then removes what podman has made.
    return subprocess.Popen(['podman', *arguments], env=self.environment,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True,
                            start_new_session=True)

  def Try(self, *arguments):
    """The exit code, and what it printed."""
    process = self.Start(*arguments)
    output, _ = process.communicate()
    return process.returncode, output

  def Run(self, *arguments):
    code, output = self.Try(*arguments)
    if code != 0:
      raise Failure(f'podman {" ".join(arguments)}: exit code {code}: {output}')
    return output.strip()

  def State(self, container):
    """Status, Pid, ExitCode and more; None if there is no such container."""
    code, output = self.Try('container', 'inspect', container)
    return json.loads(output)[0] if code == 0 else None
