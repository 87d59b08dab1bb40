// What the job says and the manifests repeat.
import {portNumber} from '../manifests.mjs';
import {list, number, text} from '../job_text.mjs';

// Defaults are not repeated in this folder, so that they cannot go out of date.
const kStated = [
  'name', 'data.name', 'cluster.num_workers', 'cluster.num_servers', 'cluster.servers',
  'checkpoint.directory', 'checkpoint.grace_seconds', 'checkpoint.log_megabytes',
  'security.directory', 'machine.worker_threads',
];

export function jobIsExplicit(m) {
  const [pod] = m.processes;
  return !pod ? [] : kStated.filter(field => text(m.job(pod), field) === undefined)
      .map(field => `the job must say ${field}, which the manifests depend on`);
}

// A run keeps its config to the end (base/kustomization.yaml).
export function configIsImmutable(m) {
  return m.all('ConfigMap').filter(({immutable}) => immutable !== true)
      .map(({metadata}) => `ConfigMap ${metadata.name} must be immutable`);
}

export function countsAgree(m) {
  return m.processes.flatMap(pod => {
    const field = `cluster.num_${pod.role}s`;
    const wanted = number(m.job(pod), field);
    const errors = [];
    if (!Number.isNaN(wanted) && pod.replicas !== wanted) {
      errors.push(`${pod.name} has ${pod.replicas} pods, and ${field} is ${wanted}`);
    }
    if (pod.job && pod.job.parallelism !== pod.job.completions) {
      errors.push(`${pod.name}: parallelism must equal completions`);
    }
    return errors;
  });
}

// The DNS names that Kubernetes gives the servers' pods. That there is one address
// for each server is for `gradsieve train --check` to say (jobIsValid).
function serverAddresses(pod) {
  const port = portNumber(pod, 'grpc');
  const {kind, metadata, spec} = pod.owner;
  const [base, domain] = kind === 'JobSet' ?
      [`${metadata.name}-${pod.replicatedJob}-0`,
       spec.network?.subdomain ?? metadata.name] :
      [metadata.name, spec.serviceName];
  return Array.from({length: pod.replicas}, (_, i) => `${base}-${i}.${domain}:${port}`);
}

export function addressesAgree(m) {
  const server = m.pod('server');
  if (!server) return [];
  const listed = list(m.job(server), 'cluster.servers');
  const real = serverAddresses(server);
  const wrong = listed.filter(address => !real.includes(address));
  const inOrder = real.filter(address => listed.includes(address)).join() ===
      listed.filter(address => real.includes(address)).join();
  return [
    ...wrong.map(address => `cluster.servers has ${address}, and the servers are ` +
                 real.join(', ')),
    ...(inOrder ? [] : ['cluster.servers must be in the order of the servers']),
  ];
}

// Kubernetes kills a process that still writes its snapshot.
export function graceIsLongEnough(m) {
  return m.processes.filter(pod =>
      pod.spec.terminationGracePeriodSeconds <=
          number(m.job(pod), 'checkpoint.grace_seconds') ||
      pod.spec.terminationGracePeriodSeconds === undefined)
      .map(pod => `${pod.name}: terminationGracePeriodSeconds must be above ` +
           'checkpoint.grace_seconds');
}
