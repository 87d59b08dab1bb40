// Errors in Jobs, and where the manifests and the job contradict each other.
import {container, editJob, podSpec, replaceArg, volume} from './objects.mjs';

export const plantedInJobs = [
  {rule: 'jobsAreIndexed', what: 'workers without ranks',
   plant: o => { o('Job').spec.completionMode = 'NonIndexed'; }},
  {rule: 'jobPodsNeverRestart', what: 'containers that restart in place',
   plant: o => { podSpec(o('Job')).restartPolicy = 'OnFailure'; }},
  {rule: 'jobRetriesEachIndex', what: 'no limit for each index',
   plant: o => { delete o('Job').spec.backoffLimitPerIndex; }},
  {rule: 'podsAreReplacedWhenGone', what: 'two pods of one rank',
   plant: o => { o('Job').spec.podReplacementPolicy = 'TerminatingOrFailed'; }},
  {rule: 'failurePolicyKnowsExitCodes', what: 'a wrong job that is tried again',
   plant: o => { o('Job').spec.podFailurePolicy.rules[1].onExitCodes.values = [64]; }},
  {rule: 'failurePolicyKnowsExitCodes', what: 'evictions that count as failures',
   plant: o => { o('Job').spec.podFailurePolicy.rules.shift(); }},
  {rule: 'failurePolicyKnowsExitCodes', what: 'a policy for another container',
   target: 'overlays/jobset',
   plant: o => {
     o('JobSet').spec.replicatedJobs[0].template.spec.podFailurePolicy.rules[1]
         .onExitCodes.containerName = 'worker';
   }},
  {rule: 'finishedJobsAreRemoved', what: 'a Job that stays for ever',
   plant: o => { delete o('Job').spec.ttlSecondsAfterFinished; }},
  {rule: 'serverSetKeepsState', what: 'claims that are deleted with the servers',
   plant: o => {
     o('StatefulSet').spec.persistentVolumeClaimRetentionPolicy.whenDeleted = 'Delete';
   }},
  {rule: 'serverSetKeepsState', what: 'servers that start one after the other',
   plant: o => { delete o('StatefulSet').spec.podManagementPolicy; }},
  {rule: 'claimTemplatesHaveNoLabels', what: 'labels in a claim template',
   plant: o => {
     o('StatefulSet').spec.volumeClaimTemplates[0].metadata.labels = {app: 'gradsieve'};
   }},
  {rule: 'drainsAreNotBlocked', what: 'a budget of no server',
   plant: o => { o('PodDisruptionBudget').spec.maxUnavailable = 0; }},
  {rule: 'jobsetEndsWithWorkers', what: 'a JobSet that ends with its servers',
   target: 'overlays/jobset',
   plant: o => { o('JobSet').spec.successPolicy.targetReplicatedJobs = ['server']; }},

  {rule: 'bothProgramsRun', what: 'a container of another name',
   plant: o => { container(o('StatefulSet')).name = 'ps'; }},
  {rule: 'imagesHavePrograms', what: 'a server with the image of a worker',
   plant: o => { container(o('StatefulSet')).image = 'gradsieve-worker-cpu:v0.1.0'; }},
  {rule: 'optionsExist', what: 'an option that the program does not have',
   plant: o => { container(o('Job')).args.push('--verbose=1'); }},
  {rule: 'variablesAreRead', what: 'a variable that nobody reads',
   plant: o => { container(o('Job')).env = [{name: 'RANK', value: '1'}]; }},
  {rule: 'serversKnowTheirIndex', what: 'an index that is the name of the pod',
   plant: o => {
     container(o('StatefulSet')).env[0].valueFrom.fieldRef.fieldPath = 'metadata.name';
   }},
  {rule: 'jobIsValid', what: 'a misspelt field of the job',
   plant: o => editJob(o, 'every: 100', 'evry: 100')},
  {rule: 'jobIsValid', what: 'a --set of a field that there is not',
   target: 'overlays/gpu',
   plant: o => replaceArg(o('Job'), '--set=machine.device=cuda', '--set=machine.gpu=1')},
  {rule: 'certificatesCanBeMade', what: 'a program that makes no Secrets',
   answers: {secrets: () => ({objects: [], message: 'no such option'})}},
  {rule: 'settingsAgree', what: 'a --set for workers only',
   plant: o => { container(o('Job')).args.push('--set=training.epochs=3'); }},

  {rule: 'jobIsExplicit', what: 'a job that leaves out its grace',
   plant: o => editJob(o, 'grace_seconds: 25', '')},
  {rule: 'jobIsExplicit', what: 'workers that take all cores of their node',
   plant: o => editJob(o, 'worker_threads: 1', '')},
  {rule: 'configIsImmutable', what: 'a config that may change during the run',
   plant: o => { delete o('ConfigMap').immutable; }},
  {rule: 'countsAgree', what: 'more servers than the job has',
   plant: o => { o('StatefulSet').spec.replicas = 3; }},
  {rule: 'countsAgree', what: 'fewer workers than the job has',
   plant: o => { o('Job').spec.completions = o('Job').spec.parallelism = 1; }},
  {rule: 'countsAgree', what: 'workers that wait for each other to finish',
   plant: o => { o('Job').spec.parallelism = 1; }},
  {rule: 'addressesAgree', what: 'a server under another name',
   plant: o => editJob(o, 'gradsieve-server-1.', 'gradsieve-server-2.')},
  {rule: 'addressesAgree', what: 'names of the StatefulSet in a JobSet',
   target: 'overlays/jobset',
   plant: o => editJob(o, 'gradsieve-server-0-1.gradsieve:',
                       'gradsieve-server-1.gradsieve-server:')},
  {rule: 'addressesAgree', what: 'another port',
   plant: o => editJob(o, 'gradsieve-server:50051', 'gradsieve-server:50061')},
  {rule: 'jobIsValid', what: 'a server without an address',
   plant: o => editJob(o, 'servers: "gradsieve-server-1.gradsieve-server:50051"', '')},
  {rule: 'graceIsLongEnough', what: 'a kill before the snapshot is written',
   plant: o => editJob(o, 'grace_seconds: 25', 'grace_seconds: 60')},

  {rule: 'certificatesCoverProcesses', what: 'a worker without a certificate',
   target: 'overlays/production',
   plant: o => {
     o('Certificate', 'gradsieve-worker-3').spec.uris = ['spiffe://gradsieve/x/worker/3'];
   }},
  {rule: 'certificatesAreUsable', what: 'a server that cannot be a client',
   target: 'overlays/production',
   plant: o => { o('Certificate', 'gradsieve-server-1').spec.usages.pop(); }},
  {rule: 'certificateFilesAreThere', what: 'a key that is not mounted',
   target: 'overlays/production',
   plant: o => { volume(o('Job'), 'certificates').projected.sources.pop(); }},
  {rule: 'certificateFilesAreThere', what: 'the certificate of another worker',
   target: 'overlays/production',
   plant: o => {
     volume(o('Job'), 'certificates').projected.sources[2].secret.name =
         'gradsieve-worker-1-tls';
   }},
  {rule: 'certificateFilesAreThere', what: 'the certificates of servers at workers',
   plant: o => {
     volume(o('Job'), 'certificates').secret.secretName = 'gradsieve-server-certificates';
   }},
  {rule: 'keysAreReadableByGroupOnly', what: 'keys that everybody can read',
   plant: o => { volume(o('Job'), 'certificates').secret.defaultMode = 0o444; }},
];
