// Who may talk to whom, by the NetworkPolicies together.
import {portNumber, selects} from '../manifests.mjs';

function policies(m, labels, type) {
  return m.all('NetworkPolicy').filter(({spec}) =>
      spec.policyTypes.includes(type) && selects(spec.podSelector, labels));
}

function allowsPort(ports, port) {
  return !ports || ports.some(allowed =>
      (allowed.protocol ?? 'TCP') === 'TCP' && allowed.port === port);
}

// Whether a pod with `labels` may send to (Egress), or get from (Ingress), a pod
// of the same namespace with the labels `peer`.
function allows(m, type, labels, peer, port) {
  const key = type === 'Ingress' ? ['ingress', 'from'] : ['egress', 'to'];
  return policies(m, labels, type).some(({spec}) =>
      (spec[key[0]] ?? []).some(rule => allowsPort(rule.ports, port) &&
          (!rule[key[1]] || rule[key[1]].some(({podSelector, namespaceSelector}) =>
              podSelector && !namespaceSelector && selects(podSelector, peer)))));
}

// Without any policy for a direction, everything is allowed.
export function trafficIsDeniedByDefault(m) {
  return m.processes.flatMap(pod => ['Ingress', 'Egress']
      .filter(type => policies(m, pod.labels, type).length === 0)
      .map(type => `${pod.name}: no NetworkPolicy denies ${type.toLowerCase()}`));
}

export function processesReachServers(m) {
  const server = m.pod('server');
  const port = server && portNumber(server, 'grpc');
  return !server ? [] : m.processes
      .filter(pod => !allows(m, 'Egress', pod.labels, server.labels, port) ||
              !allows(m, 'Ingress', server.labels, pod.labels, port))
      .map(pod => `${pod.name} may not reach the servers' port ${port}`);
}

export function strangersReachNothing(m) {
  return m.processes.flatMap(pod => (pod.container.ports ?? [])
      .filter(({containerPort}) => allows(m, 'Ingress', pod.labels, {}, containerPort))
      .map(({name}) => `${pod.name}: any pod of the namespace may reach port ${name}`));
}

export function namesCanBeResolved(m) {
  return m.processes.filter(pod => !policies(m, pod.labels, 'Egress').some(({spec}) =>
      (spec.egress ?? []).some(({ports = []}) => ['UDP', 'TCP'].every(protocol =>
          ports.some(allowed => allowed.protocol === protocol && allowed.port === 53)))))
      .map(pod => `${pod.name} may not ask DNS`);
}
