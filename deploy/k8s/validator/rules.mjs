// All rules. A rule is a function of the manifests and the programs, whose name
// says what must hold; it returns one line for each place where it does not.
import * as certificates from './rules/certificates.mjs';
import * as job from './rules/job.mjs';
import * as names from './rules/names.mjs';
import * as network from './rules/network.mjs';
import * as podSecurity from './rules/pod_security.mjs';
import * as ports from './rules/ports.mjs';
import * as programs from './rules/programs.mjs';
import * as resources from './rules/resources.mjs';
import * as schema from './rules/schema.mjs';
import * as selectors from './rules/selectors.mjs';
import * as volumes from './rules/volumes.mjs';
import * as workloads from './rules/workloads.mjs';
import {Manifests} from './manifests.mjs';

export const rules = [
  schema, selectors, names, volumes, ports, network, resources, workloads,
  podSecurity, programs, job, certificates,
].flatMap(group => Object.values(group));

// What is wrong, as {rule, message}.
export function findErrors(objects, programsToAsk) {
  const manifests = new Manifests(objects);
  return rules.flatMap(rule => rule(manifests, programsToAsk)
      .map(message => ({rule: rule.name, message})));
}
