"""The longer functions of the table of rules. Each returns what is wrong."""

import re

from rendering import Map, Name, Quantity, Selects

CERTIFICATE_KEYS = 'tls.crt', 'tls.key', 'ca.crt'  # cert-manager writes them.
# The options with which a program listens, and the name of the port.
LISTEN_OPTIONS = {'listen': 'grpc', 'health-listen': 'health',
                  'metrics-listen': 'metrics'}
PROBES = {'startupProbe': 'live', 'readinessProbe': 'ready', 'livenessProbe': 'live'}
# Where the index of a pod is, by the kind of its owner.
INDEX_FIELDS = {'StatefulSet': 'apps.kubernetes.io/pod-index',
                'Job': 'batch.kubernetes.io/job-completion-index',
                'JobSet': 'batch.kubernetes.io/job-completion-index'}
# Processes whose jobs differ refuse each other, except in these fields.
MAY_DIFFER = re.compile(
    r'--set=(machine\.|cluster\.servers=|(data|checkpoint|security)\.directory=)')
# What Jobs must do at which exit code: docs/recovery.md.
ACTIONS = ('FailJob', 64), ('FailJob', 78), ('Ignore', 75)


def WrongPolicies(jobset):
  jobs = {job.name for job in jobset.spec.replicatedJobs}
  return [name for policy in [jobset.spec.successPolicy,
                              *jobset.spec.failurePolicy.rules]
          for name in policy.targetReplicatedJobs if name not in jobs]


def IsPeer(peer):
  """Whether it is pods of the same namespace."""
  return 'podSelector' in peer and not peer.namespaceSelector


def Selected(each):
  """Selectors of pods, and the ports that those must have."""
  spec = each.spec
  if each.kind == 'Service':
    yield Map(matchLabels=spec.selector), [p.targetPort or p.port for p in spec.ports]
  elif each.kind in ('PodDisruptionBudget', 'PodMonitor'):
    yield spec.selector, [endpoint.port for endpoint in spec.podMetricsEndpoints]
  elif each.kind == 'NetworkPolicy':
    yield spec.podSelector, [port.port for way in spec.ingress for port in way.ports]
    for way, peers in [*((way, way['from']) for way in spec.ingress),
                       *((way, way.to) for way in spec.egress)]:
      yield from ((peer.podSelector, [port.port for port in way.ports if way.to])
                  for peer in peers if IsPeer(peer))


def SelectorsWithoutPods(m):
  return [f'{dict(selector.matchLabels)} of {Name(each)}' for each in m.objects
          for selector, _ in Selected(each)
          if not any(Selects(selector, pod.labels) for pod in m.pods)]


def MissingPorts(m):
  return [f'{pod.name} has no port {port}, which {Name(each)} names'
          for each in m.objects for selector, ports in Selected(each) for pod in m.pods
          for port in ports if Selects(selector, pod.labels) and not pod.Port(port)]


def HiddenServers(m):
  """Clients dial pods by name, also those that are not ready."""
  for each in m.All('StatefulSet'):
    service = m.Find('Service', each.spec.serviceName).spec
    if service.clusterIP != 'None' or not service.publishNotReadyAddresses:
      yield each.spec.serviceName


def References(pod):
  """The kind, the name and the items of what the pod uses."""
  yield 'ServiceAccount', pod.spec.serviceAccountName or 'default', []
  for volume in pod.spec.volumes:
    if volume.persistentVolumeClaim:
      yield 'PersistentVolumeClaim', volume.persistentVolumeClaim.claimName, []
    for source in [volume, *volume.projected.sources]:
      if source.configMap:
        yield 'ConfigMap', source.configMap.name, source.configMap['items']
      if source.secret:  # Its name has another key in projected volumes.
        yield ('Secret', source.secret.secretName or source.secret.name,
               source.secret['items'])


def IsThere(m, kind, name):
  if m.Find(kind, name) or (kind, name) == ('ServiceAccount', 'default'):
    return True
  # Those that people make with `gradsieve certs --kubernetes`. If there are none,
  # other rules report it.
  secrets = m.programs.Secrets(m.job_text)[0]
  return kind == 'Secret' and (
      not secrets or name in [secret['metadata']['name'] for secret in secrets] or
      name in m.certificate_secrets)


def MissingNames(pod):
  return [f'{kind} {name}' for kind, name, _ in References(pod)
          if not IsThere(pod.m, kind, name)]


