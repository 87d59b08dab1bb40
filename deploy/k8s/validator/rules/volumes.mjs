// Volumes, and what processes expect in them.
import {mountOf, optionValues, volumeOf} from '../manifests.mjs';
import {text} from '../job_text.mjs';

export function mountsHaveVolumes(m) {
  return m.pods.flatMap(pod =>
      pod.container.volumeMounts.filter(mount => !volumeOf(pod, mount))
          .map(({name}) => `${pod.name}: there is no volume ${name}`));
}

export function volumesAreMounted(m) {
  return m.pods.flatMap(pod => {
    const names = [...pod.spec.volumes ?? [], ...pod.claims.map(claim => claim.metadata)]
        .map(({name}) => name);
    return names
        .filter(name => !pod.container.volumeMounts.some(mount => mount.name === name))
        .map(name => `${pod.name}: volume ${name} is not mounted`);
  });
}

function isKept(volume) {
  return Boolean(volume?.persistentVolumeClaim ?? volume?.ephemeral);
}

// Snapshots and the run must be on a volume that outlives the process.
export function stateIsKept(m) {
  return m.processes.flatMap(pod => {
    const paths = [
      ['checkpoint.directory', text(m.job(pod), 'checkpoint.directory')],
      ...optionValues(pod, 'run-dir').map(path => ['--run-dir', path]),
    ];
    return paths.filter(([, path]) => path !== undefined).flatMap(([what, path]) => {
      const mount = mountOf(pod, path);
      if (mount && !mount.readOnly && isKept(volumeOf(pod, mount))) return [];
      return [`${pod.name}: ${what} is ${path}, which is on no volume that is kept`];
    });
  });
}

// The job's file, its certificates and its data must be mounted.
export function inputsAreMounted(m) {
  return m.processes.flatMap(pod => {
    const job = m.job(pod);
    const paths = [
      ...optionValues(pod, 'config').map(path => ['--config', path, 'configMap']),
      ['security.directory', text(job, 'security.directory'), 'secret', 'projected'],
    ];
    if (pod.role === 'worker') {
      paths.push(['data.directory', text(job, 'data.directory'), 'persistentVolumeClaim']);
    }
    return paths.filter(([, path]) => path).flatMap(([what, path, ...kinds]) => {
      const mount = mountOf(pod, path);
      const volume = mount && volumeOf(pod, mount);
      if (volume && mount.readOnly && kinds.some(kind => volume[kind])) return [];
      return [`${pod.name}: ${what} is ${path}, where no ${kinds.join(' or ')} is ` +
              'mounted read-only'];
    });
  });
}

// The file of --config is one of those that the ConfigMap makes.
export function configFileExists(m) {
  return m.processes.flatMap(pod => optionValues(pod, 'config').filter(path => {
    const mount = mountOf(pod, path);
    const {name, items} = (mount && volumeOf(pod, mount)?.configMap) ?? {};
    const files = items?.map(item => item.path) ??
        Object.keys(m.find('ConfigMap', name)?.data ?? {});
    return name && !files.includes(path.slice(mount.mountPath.length + 1));
  }).map(path => `${pod.name}: the ConfigMap does not make ${path}`));
}

export function temporaryVolumesHaveLimits(m) {
  return m.pods.flatMap(pod => (pod.spec.volumes ?? [])
      .filter(({emptyDir}) => emptyDir && !emptyDir.sizeLimit)
      .map(({name}) => `${pod.name}: emptyDir ${name} has no sizeLimit`));
}
