"""The table of rules, and the errors that `validate --self-test` plants for each."""

import re

import checks
import manifests
import schema
from rendering import Quantity, Selects

# Those that the pod security standard "restricted" allows.
VOLUMES = {'configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral',
           'persistentVolumeClaim', 'projected', 'secret'}
# Defaults are not repeated in manifests, so that they cannot go out of date.
STATED = ('name', 'cluster.num_workers', 'cluster.num_servers', 'cluster.servers',
          'security.directory')
STATED_WITHOUT_SCRIPT = (
    'data.name', 'checkpoint.directory', 'checkpoint.grace_seconds',
    'checkpoint.log_megabytes', 'machine.worker_threads')


class Rule:
  """What must hold. `wrong` gets the rendering ("all"), each of its "objects", "pods",
  "processes" (our programs), "jobs" (those of Jobs) or "server", or each object of a
  kind. It returns whether it is wrong, or what is wrong, which takes the place of {} in
  the line. `planted` are changes that it must find (planting.py)."""

  def __init__(self, each, line, wrong, *planted):
    self.each, self.line, self.wrong, self.planted = each, line, wrong, planted

  def Errors(self, m):
    for name, each in m.Each(self.each):
      try:
        found = self.wrong(each) or []
        for what in [''] if found is True else found:
          yield name + self.line.format(what)
      except manifests.Failure as failure:
        yield f'{name}{failure}'


def OfSchema(sort):
  return lambda each: schema.Errors(each, sort)


# The API server refuses what does not meet these. The other rules rely on them.
SCHEMA_RULES = [
    Rule('objects', 'its kind must be known: {}', OfSchema('kind'),
         'PodDisruptionBudget kind = DisruptionBudget'),
    Rule('objects', 'its values must be allowed: {}', OfSchema('value'),
         'StatefulSet spec revisionHistoryLimit = "3"',
         'Job spec podFailurePolicy rules += {action: Retry}',
         'Certificate/gradsieve-worker-0 spec usages += both @production',
         'JobSet spec failurePolicy rules 0 action = Retry @jobset',
         'delete PrometheusRule spec groups 0 rules 0 expr @production'),
    Rule('objects', 'its fields must exist: {}', OfSchema('field'),
         'Job CONTAINER livenessProbe failureTreshold = 3',
         'PodMonitor spec podMetricsEndpoints 0 intervall = 5s @production',
         'Issuer/gradsieve-authority spec CA = {} @production',
         'JobSet spec network subDomain = gradsieve @jobset',
         'JobSet spec replicatedJobs 0 template spec backofLimit = 3 @jobset'),
]

