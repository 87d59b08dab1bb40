// The pod security standard "restricted", and what this project asks on top.

const kAllowedVolumes = [
  'configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral',
  'persistentVolumeClaim', 'projected', 'secret',
];

function missingFields({spec, container}) {
  const pod = spec.securityContext ?? {};
  const own = container.securityContext ?? {};
  const wanted = {
    'runAsNonRoot: true': pod.runAsNonRoot === true && own.runAsNonRoot !== false,
    'a numeric runAsUser above 0': pod.runAsUser > 0 && own.runAsUser === undefined,
    'seccompProfile RuntimeDefault': pod.seccompProfile?.type === 'RuntimeDefault',
    'allowPrivilegeEscalation: false': own.allowPrivilegeEscalation === false,
    'all capabilities dropped':
        own.capabilities?.drop?.includes('ALL') && !own.capabilities.add,
    'no privileged container': !own.privileged,
    'no namespaces of the host': !spec.hostNetwork && !spec.hostPID && !spec.hostIPC,
    'readOnlyRootFilesystem: true': own.readOnlyRootFilesystem === true,
    'an fsGroup': pod.fsGroup > 0,
  };
  return Object.keys(wanted).filter(what => !wanted[what]);
}

export function podsAreRestricted(m) {
  return m.pods.flatMap(pod =>
      missingFields(pod).map(what => `${pod.name} must have ${what}`));
}

export function volumesAreRestricted(m) {
  return m.pods.flatMap(pod => (pod.spec.volumes ?? [])
      .filter(volume => !kAllowedVolumes.some(kind => volume[kind]))
      .map(({name}) => `${pod.name}: volume ${name} is of a kind that "restricted" forbids`));
}

// Our processes have no use for the Kubernetes API, nor for variables of services.
export function podsHaveNoTokens(m) {
  return m.pods
      .filter(({spec}) => spec.automountServiceAccountToken !== false ||
              spec.enableServiceLinks !== false)
      .map(({name}) => `${name}: automountServiceAccountToken and enableServiceLinks ` +
           'must be false');
}

export function podsHaveNoSidecars(m) {
  return m.pods
      .filter(({labels, annotations}) =>
          labels['sidecar.istio.io/inject'] !== 'false' ||
          annotations['linkerd.io/inject'] !== 'disabled')
      .map(({name}) => `${name} must refuse the sidecars of Istio and Linkerd`);
}

export function imagesHaveVersions(m) {
  return m.pods
      .filter(({container: {image}}) => !/(:(?!latest$)[\w.-]+|@sha256:\w+)$/.test(image))
      .map(({name, container}) => `${name}: ${container.image} has no fixed version`);
}

export function namespaceIsRestricted(m) {
  return m.all('Namespace')
      .filter(({metadata}) =>
          metadata.labels?.['pod-security.kubernetes.io/enforce'] !== 'restricted')
      .map(({metadata}) => `Namespace ${metadata.name} must enforce "restricted"`);
}
