"""Makes folders of a pod's volumes as the kubelet does, with the same owners,
modes and links, which podman does not."""

import base64
import os
import shutil

# Where the kubelet puts files, behind a link that it replaces when they change.
VERSION = '..2026_01_01_00_00_00.000000001'


def WriteFiles(folder, files, mode, group):
  """A ConfigMap or a Secret. `files` are bytes by name."""
  inner = os.path.join(folder, VERSION)
  os.makedirs(inner)
  for name, content in files.items():
    path = os.path.join(inner, name)
    with open(path, 'wb') as file:
      file.write(content)
    os.chown(path, 0, group)
    # What fsGroup adds.
    os.chmod(path, mode | 0o440)
    os.symlink(f'..data/{name}', os.path.join(folder, name))
  os.symlink(VERSION, os.path.join(folder, '..data'))
  for path in (folder, inner):
    os.chown(path, 0, group)
    os.chmod(path, 0o2775)


class Volumes:
  """The volumes of a namespace, all below `folder`."""

  def __init__(self, folder, objects):
    self.folder = folder
    self.objects = {(o['kind'], o['metadata']['name']): o for o in objects}

  def Claim(self, name):
    """A new one is empty; later pods find what earlier ones left."""
    return os.path.join(self.folder, 'claims', name)

  def Folder(self, pod, volume):
    """Of a new pod."""
    group = pod.spec['securityContext']['fsGroup']
    if 'persistentVolumeClaim' in volume:
      path = self.Claim(volume['persistentVolumeClaim']['claimName'])
      if not os.path.exists(path):
        os.makedirs(path)
        os.chown(path, 0, group)
        os.chmod(path, 0o2775)
      return path
    path = os.path.join(self.folder, pod.name, volume['name'])
    if 'emptyDir' in volume:
      shutil.rmtree(path, ignore_errors=True)
      os.makedirs(path)
      os.chown(path, 0, group)
      os.chmod(path, 0o2777)
      return path
    for key, kind, name_key in (('configMap', 'ConfigMap', 'name'),
                                ('secret', 'Secret', 'secretName')):
      if key not in volume:
        continue
      source = self.objects[kind, volume[key][name_key]]
      files = {n: text.encode() if kind == 'ConfigMap' else
                  base64.b64decode(text) for n, text in source['data'].items()}
      if not os.path.exists(path):
        WriteFiles(path, files, volume[key].get('defaultMode', 0o644), group)
      return path
    raise ValueError(f'{pod.name}: the volume {volume} is of no known kind')

  def Mounted(self, pod):
    """The pod's volumes, each as a folder of this machine."""
    return [{'name': volume['name'],
             'hostPath': {'path': self.Folder(pod, volume), 'type': 'Directory'}}
            for volume in pod.spec['volumes']]
