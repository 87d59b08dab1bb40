// The rendered objects of one target, and what the rules ask of them.
import {parseJob, applySettings} from './job_text.mjs';

const kJobMap = 'gradsieve-job';
const kJobKey = 'job.textproto';

function specsOf(object) {
  const {kind, spec} = object;
  if (kind === 'Pod') {
    return [{template: object, replicas: 1}];
  }
  if (kind === 'StatefulSet') {
    return [{template: spec.template, replicas: spec.replicas,
             claims: spec.volumeClaimTemplates ?? []}];
  }
  if (kind === 'Job') {
    return [{template: spec.template, replicas: spec.completions, job: spec}];
  }
  if (kind === 'JobSet') {
    return spec.replicatedJobs.map(({name, template}) => ({
      template: template.spec.template,
      replicas: template.spec.completions,
      job: template.spec,
      replicatedJob: name,
    }));
  }
  return [];
}

// One pod template. `role` is the program that its container runs, if it is one
// of ours.
function podOf(object, {template, replicas, claims = [], job, replicatedJob}) {
  const container = template.spec.containers[0];
  return {
    owner: object,
    name: `${object.kind} ${object.metadata.name}` +
        (replicatedJob ? ` (${replicatedJob})` : ''),
    role: ['server', 'worker'].find(role => role === container.name),
    labels: template.metadata?.labels ?? {},
    annotations: template.metadata?.annotations ?? {},
    spec: template.spec,
    container,
    args: container.args ?? [],
    replicas,
    claims,
    job,
    replicatedJob,
  };
}

export class Manifests {
  constructor(objects) {
    this.objects = objects;
    this.pods = objects.flatMap(
        object => specsOf(object).map(spec => podOf(object, spec)));
  }

  all(...kinds) {
    return this.objects.filter(({kind}) => kinds.includes(kind));
  }

  find(kind, name) {
    return this.all(kind).find(({metadata}) => metadata.name === name);
  }

  pod(role) {
    return this.pods.find(pod => pod.role === role);
  }

  // Those that run our programs.
  get processes() {
    return this.pods.filter(pod => pod.role);
  }

  jobText() {
    return this.find('ConfigMap', kJobMap)?.data?.[kJobKey] ?? '';
  }

  // The job as this pod's process reads it.
  job(pod) {
    return applySettings(parseJob(this.jobText()), settings(pod));
  }
}

// The values of an option of the pod's program.
export function optionValues(pod, name) {
  const prefix = `--${name}=`;
  return pod.args.filter(arg => arg.startsWith(prefix))
      .map(arg => arg.slice(prefix.length));
}

// FIELD=VALUE of every --set.
export function settings(pod) {
  return optionValues(pod, 'set');
}

export function volumeOf(pod, mount) {
  const claim = pod.claims.find(({metadata}) => metadata.name === mount.name);
  if (claim) return {name: mount.name, persistentVolumeClaim: {}};
  return (pod.spec.volumes ?? []).find(({name}) => name === mount.name);
}

function isBelow(path, folder) {
  return path === folder || path.startsWith(`${folder}/`);
}

// The innermost mount that holds a path.
export function mountOf(pod, path) {
  return (pod.container.volumeMounts ?? [])
      .filter(({mountPath}) => isBelow(path, mountPath))
      .sort((a, b) => b.mountPath.length - a.mountPath.length)[0];
}

// Whether a matchLabels selector selects these labels. An empty one selects all.
export function selects(selector, labels) {
  return Object.entries(selector?.matchLabels ?? {})
      .every(([key, value]) => labels[key] === value);
}

export function portNumber(pod, port) {
  const ports = pod.container.ports ?? [];
  return ports.find(({name, containerPort}) =>
      port === name || port === containerPort)?.containerPort;
}

// "1Gi", "500m" or 2 as a number.
export function quantity(text) {
  const [, number, suffix] = /^([0-9.]+)([A-Za-z]*)$/.exec(String(text)) ?? [];
  const factors = {
    '': 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12,
    Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40,
  };
  if (number === undefined || !(suffix in factors)) return NaN;
  return Number(number) * factors[suffix];
}
