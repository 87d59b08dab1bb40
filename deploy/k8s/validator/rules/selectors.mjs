// Who is selected by what.
import {selects} from '../manifests.mjs';

export function workloadSelectsItsPods(m) {
  return m.pods
      .filter(({owner, labels}) => owner.spec.selector &&
              owner.kind === 'StatefulSet' && !selects(owner.spec.selector, labels))
      .map(({name}) => `${name}: its selector does not match the labels of its template`);
}

function peers(policy) {
  return [...policy.spec.ingress ?? [], ...policy.spec.egress ?? []]
      .flatMap(({from = [], to = []}) => [...from, ...to])
      .filter(({podSelector, namespaceSelector}) => podSelector && !namespaceSelector)
      .map(({podSelector}) => podSelector);
}

function selectorsOf(object) {
  switch (object.kind) {
    case 'Service': return [{matchLabels: object.spec.selector}];
    case 'PodDisruptionBudget': return [object.spec.selector];
    case 'PodMonitor': return [object.spec.selector];
    case 'NetworkPolicy': return [object.spec.podSelector, ...peers(object)];
    default: return [];
  }
}

// A selector that selects nothing is most likely a misspelt one.
export function selectorsFindPods(m) {
  return m.objects.flatMap(object =>
      selectorsOf(object)
          .filter(selector => !m.pods.some(({labels}) => selects(selector, labels)))
          .map(selector => `${object.kind} ${object.metadata.name}: no pod has ` +
               JSON.stringify(selector.matchLabels)));
}

export function spreadCountsOwnPods(m) {
  return m.pods.flatMap(({name, labels, spec}) =>
      (spec.topologySpreadConstraints ?? [])
          .filter(({labelSelector}) => !selects(labelSelector, labels))
          .map(({topologyKey}) => `${name}: the spread over ${topologyKey} counts ` +
               'other pods than its own'));
}

// Clients dial pods by name, also those that are not ready.
export function serversHaveNames(m) {
  return m.all('StatefulSet').flatMap(({metadata, spec}) => {
    const service = m.find('Service', spec.serviceName);
    if (!service) {
      return [`StatefulSet ${metadata.name}: there is no Service ${spec.serviceName}`];
    }
    const {clusterIP, publishNotReadyAddresses} = service.spec;
    return clusterIP === 'None' && publishNotReadyAddresses === true ? [] :
        [`Service ${spec.serviceName} must be headless and publish addresses that ` +
         'are not ready'];
  });
}
