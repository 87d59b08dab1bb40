// Errors in single objects, and in what they say of each other.
import {container, podSpec, replaceArg, volume} from './objects.mjs';

export const plantedInObjects = [
  {rule: 'kindIsKnown', what: 'a misspelt kind',
   plant: o => { o('PodDisruptionBudget').kind = 'PodDisruptionBudgets'; }},
  {rule: 'schemaIsMet', what: 'a number that is text',
   plant: o => { o('StatefulSet').spec.revisionHistoryLimit = '3'; }},
  {rule: 'schemaIsMet', what: 'an action that a Job does not know',
   plant: o => { o('Job').spec.podFailurePolicy.rules.push({action: 'Retry'}); }},
  {rule: 'schemaIsMet', what: 'a usage that cert-manager does not know',
   target: 'overlays/production',
   plant: o => { o('Certificate', 'gradsieve-worker-0').spec.usages.push('both'); }},
  {rule: 'fieldsExist', what: 'a misspelt field deep in a pod',
   plant: o => { container(o('Job')).livenessProbe.failureTreshold = 3; }},
  {rule: 'fieldsExist', what: 'a misspelt field of a PodMonitor',
   target: 'overlays/production',
   plant: o => { o('PodMonitor').spec.podMetricsEndpoints[0].intervall = '5s'; }},
  {rule: 'jobsetIsValid', what: 'an unknown operator', target: 'overlays/jobset',
   plant: o => { o('JobSet').spec.failurePolicy.rules[0].action = 'Retry'; }},
  {rule: 'jobsetIsValid', what: 'a misspelt field of a JobSet', target: 'overlays/jobset',
   plant: o => { o('JobSet').spec.network.subDomain = 'gradsieve'; }},
  {rule: 'jobsetIsValid', what: 'a misspelt field of a Job in a JobSet',
   target: 'overlays/jobset',
   plant: o => { o('JobSet').spec.replicatedJobs[0].template.spec.backofLimit = 3; }},

  {rule: 'workloadSelectsItsPods', what: 'a selector unlike the template',
   plant: o => {
     o('StatefulSet').spec.selector.matchLabels['app.kubernetes.io/component'] = 'servers';
   }},
  {rule: 'selectorsFindPods', what: 'a disruption budget for no pods',
   plant: o => {
     o('PodDisruptionBudget').spec.selector.matchLabels['app.kubernetes.io/name'] = 'ps';
   }},
  {rule: 'spreadCountsOwnPods', what: 'a spread over the pods of others',
   plant: o => {
     podSpec(o('Job')).topologySpreadConstraints[0].labelSelector
         .matchLabels['app.kubernetes.io/component'] = 'server';
   }},
  {rule: 'serversHaveNames', what: 'a Service with an address of its own',
   plant: o => { delete o('Service').spec.clusterIP; }},
  {rule: 'serversHaveNames', what: 'a Service that hides pods which are not ready',
   plant: o => { o('Service').spec.publishNotReadyAddresses = false; }},

  {rule: 'namesExist', what: 'a claim that nobody makes',
   plant: o => { volume(o('Job'), 'state').persistentVolumeClaim.claimName = 'workers'; }},
  {rule: 'namesExist', what: 'a service account that nobody makes',
   plant: o => { podSpec(o('StatefulSet')).serviceAccountName = 'server'; }},
  {rule: 'namesExist', what: 'a Secret that nobody makes',
   plant: o => {
     podSpec(o('Job')).volumes.push({name: 'keys', secret: {secretName: 'keys'}});
     container(o('Job')).volumeMounts.push({name: 'keys', mountPath: '/keys'});
   }},
  {rule: 'issuersExist', what: 'an issuer that nobody makes', target: 'overlays/production',
   plant: o => { o('Certificate', 'gradsieve-worker-1').spec.issuerRef.name = 'ca'; }},
  {rule: 'issuersExist', what: 'an authority whose Secret nobody makes',
   target: 'overlays/production',
   plant: o => { o('Issuer', 'gradsieve-authority').spec.ca.secretName = 'ca'; }},
  {rule: 'keysExist', what: 'a key that the ConfigMap does not have',
   plant: o => {
     volume(o('Job'), 'job').configMap.items = [{key: 'job', path: 'job.textproto'}];
   }},

  {rule: 'mountsHaveVolumes', what: 'a mount of no volume',
   plant: o => {
     container(o('Job')).volumeMounts.push({name: 'cache', mountPath: '/cache'});
   }},
  {rule: 'volumesAreMounted', what: 'a volume that is mounted nowhere',
   plant: o => {
     podSpec(o('Job')).volumes.push({name: 'cache', emptyDir: {sizeLimit: '1Gi'}});
   }},
  {rule: 'stateIsKept', what: 'a run on a temporary volume',
   plant: o => replaceArg(
       o('Job'), '--run-dir=/var/lib/gradsieve/run', '--run-dir=/tmp/run')},
  {rule: 'inputsAreMounted', what: 'certificates that are not mounted',
   plant: o => {
     container(o('StatefulSet')).volumeMounts
         .find(({name}) => name === 'certificates').mountPath = '/etc/certificates';
   }},
  {rule: 'inputsAreMounted', what: 'data that is not mounted',
   target: 'overlays/production',
   plant: o => {
     container(o('Job')).volumeMounts.find(({name}) => name === 'data').mountPath = '/d';
   }},
  {rule: 'configFileExists', what: 'a job of another name',
   plant: o => replaceArg(o('Job'), '--config=/etc/gradsieve/job/job.textproto',
                          '--config=/etc/gradsieve/job/my.textproto')},
  {rule: 'temporaryVolumesHaveLimits', what: 'a temporary volume without a limit',
   plant: o => { delete volume(o('Job'), 'tmp').emptyDir.sizeLimit; }},
];
