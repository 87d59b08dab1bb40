// A JobSet (jobset.x-k8s.io/v1alpha2). No npm package has its schema: these are
// the fields of JobSet 0.12 that a user sets, written by hand. The Jobs in it are
// checked as Jobs.
import {modelErrors, modelPath} from './models.mjs';
import {unknownFields} from './fields.mjs';

const string = {type: 'string'};
const integer = {type: 'integer'};
const boolean = {type: 'boolean'};
const oneOf = (...values) => ({type: 'string', values});
const listOf = element => ({type: 'list', element});
const object = (fields, required = []) => ({type: 'object', fields, required});
const any = {type: 'any'};

const kSpec = object({
  replicatedJobs: listOf(object({
    name: string,
    groupName: string,
    replicas: integer,
    template: any,
    dependsOn: listOf(object(
        {name: string, status: oneOf('Ready', 'Complete')}, ['name', 'status'])),
  }, ['name', 'template'])),
  network: object({
    enableDNSHostnames: boolean,
    subdomain: string,
    publishNotReadyAddresses: boolean,
  }),
  successPolicy: object(
      {operator: oneOf('All', 'Any'), targetReplicatedJobs: listOf(string)},
      ['operator']),
  failurePolicy: object({
    maxRestarts: integer,
    restartStrategy: oneOf('Recreate', 'BlockingRecreate', 'InPlaceRestart'),
    rules: listOf(object({
      name: string,
      action: oneOf('FailJobSet', 'RestartJobSet', 'RestartJobSetAndIgnoreMaxRestarts',
                    'RestartJob', 'RestartJobAndIgnoreMaxRestarts'),
      onJobFailureReasons: listOf(string),
      onJobFailureMessagePatterns: listOf(string),
      targetReplicatedJobs: listOf(string),
    }, ['name', 'action'])),
  }),
  suspend: boolean,
  managedBy: string,
  coordinator: object(
      {replicatedJob: string, jobIndex: integer, podIndex: integer},
      ['replicatedJob']),
  ttlSecondsAfterFinished: integer,
  volumeClaimPolicies: listOf(any),
}, ['replicatedJobs']);

function hasType(value, type) {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'list') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && !Array.isArray(value);
  return typeof value === type;
}

function check(value, {type, values, element, fields, required}, path) {
  if (type === 'any') return [];
  if (!hasType(value, type)) return [`${path} must be of type ${type}`];
  if (values && !values.includes(value)) {
    return [`${path} must be one of ${values.join(', ')}`];
  }
  if (type === 'list') {
    return value.flatMap((inner, i) => check(inner, element, `${path}[${i}]`));
  }
  if (type !== 'object') return [];
  return [
    ...required.filter(name => !(name in value))
        .map(name => `${path} must have ${name}`),
    ...Object.entries(value).flatMap(
        ([name, inner]) => fields[name] ?
            check(inner, fields[name], `${path}.${name}`) :
            [`${path} has no field ${name}`]),
  ];
}

function jobErrors({name, template}) {
  const job = {apiVersion: 'batch/v1', kind: 'Job', metadata: {}, ...template};
  return [
    ...modelErrors(job),
    ...unknownFields(job, modelPath(job)).map(path => `${path} is no field`),
  ].map(error => `job ${name}: ${error}`);
}

function namesOfJobs(jobs, names, where) {
  return (names ?? []).filter(name => !jobs.some(job => job.name === name))
      .map(name => `${where} names ${name}, which is no replicated job`);
}

export function jobsetErrors(jobset) {
  const errors = check(jobset.spec, kSpec, '.spec');
  if (errors.length > 0) return errors;
  const {replicatedJobs: jobs, successPolicy, failurePolicy} = jobset.spec;
  return [
    ...jobs.flatMap(jobErrors),
    ...namesOfJobs(jobs, successPolicy?.targetReplicatedJobs, '.spec.successPolicy'),
    ...(failurePolicy?.rules ?? []).flatMap(rule => namesOfJobs(
        jobs, rule.targetReplicatedJobs, '.spec.failurePolicy')),
  ];
}
