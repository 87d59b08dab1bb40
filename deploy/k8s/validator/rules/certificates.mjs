// Certificates: each process finds its own, and nobody has those of others.
import {mountOf, volumeOf} from '../manifests.mjs';
import {number, text} from '../job_text.mjs';

const kMode = 0o440;

function processesOf(m, pod) {
  const count = number(m.job(pod), `cluster.num_${pod.role}s`) || 0;
  return Array.from({length: count}, (_, i) => `${pod.role}-${i}`);
}

function uriOf(job, process) {
  return `spiffe://gradsieve/${text(job, 'name')}/${process.replace('-', '/')}`;
}

function processCertificates(m) {
  return m.all('Certificate').filter(({spec}) => !spec.isCA);
}

function certificateVolume(m, pod) {
  const mount = mountOf(pod, text(m.job(pod), 'security.directory') ?? '');
  return mount && volumeOf(pod, mount);
}

// Either cert-manager makes all of them, or `gradsieve certs` does.
export function certificatesCoverProcesses(m) {
  const certificates = processCertificates(m);
  if (certificates.length === 0) return [];
  const wanted = m.processes.flatMap(pod => processesOf(m, pod)
      .map(process => uriOf(m.job(pod), process)));
  const given = certificates.flatMap(({spec}) => spec.uris ?? []);
  return [
    ...wanted.filter(uri => !given.includes(uri))
        .map(uri => `no Certificate has the URI ${uri}`),
    ...given.filter(uri => !wanted.includes(uri))
        .map(uri => `a Certificate has the URI ${uri}, and the job has no such process`),
  ];
}

// A process with two URIs is refused; all servers but the first are clients, too.
export function certificatesAreUsable(m) {
  return processCertificates(m).flatMap(({metadata, spec}) => {
    const errors = [];
    if (spec.uris?.length !== 1) errors.push('must have exactly one URI');
    const isServer = spec.uris?.[0]?.includes('/server/');
    const usages = ['digital signature', 'client auth', ...(isServer ? ['server auth'] : [])];
    for (const usage of usages) {
      if (!spec.usages?.includes(usage)) errors.push(`must allow ${usage}`);
    }
    return errors.map(error => `Certificate ${metadata.name} ${error}`);
  });
}

// The Secret that the process's certificate is written to.
function secretOf(m, uri) {
  return processCertificates(m).find(({spec}) => spec.uris?.includes(uri))
      ?.spec.secretName;
}

function isProjected(sources, path, key, secretName) {
  return sources.some(({secret}) => (!secretName || secret?.name === secretName) &&
      secret?.items?.some(item => item.path === path && item.key === key));
}

function projectedFiles({sources}, m, pod) {
  const files = [['ca.pem', 'ca.crt'], ...processesOf(m, pod).flatMap(process => {
    const secret = secretOf(m, uriOf(m.job(pod), process));
    return secret ? [[`${process}.pem`, 'tls.crt', secret],
                     [`${process}.key`, 'tls.key', secret]] : [];
  })];
  return files.filter(file => !isProjected(sources, ...file)).map(([path]) => path);
}

function secretFiles({secretName}, m, pod, programs) {
  const secret = m.find('Secret', secretName) ??
      programs.secrets(m.jobText()).objects
          .find(({metadata}) => metadata.name === secretName);
  // namesExist reports a Secret that does not exist.
  const keys = secret && Object.keys({...secret.data, ...secret.stringData});
  return ['ca.pem', ...processesOf(m, pod).flatMap(
      process => [`${process}.pem`, `${process}.key`])]
      .filter(file => keys && !keys.includes(file));
}

// ca.pem, and I.pem and I.key of each process, of its own Certificate or as
// `gradsieve certs --kubernetes` makes them (security.directory).
export function certificateFilesAreThere(m, programs) {
  return m.processes.flatMap(pod => {
    const {secret, projected} = certificateVolume(m, pod) ?? {};
    const missing = [
      ...secret ? secretFiles(secret, m, pod, programs) : [],
      ...projected ? projectedFiles(projected, m, pod) : [],
    ];
    return missing.map(file => `${pod.name}: ${file} of this process is not in the ` +
                       'volume of certificates');
  });
}

// A key that others can read is refused, and root's, which Kubernetes mounts, must
// be readable by the group of the process.
export function keysAreReadableByGroupOnly(m) {
  return m.processes.filter(pod => {
    const volume = certificateVolume(m, pod);
    const mode = volume?.secret?.defaultMode ?? volume?.projected?.defaultMode;
    return volume && mode !== kMode;
  }).map(({name}) => `${name}: the defaultMode of its certificates must be 0440 (288)`);
}
