"""What the API server checks of one object: its kind, fields, types and enumerations.

The package kubernetes-validate brings Kubernetes' own schemas, strict ones, where an
unknown field is an error. Schemas of this file are short for JSON Schema: a map has the
fields of an object, "!" marks those that must be there; a set has all values, a list
the type of its elements; a text names a schema of Kubernetes."""

import functools
import json

import jsonschema
from kubernetes_validate import latest_version, utils

# The first version that docs/kubernetes.md promises, and the latest one.
VERSIONS = '1.29.0', latest_version()
TEXT = {'type': 'string'}
TYPES = {str: TEXT, int: {'type': 'integer'}, bool: {'type': 'boolean'}, object: {},
         dict: {'type': 'object', 'additionalProperties': TEXT}}
PROTOCOL = {'SCTP', 'TCP', 'UDP'}
RETENTION = {'Delete', 'Retain'}

# Kubernetes' schemas leave the values of enumerations out: those of fields that the
# manifests use, or are likely to.
ENUMERATIONS = {
    'apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted': RETENTION,
    'apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy whenScaled': RETENTION,
    'apps.v1.StatefulSetSpec podManagementPolicy': {'OrderedReady', 'Parallel'},
    'batch.v1.JobSpec completionMode': {'Indexed', 'NonIndexed'},
    'batch.v1.JobSpec podReplacementPolicy': {'Failed', 'TerminatingOrFailed'},
    'batch.v1.PodFailurePolicyOnExitCodesRequirement operator': {'In', 'NotIn'},
    'batch.v1.PodFailurePolicyOnPodConditionsPattern status':
        {'False', 'True', 'Unknown'},
    'batch.v1.PodFailurePolicyRule action': {'Count', 'FailIndex', 'FailJob', 'Ignore'},
    'core.v1.Container imagePullPolicy': {'Always', 'IfNotPresent', 'Never'},
    'core.v1.ContainerPort protocol': PROTOCOL,
    'core.v1.PersistentVolumeClaimSpec accessModes':
        [{'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'}],
    'core.v1.PodSecurityContext fsGroupChangePolicy': {'Always', 'OnRootMismatch'},
    'core.v1.PodSpec restartPolicy': {'Always', 'Never', 'OnFailure'},
    'core.v1.SeccompProfile type': {'Localhost', 'RuntimeDefault', 'Unconfined'},
    'core.v1.ServicePort protocol': PROTOCOL,
    'core.v1.ServiceSpec type':
        {'ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'},
    'core.v1.Toleration effect': {'NoExecute', 'NoSchedule', 'PreferNoSchedule'},
    'core.v1.Toleration operator': {'Equal', 'Exists'},
    'core.v1.TopologySpreadConstraint whenUnsatisfiable':
        {'DoNotSchedule', 'ScheduleAnyway'},
    'networking.v1.NetworkPolicyPort protocol': PROTOCOL,
    'networking.v1.NetworkPolicySpec policyTypes': [{'Egress', 'Ingress'}],
    'policy.v1.PodDisruptionBudgetSpec unhealthyPodEvictionPolicy':
        {'AlwaysAllow', 'IfHealthyBudget'},
}