def MissingKeys(pod):
  """Those that volumes take out of ConfigMaps and of certificates' Secrets."""
  for kind, name, items in References(pod):
    keys = (pod.m.Find(kind, name).data if kind == 'ConfigMap' else
            CERTIFICATE_KEYS if name in pod.m.certificate_secrets else
            [item.key for item in items])
    yield from (f'{item.key} of {kind} {name}'
                for item in items if item.key not in keys)


def LostState(pod):
  """Snapshots and the run must be on a volume that outlives the process."""
  for what, path in [('checkpoint.directory', pod.Text('checkpoint.directory')),
                     *(('--run-dir', path) for path in pod.Options('run-dir'))]:
    mount, volume = pod.Mounted(path)
    is_kept = volume.keys() & {'persistentVolumeClaim', 'ephemeral'}
    if path and (mount.readOnly or not is_kept):
      yield f'{what} {path}'


def MissingInputs(pod):
  """The job's file, its certificates and its data must be mounted."""
  data = pod.Text('data.directory') if pod.role == 'worker' else None
  for what, path, *kinds in [
      *(('--config', path, 'configMap') for path in pod.Options('config')),
      ('security.directory', pod.Text('security.directory'), 'secret', 'projected'),
      ('data.directory', data, 'persistentVolumeClaim')]:
    mount, volume = pod.Mounted(path)
    if path and not (mount.readOnly and volume.keys() & set(kinds)):
      yield f'{what} is {path}, where no {" or ".join(kinds)} is mounted read-only'


def MissingConfigs(pod):
  """The file of --config must be one of those that the ConfigMap makes."""
  for path in pod.Options('config'):
    mount, volume = pod.Mounted(path)
    files = [item.path for item in volume.configMap['items']] or (
        pod.m.Find('ConfigMap', volume.configMap.name).data)
    if volume.configMap and path[len(mount.mountPath) + 1:] not in files:
      yield path


def WrongAddresses(pod):
  """A program listens on all addresses of its pod, at the ports that it declares."""
  for option, name in LISTEN_OPTIONS.items():
    port, given = pod.Port(name), pod.Options(option)
    if given != ([f'0.0.0.0:{port}'] if port else []):
      yield (f'--{option} is {", ".join(given) or "absent"}, and port {name} is '
             f'{port or "absent"}')


def WrongProbes(pod):
  """Health is served in plaintext on a port of its own: kubelet knows no
  certificates. A script serves none."""
  return [f'{probe} must ask for "{service}"' for probe, service in PROBES.items()
          if not pod.is_script and pod.container[probe].grpc != {
              'port': pod.Port('health'), 'service': service}]


def Policies(pod, direction):
  return [policy.spec for policy in pod.m.All('NetworkPolicy')
          if direction in policy.spec.policyTypes and
          Selects(policy.spec.podSelector, pod.labels)]


def HasPort(way, port, protocol='TCP'):
  return any((each.protocol or 'TCP', each.port) == (protocol, port)
             for each in way.ports)


def Allows(pod, direction, labels, port):
  """Whether the pod may send to (Egress), or get from (Ingress), a pod of the same
  namespace with these labels."""
  side = {'Ingress': 'from', 'Egress': 'to'}[direction]
  ways = [way for policy in Policies(pod, direction)
          for way in policy[direction.lower()]]
  return any((not way.ports or HasPort(way, port)) and
             (not way[side] or any(IsPeer(peer) and Selects(peer.podSelector, labels)
                                   for peer in way[side])) for way in ways)


def UnreachableServers(pod):
  return [server.Port('grpc') for server in pod.m.server
          if not (Allows(pod, 'Egress', server.labels, server.Port('grpc')) and
                  Allows(server, 'Ingress', pod.labels, server.Port('grpc')))]


def MayAskDns(pod):
  return any(HasPort(way, 53, 'UDP') and HasPort(way, 53, 'TCP')
             for policy in Policies(pod, 'Egress') for way in policy.egress)


def MissingMemory(pod):
  """The bound does not count what a server reads back when it is started again."""
  programs, job = pod.m.programs, pod.m.job_text
  has = Quantity(pod.limits.memory) / (1 << 20)
  # Other rules report a job that cannot be read, or that there is no limit. Only a
  # script knows its model.
  if has and not pod.is_external and not programs.CheckJob(job, pod.settings):
    bound = programs.ServerMebibytes(job, pod.settings, pod.Text('data.name'))
    needs = bound + pod.Number('checkpoint.log_megabytes')
    if has < needs:
      yield (f'it has {has:g} MiB and needs {needs}: {bound} (gradsieve plan-memory) '
             'and checkpoint.log_megabytes')