RULES = [
    # Selectors and names.
    Rule('pods', 'the selector must match the labels of the template',
         lambda pod: pod.owner.kind == 'StatefulSet' and
         not Selects(pod.owner.spec.selector, pod.labels),
         'StatefulSet spec selector matchLabels app.kubernetes.io/component = '
         'servers'),
    Rule('all', 'no pod has the labels {}', checks.SelectorsWithoutPods,
         'PodDisruptionBudget spec selector matchLabels app.kubernetes.io/name = ps'),
    Rule('pods', 'the spread over {} counts other pods than its own',
         lambda pod: [each.topologyKey for each in pod.spec.topologySpreadConstraints
                      if not Selects(each.labelSelector, pod.labels)],
         'Job POD topologySpreadConstraints 0 labelSelector matchLabels '
         'app.kubernetes.io/component = server'),
    Rule('all', 'there must be a Service {}, headless and with addresses of pods that '
         'are not ready', checks.HiddenServers,
         'delete Service spec clusterIP',
         'Service spec publishNotReadyAddresses = false'),
    Rule('pods', 'there is no {}', checks.MissingNames,
         'Job POD volumes state persistentVolumeClaim claimName = workers',
         'StatefulSet POD serviceAccountName = server',
         'Job POD volumes += {name: keys, secret: {secretName: keys}}; Job CONTAINER '
         'volumeMounts += {name: keys, mountPath: /keys}'),
    Rule('pods', 'there is no key {}', checks.MissingKeys,
         'Job POD volumes job configMap items = [{key: job, path: job.textproto}]'),
    Rule('JobSet', 'a policy names {}, which is no replicated job',
         checks.WrongPolicies,
         'JobSet spec failurePolicy rules 0 targetReplicatedJobs = [workers] '
         '@jobset'),

    # Volumes.
    Rule('pods', 'there is no volume {}',
         lambda pod: [mount.name for mount in pod.mounts if not pod.Volume(mount.name)],
         'Job CONTAINER volumeMounts += {name: cache, mountPath: /cache}'),
    Rule('pods', 'volume {} is not mounted',
         lambda pod: {volume.name for volume in pod.volumes} - {
             mount.name for mount in pod.mounts},
         'Job POD volumes += {name: cache, emptyDir: {sizeLimit: 1Gi}}'),
    Rule('processes', '{} is on no volume that is kept', checks.LostState,
         'Job CONTAINER args: /var/lib/gradsieve/run -> /tmp/run',
         'Job CONTAINER env GRADSIEVE_RUN_DIR value = /tmp/run @script'),
    Rule('processes', 'it must have what it reads: {}', checks.MissingInputs,
         'StatefulSet CONTAINER volumeMounts certificates mountPath = '
         '/etc/certificates',
         'Job CONTAINER volumeMounts data mountPath = /d @production'),
    Rule('processes', 'the ConfigMap does not make {}', checks.MissingConfigs,
         'Job CONTAINER args: job/job.textproto -> job/my.textproto'),
    Rule('pods', 'emptyDir {} must have a sizeLimit',
         lambda pod: [volume.name for volume in pod.volumes
                      if 'emptyDir' in volume and not volume.emptyDir.sizeLimit],
         'delete Job POD volumes tmp emptyDir sizeLimit'),

    # Ports and the network.
    Rule('all', 'ports must exist: {}', checks.MissingPorts,
         'Service spec ports 0 targetPort = rpc',
         'PodMonitor spec podMetricsEndpoints 0 port = http @production'),
    Rule('processes', 'it must listen on the ports that it declares: {}',
         checks.WrongAddresses,
         'StatefulSet CONTAINER args: 0.0.0.0:50051 -> 0.0.0.0:50061',
         'Job CONTAINER args: 0.0.0.0:9090 -> 127.0.0.1:9090'),
    Rule('processes', '{} by gRPC on port health', checks.WrongProbes,
         'Job CONTAINER livenessProbe grpc service = ready',
         'StatefulSet CONTAINER startupProbe grpc port = 50051'),
    Rule('processes', 'no NetworkPolicy denies {}',
         lambda pod: [direction for direction in ('Ingress', 'Egress')
                      if not checks.Policies(pod, direction)],
         'NetworkPolicy/gradsieve-default-deny spec policyTypes = [Egress]'),
    Rule('processes', 'it may not reach the servers\' port {}',
         checks.UnreachableServers,
         'delete NetworkPolicy/gradsieve-server spec ingress 0 from 1'),
    Rule('processes', 'any pod of the namespace may reach port {}',
         lambda pod: [port.name for port in pod.container.ports
                      if checks.Allows(pod, 'Ingress', {}, port.containerPort)],
         'NetworkPolicy/gradsieve-server spec ingress 0 from = [{podSelector: {}}]'),
    Rule('processes', 'it may not ask DNS', lambda pod: not checks.MayAskDns(pod),
         'delete NetworkPolicy/gradsieve-dns spec egress 0 ports 0'),

    # Processors and memory. A process whose memory is not reserved is the first to be
    # killed, and one that is throttled delays all others.
    Rule('pods', 'it requests more {} than its limit',
         lambda pod: [name for name in pod.limits.keys() & pod.requests.keys()
                      if Quantity(pod.requests[name]) > Quantity(pod.limits[name])],
         'Job CONTAINER resources requests memory = 2Gi'),
    Rule('pods', 'the memory\'s request must be its limit',
         lambda pod: not pod.limits.memory or Quantity(
             pod.requests.memory or pod.limits.memory) < Quantity(pod.limits.memory),
         'StatefulSet CONTAINER resources requests memory = 512Mi',
         'delete StatefulSet CONTAINER resources limits memory'),
    Rule('processes', 'it must have no limit on processors',
         lambda pod: 'cpu' in pod.limits,
         'StatefulSet CONTAINER resources limits cpu = "2"'),
    Rule('pods', 'it must request processors', lambda pod: 'cpu' not in pod.requests,
         'delete Job CONTAINER resources requests cpu'),
    Rule('server', 'its memory must suffice: {}', checks.MissingMemory,
         'StatefulSet CONTAINER resources requests memory = 512Mi; StatefulSet '
         'CONTAINER resources limits memory = 512Mi'),

    # How pods are started, started again and removed. Kubernetes ignores
    # podFailurePolicy, or refuses it, if pods restart, and two pods of one rank at once
    # would be refused.
    Rule('jobs', 'completionMode must be Indexed',
         lambda pod: pod.job.completionMode != 'Indexed',
         'Job spec completionMode = NonIndexed'),
    Rule('jobs', 'restartPolicy must be Never',
         lambda pod: pod.spec.restartPolicy != 'Never',
         'Job POD restartPolicy = OnFailure'),
    Rule('jobs', 'backoffLimitPerIndex must be set, and maxFailedIndexes 0',
         lambda pod: not pod.job.backoffLimitPerIndex or pod.job.maxFailedIndexes != 0,
         'delete Job spec backoffLimitPerIndex'),
    Rule('jobs', 'podReplacementPolicy must be Failed',
         lambda pod: pod.job.podReplacementPolicy != 'Failed',
         'Job spec podReplacementPolicy = TerminatingOrFailed'),
    Rule('jobs', 'podFailurePolicy must {}', checks.MissingActions,
         'Job spec podFailurePolicy rules 1 onExitCodes values = [64]',
         'delete Job spec podFailurePolicy rules 0',
         'JobSet spec replicatedJobs server template spec podFailurePolicy rules 1 '
         'onExitCodes containerName = worker @jobset'),
    Rule('jobs', 'ttlSecondsAfterFinished must be set',
         lambda pod: not pod.owner.spec.ttlSecondsAfterFinished,
         'delete Job spec ttlSecondsAfterFinished'),
    Rule('StatefulSet', 'pods must start in parallel',
         lambda each: each.spec.podManagementPolicy != 'Parallel',
         'delete StatefulSet spec podManagementPolicy'),
    Rule('StatefulSet', 'claims must be retained',
         lambda each: each.spec.persistentVolumeClaimRetentionPolicy != {
             'whenDeleted': 'Retain', 'whenScaled': 'Retain'},
         'StatefulSet spec persistentVolumeClaimRetentionPolicy whenDeleted = '
         'Delete'),
    # They cannot be changed later, and so would make every change of a label fail.
    Rule('pods', 'the claim template {} must have no labels',
         lambda pod: [claim.name for claim in pod.claims if claim.labels],
         'StatefulSet spec volumeClaimTemplates 0 metadata labels = {app: '
         'gradsieve}'),
    Rule('PodDisruptionBudget', 'maxUnavailable must be above 0, and '
         'unhealthyPodEvictionPolicy AlwaysAllow',
         lambda each: not each.spec.maxUnavailable or
         each.spec.unhealthyPodEvictionPolicy != 'AlwaysAllow',
         'PodDisruptionBudget spec maxUnavailable = 0'),
    Rule('jobs', 'successPolicy must be all workers',
         lambda pod: pod.replicated_job and pod.role == 'worker' and
         pod.owner.spec.successPolicy != {
             'operator': 'All', 'targetReplicatedJobs': [pod.replicated_job]},
         'JobSet spec successPolicy targetReplicatedJobs = [server] @jobset'),

    # The pod security standard "restricted", and what this project asks on top.
    Rule('pods', 'it must have runAsNonRoot: true',
         lambda pod: pod.security.runAsNonRoot is not True or
         pod.own.runAsNonRoot is False,
         'delete Job POD securityContext runAsNonRoot'),
    Rule('pods', 'it must have a numeric runAsUser above 0',
         lambda pod: not pod.security.runAsUser or 'runAsUser' in pod.own,
         'Job POD securityContext runAsUser = 0'),
    Rule('pods', 'it must have seccompProfile RuntimeDefault',
         lambda pod: pod.security.seccompProfile.type != 'RuntimeDefault',
         'Job POD securityContext seccompProfile type = Unconfined'),
    Rule('pods', 'it must have allowPrivilegeEscalation: false',
         lambda pod: pod.own.allowPrivilegeEscalation is not False,
         'delete Job CONTAINER securityContext allowPrivilegeEscalation'),
    Rule('pods', 'it must have no capabilities',
         lambda pod: 'ALL' not in pod.own.capabilities.drop or
         pod.own.capabilities['add'],
         'Job CONTAINER securityContext capabilities add = [SYS_PTRACE]'),
    Rule('pods', 'it must not be privileged', lambda pod: pod.own.privileged,
         'Job CONTAINER securityContext privileged = true'),
    Rule('pods', 'it must have no namespaces of the host',
         lambda pod: pod.spec.hostNetwork or pod.spec.hostPID or pod.spec.hostIPC,
         'Job POD hostNetwork = true'),
    Rule('pods', 'it must have readOnlyRootFilesystem: true',
         lambda pod: pod.own.readOnlyRootFilesystem is not True,
         'delete Job CONTAINER securityContext readOnlyRootFilesystem'),
    Rule('pods', 'it must have an fsGroup', lambda pod: not pod.security.fsGroup,
         'delete Job POD securityContext fsGroup'),
    Rule('pods', 'volume {} is of a kind that "restricted" forbids',
         lambda pod: [each.name for each in pod.volumes if not VOLUMES & each.keys()],
         'Job POD volumes += {name: node, hostPath: {path: /data}}; Job CONTAINER '
         'volumeMounts += {name: node, mountPath: /data}'),
    # Our processes have no use for the Kubernetes API, nor for variables of services,
    # and encrypt what they send.
    Rule('pods', '{} must be false',
         lambda pod: [field for field in
                      ('automountServiceAccountToken', 'enableServiceLinks')
                      if pod.spec[field] is not False],
         'delete StatefulSet POD automountServiceAccountToken'),
    Rule('pods', 'it must refuse the sidecars of Istio and Linkerd',
         lambda pod: pod.labels['sidecar.istio.io/inject'] != 'false' or
         pod.annotations['linkerd.io/inject'] != 'disabled',
         'delete Job spec template metadata annotations'),
    Rule('pods', 'its image must have a fixed version',
         lambda pod: not re.search(r'(:(?!latest$)[\w.-]+|@sha256:\w+)$', pod.image),
         'Job CONTAINER image = gradsieve-worker-cpu:latest',
         'Job CONTAINER image = registry:5000/gradsieve-worker-cpu'),
    Rule('Namespace', 'it must enforce "restricted"', lambda each: each.metadata.labels[
        'pod-security.kubernetes.io/enforce'] != 'restricted',
         'delete Namespace metadata labels @production'),

    # What the programs understand. The images have them as their entry point.
    Rule('all', 'there must be one kind of pod whose container is named {}',
         lambda m: [role for role in ('server', 'worker')
                    if [pod.role for pod in m.processes].count(role) != 1],
         'StatefulSet CONTAINER name = ps'),
    Rule('processes', 'its image must be gradsieve-{}, and there must be no command',
         lambda pod: not pod.is_script and (
             pod.container.command or not pod.image.split('/')[-1].startswith(
                 f'gradsieve-{pod.role}')) and [pod.role],
         'StatefulSet CONTAINER image = gradsieve-worker-cpu:v0.1.0'),
    Rule('processes', 'a job of a script needs a command, and WORLD_SIZE {}',
         lambda pod: pod.is_script and (not pod.container.command or [
             each.value for each in pod.container.env if each.name == 'WORLD_SIZE'] != [
                 str(pod.replicas)]) and [pod.replicas],
         'delete Job CONTAINER command @script',
         'Job CONTAINER env WORLD_SIZE value = "3" @script'),
    Rule('processes', 'its program has no option as in {}',
         lambda pod: [arg for arg in pod.arguments
                      if arg.split('=')[0] not in pod.m.programs.Options(pod.role)],
         'Job CONTAINER args += --verbose=1'),
    Rule('processes', 'its program does not read {}',
         lambda pod: not pod.is_script and [
             each.name for each in pod.container.env if each.name not in
             re.findall(r'\w+', pod.m.programs.Help(pod.role))],
         'Job CONTAINER env += {name: RANK, value: "1"}'),
    # Otherwise all servers, or all ranks, would be the same one.
    Rule('processes', '{} must be the index of its pod', checks.MissingIndex,
         'delete Job CONTAINER env RANK @script',
         'StatefulSet CONTAINER env POD_INDEX valueFrom fieldRef fieldPath = '
         'metadata.name'),
    Rule('processes', 'its job is wrong: {}',
         lambda pod: filter(None, [pod.m.programs.CheckJob(pod.m.job_text,
                                                           pod.settings)]),
         'JOB: every: 100 -> evry: 100',
         'Job CONTAINER args: machine.device=cuda -> machine.gpu=1 @gpu',
         'JOB: servers: "gradsieve-server-1.gradsieve-server:50051" -> '),
    Rule('all', 'gradsieve certs makes no Secrets: {}', checks.Unsecret,
         'no Secrets'),
    Rule('all', '{} has other --set than the first', checks.DifferentSettings,
         'Job CONTAINER args += --set=training.epochs=3'),

    # What the job says and the manifests repeat. A run keeps its config to the end
    # (base/kustomization.yaml).
    Rule('processes', 'the job must say {}, which the manifests depend on',
         lambda pod: [field for field in (
             STATED if pod.is_external else STATED + STATED_WITHOUT_SCRIPT)
                      if pod.Text(field) is None],
         'JOB: grace_seconds: 25 -> ',
         'JOB: worker_threads: 1 -> '),
    Rule('ConfigMap', 'it must be immutable',
         lambda config: config.immutable is not True,
         'delete ConfigMap immutable'),
    Rule('processes', 'its number of pods must be {}, as the job says',
         lambda pod: {pod.Number(f'cluster.num_{pod.role}s') or pod.replicas} - {
             pod.replicas},
         'StatefulSet spec replicas = 3',
         'Job spec completions = 1; Job spec parallelism = 1'),
    Rule('jobs', 'parallelism must equal completions',
         lambda pod: pod.job.parallelism != pod.job.completions,
         'Job spec parallelism = 1'),
    Rule('server', 'cluster.servers must be {}', checks.WrongServers,
         'JOB: gradsieve-server-1. -> gradsieve-server-2.',
         'JOB: gradsieve-server-0-1.gradsieve: -> '
         'gradsieve-server-1.gradsieve-server: @jobset',
         'JOB: gradsieve-server:50051 -> gradsieve-server:50061'),
    # Kubernetes kills a process that still writes its snapshot.
    Rule('processes', 'terminationGracePeriodSeconds must be above '
         'checkpoint.grace_seconds',
         lambda pod: (pod.spec.terminationGracePeriodSeconds or 0) <=
         pod.Number('checkpoint.grace_seconds'),
         'JOB: grace_seconds: 25 -> grace_seconds: 60'),

    # Certificates. A process with two URIs is refused; so is a key that others can
    # read, and root's, which Kubernetes mounts, must be readable by the group.
    Rule('all', 'Certificates and processes differ in the URI {}', checks.WrongUris,
         'Certificate/gradsieve-worker-3 spec uris 0 = spiffe://gradsieve/x/worker/3 '
         '@production'),
    Rule('Certificate', 'it must have one URI',
         lambda each: not each.spec.isCA and len(each.spec.uris) != 1,
         'Certificate/gradsieve-worker-3 spec uris += '
         'spiffe://gradsieve/training/worker/3 @production'),
    Rule('Certificate', 'it must allow {}', checks.MissingUsages,
         'delete Certificate/gradsieve-server-1 spec usages -1 @production'),
    Rule('all', 'there is no {}', checks.MissingIssuers,
         'Certificate/gradsieve-worker-1 spec issuerRef name = ca @production',
         'Issuer/gradsieve-authority spec ca secretName = ca @production'),
    Rule('processes', '{} is not in the volume of certificates', checks.MissingFiles,
         'delete Job POD volumes certificates projected sources -1 @production',
         'Job POD volumes certificates projected sources 2 secret name = '
         'gradsieve-worker-1-tls @production',
         'Job POD volumes certificates secret secretName = '
         'gradsieve-server-certificates'),
    Rule('processes', 'the defaultMode of its certificates must be 0440 (288)',
         lambda pod: pod.certificates and 0o440 != (
             pod.certificates.secret or pod.certificates.projected).defaultMode,
         'Job POD volumes certificates secret defaultMode = 0444'),
]
