"""Calls podman, and says what is missing where it cannot work."""

import json
import os
import resource
import shutil
import subprocess
import tempfile

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


class Failure(Exception):
  pass


def Missing():
  """What the test cannot run without, in words; empty if all is there."""
  missing = []
  if os.geteuid() != 0:
    missing.append('root, who makes networks and folders of other users')
  for program in ('podman', 'kubectl', 'ip'):
    if not shutil.which(program):
      missing.append(f'the program {program}')
  if not shutil.which('runc') and not shutil.which('crun'):
    missing.append('the program runc')
  for helper in ('netavark', 'aardvark-dns'):
    if not shutil.which(helper) and not any(
        os.path.exists(f'{folder}/{helper}') for folder in HELPERS):
      missing.append(f'the program {helper}, for networks and names of podman')
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