# The specs of kinds that Kubernetes does not have: the fields that a user sets, of
# JobSet 0.12, cert-manager 1.18 and the Prometheus operator 0.85.
SPECS = {
    ('jobset.x-k8s.io/v1alpha2', 'JobSet'): {
        'replicatedJobs!': [{
            'name!': str, 'groupName': str, 'replicas': int,
            'template!': 'api.batch.v1.JobTemplateSpec',
            'dependsOn': [{'name!': str, 'status!': {'Complete', 'Ready'}}]}],
        'network': {'enableDNSHostnames': bool, 'subdomain': str,
                    'publishNotReadyAddresses': bool},
        'successPolicy': {'operator!': {'All', 'Any'}, 'targetReplicatedJobs': [str]},
        'failurePolicy': {
            'maxRestarts': int,
            'restartStrategy': {'BlockingRecreate', 'InPlaceRestart', 'Recreate'},
            'rules': [{
                'name!': str,
                'action!': {
                    'FailJobSet', 'RestartJob', 'RestartJobAndIgnoreMaxRestarts',
                    'RestartJobSet', 'RestartJobSetAndIgnoreMaxRestarts'},
                'onJobFailureReasons': [str], 'onJobFailureMessagePatterns': [str],
                'targetReplicatedJobs': [str]}]},
        'coordinator': {'replicatedJob!': str, 'jobIndex': int, 'podIndex': int},
        'suspend': bool, 'managedBy': str, 'ttlSecondsAfterFinished': int,
        'volumeClaimPolicies': [object]},
    ('cert-manager.io/v1', 'Certificate'): {
        'secretName!': str, 'commonName': str, 'isCA': bool, 'uris': [str],
        'dnsNames': [str], 'ipAddresses': [str], 'emailAddresses': [str],
        'duration': str, 'renewBefore': str, 'renewBeforePercentage': int,
        'issuerRef!': {'name!': str, 'kind': str, 'group': str},
        'privateKey': {
            'algorithm': {'ECDSA', 'Ed25519', 'RSA'}, 'encoding': {'PKCS1', 'PKCS8'},
            'rotationPolicy': {'Always', 'Never'}, 'size': int},
        'usages': [{
            'any', 'cert sign', 'client auth', 'code signing', 'content commitment',
            'crl sign', 'data encipherment', 'decipher only', 'digital signature',
            'email protection', 'encipher only', 'ipsec end system', 'ipsec tunnel',
            'ipsec user', 'key agreement', 'key encipherment', 'microsoft sgc',
            'netscape sgc', 'ocsp signing', 's/mime', 'server auth', 'signing',
            'timestamping'}],
        'subject': object, 'secretTemplate': object, 'revisionHistoryLimit': int},
    ('cert-manager.io/v1', 'Issuer'): {
        'selfSigned': {'crlDistributionPoints': [str]},
        'ca': {'secretName!': str, 'crlDistributionPoints': [str], 'ocspServers': [str],
               'issuingCertificateURLs': [str]},
        'acme': object, 'vault': object, 'venafi': object},
    ('monitoring.coreos.com/v1', 'PodMonitor'): {
        'selector!': 'apimachinery.pkg.apis.meta.v1.LabelSelector',
        'podMetricsEndpoints!': [{
            'port': str, 'portNumber': int, 'path': str, 'interval': str, 'scheme': str,
            'scrapeTimeout': str, 'honorLabels': bool, 'filterRunning': bool,
            'params': object, 'relabelings': object, 'metricRelabelings': object,
            'tlsConfig': object}],
        'namespaceSelector': {'any': bool, 'matchNames': [str]}, 'jobLabel': str,
        'podTargetLabels': [str], 'sampleLimit': int, 'targetLimit': int},
    ('monitoring.coreos.com/v1', 'PrometheusRule'): {
        'groups': [{
            'name!': str, 'interval': str, 'limit': int, 'rules!': [{
                'alert': str, 'record': str, 'expr!': str, 'for': str,
                'keep_firing_for': str, 'labels': dict, 'annotations': dict}]}]},
}


def Full(each):
  """JSON Schema of what is short for it."""
  if isinstance(each, dict):
    return {'type': 'object', 'additionalProperties': False,
            'properties': {key.rstrip('!'): Full(one) for key, one in each.items()},
            'required': [key[:-1] for key in each if key.endswith('!')]}
  if isinstance(each, list):
    return {'type': 'array', 'items': Full(each[0])}
  if isinstance(each, set):
    return {'enum': sorted(each)}
  return {'$ref': f'#/$defs/io.k8s.{each}'} if isinstance(each, str) else TYPES[each]


@functools.lru_cache(maxsize=None)
def Definitions(version):
  """The schemas by name, and the names by (apiVersion, kind)."""
  definitions = utils.schema_contents(
      f'kubernetes-json-schema/v{version}-local-strict/_definitions.json',
      version)['$defs']
  for field, values in ENUMERATIONS.items():
    name, field = field.split()
    definitions[f'io.k8s.api.{name}']['properties'][field].update(Full(values))
  names = {(f'{kind["group"]}/{kind["version"]}'.lstrip('/'), kind['kind']): name
           for name, schema in definitions.items()
           for kind in schema.get('x-kubernetes-group-version-kind', [])}
  for (api, kind), spec in SPECS.items():
    names[api, kind] = kind
    definitions[kind] = Full({
        'apiVersion!': str, 'kind!': str, 'spec!': spec,
        'metadata!': 'apimachinery.pkg.apis.meta.v1.ObjectMeta'})
  return definitions, names


@functools.lru_cache(maxsize=None)
def ErrorsOfText(text):
  each = json.loads(text)
  for version in VERSIONS:
    definitions, names = Definitions(version)
    name = names.get((each['apiVersion'], each['kind']))
    if name is None:
      return [('kind', f'there is no {each["apiVersion"]} {each["kind"]} in Kubernetes '
                       f'{version}')]
    validator = jsonschema.Draft202012Validator(
        {'$ref': f'#/$defs/{name}', '$defs': definitions})
    found = [('field' if error.validator == 'additionalProperties' else 'value',
              f'{error.json_path[2:]}: {error.message} (Kubernetes {version})')
             for error in validator.iter_errors(each)]
    if found:
      return found
  return []


def Errors(each, sort):
  """What is wrong with an object: its "kind", a "field" that there is not, or a
  "value". Most objects are asked for again and again."""
  return [message for of, message in ErrorsOfText(json.dumps(each, sort_keys=True))
          if of == sort]
