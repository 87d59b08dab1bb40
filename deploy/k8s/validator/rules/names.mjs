// Names that one object uses of another.

// What cert-manager writes into a Secret.
const kCertificateKeys = ['tls.crt', 'tls.key', 'ca.crt'];

function volumeReferences({name, configMap, secret, persistentVolumeClaim, projected}) {
  const references = [];
  if (configMap) {
    references.push({kind: 'ConfigMap', name: configMap.name, items: configMap.items});
  }
  if (secret) {
    references.push({kind: 'Secret', name: secret.secretName, items: secret.items});
  }
  if (persistentVolumeClaim) {
    references.push({kind: 'PersistentVolumeClaim', name: persistentVolumeClaim.claimName});
  }
  for (const source of projected?.sources ?? []) {
    references.push(...volumeReferences({
      name, configMap: source.configMap,
      secret: source.secret && {...source.secret, secretName: source.secret.name},
    }));
  }
  return references;
}

function references(pod) {
  return [
    {kind: 'ServiceAccount', name: pod.spec.serviceAccountName ?? 'default'},
    ...(pod.spec.volumes ?? []).flatMap(volumeReferences),
  ];
}

function exists(m, programs, {kind, name}) {
  if (kind === 'ServiceAccount' && name === 'default') return true;
  if (kind !== 'Secret') return m.find(kind, name) !== undefined;
  // Those that people make with `gradsieve certs --kubernetes`. If there are none,
  // certificatesCanBeMade or jobIsValid reports it.
  const {objects} = programs.secrets(m.jobText());
  return objects.length === 0 || m.find('Secret', name) !== undefined ||
      objects.some(({metadata}) => metadata.name === name) ||
      m.all('Certificate').some(({spec}) => spec.secretName === name);
}

export function namesExist(m, programs) {
  return m.pods.flatMap(pod =>
      references(pod)
          .filter(reference => !exists(m, programs, reference))
          .map(({kind, name}) => `${pod.name}: there is no ${kind} ${name}`));
}

export function issuersExist(m) {
  const ofCertificates = m.all('Certificate')
      .filter(({spec}) => !m.find(spec.issuerRef.kind, spec.issuerRef.name))
      .map(({metadata, spec}) => `Certificate ${metadata.name}: there is no ` +
           `${spec.issuerRef.kind} ${spec.issuerRef.name}`);
  const ofIssuers = m.all('Issuer')
      .filter(({spec}) => spec.ca && !m.all('Certificate').some(
          certificate => certificate.spec.secretName === spec.ca.secretName))
      .map(({metadata, spec}) =>
           `Issuer ${metadata.name}: there is no Secret ${spec.ca.secretName}`);
  return [...ofCertificates, ...ofIssuers];
}

// The keys that volumes take out of ConfigMaps and of certificates' Secrets.
export function keysExist(m) {
  const keysOf = ({kind, name}) => kind === 'ConfigMap' ?
      Object.keys(m.find('ConfigMap', name)?.data ?? {}) :
      m.all('Certificate').some(({spec}) => spec.secretName === name) ?
      kCertificateKeys : undefined;
  return m.pods.flatMap(pod => references(pod).flatMap(reference => {
    const keys = keysOf(reference);
    return (reference.items ?? []).filter(({key}) => keys && !keys.includes(key))
        .map(({key}) => `${pod.name}: ${reference.kind} ${reference.name} has no key ${key}`);
  }));
}
