"""Makes of a StatefulSet and a Job the pods that their controllers would make."""

import copy
import json

from manifests import Find


class Pod:
  """A pod, and what else the test must know of it."""

  def __init__(self, name, template, labels):
    self.name = name
    self.alias = None  # Its name in DNS.
    self.restarts_in_place = False
    self.spec = copy.deepcopy(template['spec'])
    self.labels = {**template['metadata']['labels'], **labels}
    (self.container,) = self.spec['containers']
    # podman knows no gRPC probes.
    self.probes = {key: self.container.pop(key)['grpc'] for key in
                   ('startupProbe', 'readinessProbe', 'livenessProbe')}
    # podman would take the same ports of this machine.
    self.ports = {port['name']: port['containerPort']
                  for port in self.container.pop('ports')}
    self.grace_seconds = self.spec['terminationGracePeriodSeconds']
    # What only a cluster has.
    for key in ('topologySpreadConstraints', 'serviceAccountName',
                'serviceAccount'):
      self.spec.pop(key, None)
    # The test plays who restarts it.
    self.spec['restartPolicy'] = 'Never'
    # Images are here; nothing is fetched.
    self.container['imagePullPolicy'] = 'Never'

  @property
  def container_name(self):
    """podman's name for it."""
    return f'{self.name}-{self.container["name"]}'

  def ClaimName(self, volume):
    (found,) = [v for v in self.spec['volumes'] if v['name'] == volume]
    return found['persistentVolumeClaim']['claimName']

  def Json(self, volumes):
    """`volumes` replace those of the pod."""
    return json.dumps({
        'apiVersion': 'v1', 'kind': 'Pod',
        'metadata': {'name': self.name, 'labels': self.labels},
        'spec': {**self.spec, 'volumes': volumes},
    })


def ServerPods(objects):
  """Those of the StatefulSet."""
  controller = Find(objects, 'StatefulSet')
  spec, name = controller['spec'], controller['metadata']['name']
  pods = []
  for i in range(spec['replicas']):
    pod = Pod(f'{name}-{i}', spec['template'],
              {'apps.kubernetes.io/pod-index': str(i)})
    pod.alias = f'{pod.name}.{spec["serviceName"]}'
    pod.restarts_in_place = True
    for claim in spec['volumeClaimTemplates']:
      volume = claim['metadata']['name']
      pod.spec['volumes'].append({
          'name': volume,
          'persistentVolumeClaim': {'claimName': f'{volume}-{pod.name}'}})
    pods.append(pod)
  return pods


def WorkerPods(objects):
  """Those of the Indexed Job."""
  controller = Find(objects, 'Job')
  spec, name = controller['spec'], controller['metadata']['name']
  pods = []
  for i in range(spec['completions']):
    pod = Pod(f'{name}-{i}', spec['template'],
              {'batch.kubernetes.io/job-completion-index': str(i)})
    pod.container.setdefault('env', []).append(
        {'name': 'JOB_COMPLETION_INDEX', 'value': str(i)})
    pods.append(pod)
  return pods
