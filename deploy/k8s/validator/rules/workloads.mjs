// StatefulSets, Jobs and disruption budgets.

export function jobsAreIndexed(m) {
  return m.processes.filter(({job}) => job)
      .filter(({job}) => job.completionMode !== 'Indexed')
      .map(({name}) => `${name}: completionMode must be Indexed`);
}

// Kubernetes ignores podFailurePolicy, or refuses it, with any other policy.
export function jobPodsNeverRestart(m) {
  return m.processes.filter(({job, spec}) => job && spec.restartPolicy !== 'Never')
      .map(({name}) => `${name}: restartPolicy must be Never`);
}

export function jobRetriesEachIndex(m) {
  return m.processes.filter(({job}) => job &&
          !(job.backoffLimitPerIndex > 0 && job.maxFailedIndexes === 0))
      .map(({name}) => `${name}: backoffLimitPerIndex must be set, and ` +
           'maxFailedIndexes 0');
}

// Two pods of one rank at once would be refused.
export function podsAreReplacedWhenGone(m) {
  return m.processes.filter(({job}) => job && job.podReplacementPolicy !== 'Failed')
      .map(({name}) => `${name}: podReplacementPolicy must be Failed`);
}

function ignoresDisruption({action, onPodConditions = []}) {
  return action === 'Ignore' && onPodConditions.some(
      ({type, status}) => type === 'DisruptionTarget' && status === 'True');
}

function actsOn({action, onExitCodes}, wanted, code, container) {
  return action === wanted && onExitCodes?.operator === 'In' &&
      onExitCodes.values.includes(code) &&
      [undefined, container].includes(onExitCodes.containerName);
}

// docs/recovery.md lists the exit codes.
export function failurePolicyKnowsExitCodes(m) {
  return m.processes.filter(({job}) => job).flatMap(({name, job, container}) => {
    const rules = job.podFailurePolicy?.rules ?? [];
    const missing = [];
    if (!rules.some(ignoresDisruption)) missing.push('ignore DisruptionTarget');
    for (const [action, code] of [['FailJob', 64], ['FailJob', 78], ['Ignore', 75]]) {
      if (!rules.some(rule => actsOn(rule, action, code, container.name))) {
        missing.push(`${action} on exit code ${code}`);
      }
    }
    return missing.map(what => `${name}: podFailurePolicy must ${what}`);
  });
}

export function finishedJobsAreRemoved(m) {
  return [...m.all('Job').filter(({metadata}) => m.processes.some(
              pod => pod.owner.metadata === metadata)),
          ...m.all('JobSet')]
      .filter(({spec}) => !(spec.ttlSecondsAfterFinished > 0))
      .map(({kind, metadata}) =>
           `${kind} ${metadata.name}: ttlSecondsAfterFinished must be set`);
}

// Servers wait for each other, and keep what they saved.
export function serverSetKeepsState(m) {
  return m.all('StatefulSet').flatMap(({metadata, spec}) => {
    const retention = spec.persistentVolumeClaimRetentionPolicy ?? {};
    return spec.podManagementPolicy === 'Parallel' &&
        retention.whenDeleted === 'Retain' && retention.whenScaled === 'Retain' ? [] :
        [`StatefulSet ${metadata.name}: pods must start in parallel, and claims be ` +
         'retained'];
  });
}

// They cannot be changed later, and so would make every change of a label fail.
export function claimTemplatesHaveNoLabels(m) {
  return m.pods.flatMap(({name, claims}) => claims
      .filter(({metadata}) => metadata.labels)
      .map(({metadata}) => `${name}: the claim template ${metadata.name} has labels`));
}

export function drainsAreNotBlocked(m) {
  return m.all('PodDisruptionBudget')
      .filter(({spec}) => !(spec.maxUnavailable >= 1) ||
              spec.unhealthyPodEvictionPolicy !== 'AlwaysAllow')
      .map(({metadata}) => `PodDisruptionBudget ${metadata.name}: maxUnavailable must ` +
           'be at least 1, and unhealthyPodEvictionPolicy AlwaysAllow');
}

// A JobSet ends when its workers are done.
export function jobsetEndsWithWorkers(m) {
  return m.pods.filter(({role, replicatedJob}) => role === 'worker' && replicatedJob)
      .filter(({owner, replicatedJob}) =>
          owner.spec.successPolicy?.operator !== 'All' ||
          owner.spec.successPolicy.targetReplicatedJobs?.join() !== replicatedJob)
      .map(({name}) => `${name}: successPolicy must be all workers`);
}
