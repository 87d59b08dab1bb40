// Processor and memory.
import {quantity, settings} from '../manifests.mjs';
import {number, text} from '../job_text.mjs';

const kMebibyte = 2 ** 20;

export function requestsAreWithinLimits(m) {
  return m.pods.flatMap(pod => {
    const {requests = {}, limits = {}} = pod.container.resources ?? {};
    return Object.keys(limits)
        .filter(name => quantity(requests[name] ?? limits[name]) > quantity(limits[name]))
        .map(name => `${pod.name}: requests more ${name} than its limit`);
  });
}

// A process whose memory is not reserved is the first to be killed.
export function memoryIsReserved(m) {
  return m.pods
      .filter(({container: {resources = {}}}) => !resources.limits?.memory ||
              quantity(resources.requests?.memory) < quantity(resources.limits.memory))
      .map(({name}) => `${name}: the memory's request must be its limit`);
}

// A throttled process delays all others.
export function processorsAreNotThrottled(m) {
  return m.processes.filter(({container}) => container.resources?.limits?.cpu)
      .map(({name}) => `${name} has a limit on processors`);
}

export function processorsAreRequested(m) {
  return m.pods.filter(({container}) => !container.resources?.requests?.cpu)
      .map(({name}) => `${name} requests no processor`);
}

// The bound does not count what a server reads back when it is started again.
export function serverMemorySuffices(m, programs) {
  const pod = m.pod('server');
  const limit = pod && quantity(pod.container.resources?.limits?.memory) / kMebibyte;
  // jobIsValid reports a job that cannot be read.
  if (!limit || programs.checkJob(m.jobText(), settings(pod)) !== '') return [];
  const job = m.job(pod);
  let bound;
  try {
    bound = programs.serverMegabytes(
        m.jobText(), settings(pod), text(job, 'data.name'));
  } catch (error) {
    return [`${pod.name}: how much memory it needs cannot be told: ${error.message}`];
  }
  const needed = bound + (number(job, 'checkpoint.log_megabytes') || 0);
  return limit >= needed ? [] :
      [`${pod.name}: it may use ${limit} MiB of memory and needs ${needed}: ${bound} ` +
       '(gradsieve plan-memory) and checkpoint.log_megabytes'];
}
