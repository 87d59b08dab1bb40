// Ports and probes.
import {optionValues, portNumber, selects} from '../manifests.mjs';

const kProbes =
    {startupProbe: 'live', readinessProbe: 'ready', livenessProbe: 'live'};
// The options with which a program listens, and the name of the port.
const kListenOptions =
    {'listen': 'grpc', 'health-listen': 'health', 'metrics-listen': 'metrics'};

function podsOf(m, selector) {
  return m.pods.filter(({labels}) => selects(selector, labels));
}

function missingPorts(m, object, selector, ports) {
  return podsOf(m, selector).flatMap(pod =>
      ports.filter(port => portNumber(pod, port) === undefined)
          .map(port => `${object.kind} ${object.metadata.name}: ${pod.name} has no ` +
               `port ${port}`));
}

function policyPorts(m, policy) {
  const {podSelector, ingress = [], egress = []} = policy.spec;
  const numbers = ports => (ports ?? []).map(({port}) => port);
  return [
    ...ingress.flatMap(({ports}) =>
        missingPorts(m, policy, podSelector, numbers(ports))),
    ...egress.flatMap(({to = [], ports}) =>
        to.filter(peer => peer.podSelector && !peer.namespaceSelector)
            .flatMap(peer => missingPorts(m, policy, peer.podSelector, numbers(ports)))),
  ];
}

export function portsExist(m) {
  return [
    ...m.all('Service').flatMap(service => missingPorts(
        m, service, {matchLabels: service.spec.selector},
        service.spec.ports.map(({port, targetPort}) => targetPort ?? port))),
    ...m.all('NetworkPolicy').flatMap(policy => policyPorts(m, policy)),
    ...m.all('PodMonitor').flatMap(monitor => missingPorts(
        m, monitor, monitor.spec.selector,
        monitor.spec.podMetricsEndpoints.map(({port}) => port))),
  ];
}

// A program listens on all addresses of its pod, at the ports that it declares.
export function programsListenOnPorts(m) {
  return m.processes.flatMap(pod =>
      Object.entries(kListenOptions).flatMap(([option, name]) => {
        const declared = portNumber(pod, name);
        const expected = declared === undefined ? [] : [`0.0.0.0:${declared}`];
        const given = optionValues(pod, option);
        return given.join() === expected.join() ? [] :
            [`${pod.name}: --${option} is ${given.join() || 'absent'}, and port ` +
             `${name} is ${declared ?? 'absent'}`];
      }));
}

// Health is served in plaintext on a port of its own: kubelet knows no
// certificates.
export function probesAskHealth(m) {
  return m.processes.flatMap(pod =>
      Object.entries(kProbes).flatMap(([probe, service]) => {
        const grpc = pod.container[probe]?.grpc;
        return grpc && grpc.service === service &&
            grpc.port === portNumber(pod, 'health') ? [] :
            [`${pod.name}: ${probe} must ask for "${service}" by gRPC on port health`];
      }));
}
