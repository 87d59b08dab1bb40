// What the programs understand.
import {settings} from '../manifests.mjs';

// Where the index of a pod is, by the kind of its owner.
const kIndexFields = {
  StatefulSet: 'metadata.labels[\'apps.kubernetes.io/pod-index\']',
  JobSet: 'metadata.labels[\'batch.kubernetes.io/job-completion-index\']',
};

// Rules about processes find them by the names of their containers.
export function bothProgramsRun(m) {
  return ['server', 'worker']
      .filter(role => m.processes.filter(pod => pod.role === role).length !== 1)
      .map(role => `there must be one kind of pod whose container is named ${role}`);
}

// The images have the program as their entry point, so that args are its own.
export function imagesHavePrograms(m) {
  return m.processes.filter(({role, container: {image, command}}) => command ||
          !image.split('/').at(-1).startsWith(`gradsieve-${role}`))
      .map(({name, role}) => `${name}: its image must be gradsieve-${role}, and there ` +
           'must be no command');
}

export function optionsExist(m, programs) {
  return m.processes.flatMap(pod => {
    const known = programs.options(pod.role);
    return pod.args.filter(arg => !known.includes(/^--([a-z-]+)=/.exec(arg)?.[1]))
        .map(arg => `${pod.name}: ${pod.role} has no option as in ${arg}`);
  });
}

export function variablesAreRead(m, programs) {
  return m.processes.flatMap(pod => (pod.container.env ?? [])
      .filter(({name}) => !new RegExp(`\\b${name}\\b`).test(programs.help(pod.role)))
      .map(({name}) => `${pod.name}: ${pod.role} does not read ${name}`));
}

// Otherwise all servers would be the same one. Workers get
// JOB_COMPLETION_INDEX without being asked.
export function serversKnowTheirIndex(m) {
  return m.processes.filter(({role}) => role === 'server')
      .filter(({owner, container}) => !(container.env ?? []).some(
          ({name, valueFrom}) => name === 'POD_INDEX' &&
              valueFrom?.fieldRef?.fieldPath === kIndexFields[owner.kind]))
      .map(({name, owner}) => `${name}: POD_INDEX must be ${kIndexFields[owner.kind]}`);
}

export function jobIsValid(m, programs) {
  const wrong = m.processes
      .map(pod => [pod, programs.checkJob(m.jobText(), settings(pod))])
      .filter(([, message]) => message !== '');
  return wrong.map(([pod, message]) => `${pod.name}: ${message}`);
}

// People without cert-manager make certificates with it.
export function certificatesCanBeMade(m, programs) {
  if (programs.checkJob(m.jobText(), []) !== '') return [];
  const {objects, message} = programs.secrets(m.jobText());
  return objects.length > 0 ? [] :
      [`gradsieve certs --kubernetes: ${message || 'it made no Secrets'}`];
}

// Processes whose jobs differ refuse each other, except in these fields.
const kMayDiffer = /^(machine\.|cluster\.servers$|(data|checkpoint|security)\.directory$)/;

export function settingsAgree(m) {
  const shared = pod => settings(pod)
      .filter(setting => !kMayDiffer.test(setting.split('=')[0])).sort().join(' ');
  const [first, ...others] = m.processes;
  return others.filter(pod => shared(pod) !== shared(first))
      .map(pod => `${pod.name} and ${first.name} have different --set`);
}