def MissingActions(pod):
  rules = pod.job.podFailurePolicy.rules
  if not any(rule.action == 'Ignore' and {'type': 'DisruptionTarget', 'status': 'True'}
             in list(rule.onPodConditions) for rule in rules):
    yield 'Ignore DisruptionTarget'
  for action, code in ACTIONS:
    if not any(rule.action == action and rule.onExitCodes.operator == 'In' and
               code in rule.onExitCodes['values'] and
               rule.onExitCodes.containerName in ({}, pod.role) for rule in rules):
      yield f'{action} on exit code {code}'


def MissingIndex(pod):
  """Workers of ours get JOB_COMPLETION_INDEX without being asked."""
  field = f'metadata.labels[\'{INDEX_FIELDS.get(pod.owner.kind)}\']'
  if pod.role == 'server' or pod.is_script:
    name = 'RANK' if pod.is_script else 'POD_INDEX'
    if not any(each.name == name and each.valueFrom.fieldRef.fieldPath == field
               for each in pod.container.env):
      yield name


def Unsecret(m):
  """Why people without cert-manager could make no certificates."""
  secrets, text = m.programs.Secrets(m.job_text)
  return not secrets and not m.programs.CheckJob(m.job_text, ()) and [text]


def DifferentSettings(m):
  shared = [(pod.name, sorted(arg for arg in pod.settings if not MAY_DIFFER.match(arg)))
            for pod in m.processes]
  return [name for name, settings in shared if settings != shared[0][1]]


def WrongServers(pod):
  """The DNS names that Kubernetes gives the servers' pods. That there is one address
  for each server is for `gradsieve train --check` to say."""
  name, domain = pod.owner.metadata.name, pod.owner.spec.serviceName
  if pod.replicated_job:
    domain = pod.owner.spec.network.subdomain or name
    name = f'{name}-{pod.replicated_job}-0'
  real = [f'{name}-{i}.{domain}:{pod.Port("grpc")}' for i in range(pod.replicas)]
  listed = pod.fields.get('cluster.servers', [])
  return listed != [address for address in real if address in listed] and [
      f'{", ".join(real)}, not {", ".join(listed)}']


def WrongUris(m):
  """Either cert-manager makes all certificates, or `gradsieve certs` does."""
  wanted = {uri for pod in m.processes for _, uri in pod.processes}
  given = {uri for each in m.certificates for uri in each.spec.uris}
  return given and sorted(wanted ^ given)


def MissingIssuers(m):
  for each in m.All('Certificate'):
    issuer = each.spec.issuerRef
    if not m.Find(issuer.kind or 'Issuer', issuer.name):
      yield f'{issuer.kind or "Issuer"} {issuer.name} for {Name(each)}'
  for each in m.All('Issuer'):
    if each.spec.ca and each.spec.ca.secretName not in m.certificate_secrets:
      yield f'Secret {each.spec.ca.secretName} for {Name(each)}'


def MissingUsages(certificate):
  """All servers but the first are clients, too."""
  uris, usages = certificate.spec.uris, certificate.spec.usages
  wanted = ['digital signature', 'client auth', 'server auth']
  return [usage for usage in wanted[:3 if '/server/' in str(uris) else 2]
          if usage not in usages and not certificate.spec.isCA]


def ProjectedFiles(pod):
  """What must be in a volume of cert-manager's certificates: the file, its key, and
  the Secret that has it, or None."""
  yield 'ca.pem', 'ca.crt', None
  for process, uri in pod.processes:
    for each in pod.m.certificates:
      if uri in each.spec.uris:
        yield f'{process}.pem', 'tls.crt', each.spec.secretName
        yield f'{process}.key', 'tls.key', each.spec.secretName


def MissingFiles(pod):
  """ca.pem, and I.pem and I.key of each process, of its own Certificate or as
  `gradsieve certs --kubernetes` makes them (security.directory)."""
  there = [(item.path, item.key, name) for source in pod.certificates.projected.sources
           for item in source.secret['items'] for name in (source.secret.name, None)]
  if there:
    return [file[0] for file in ProjectedFiles(pod) if file not in there]
  for secret in pod.m.All('Secret') + pod.m.programs.Secrets(pod.m.job_text)[0]:
    if secret['metadata']['name'] == pod.certificates.secret.secretName:
      wanted = ['ca.pem'] + [f'{process}.{end}' for process, _ in pod.processes
                             for end in ('pem', 'key')]
      return [file for file in wanted
              if file not in {**secret.get('data', {}), **secret.get('stringData', {})}]
  return []  # Another rule reports a Secret that does not exist.
