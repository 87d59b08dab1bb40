// Helpers for planted errors. `o` looks up an object of a rendering by kind and,
// if there are several, by name.

export function lookup(objects) {
  const o = (kind, name) => {
    const found = objects.find(object => object.kind === kind &&
        (name === undefined || object.metadata.name === name));
    if (!found) throw new Error(`there is no ${kind} ${name ?? ''}`);
    return found;
  };
  o.objects = objects;
  return o;
}

export function podSpec(workload) {
  return workload.spec.template.spec;
}

export function container(workload) {
  return podSpec(workload).containers[0];
}

export function volume(workload, name) {
  return podSpec(workload).volumes.find(candidate => candidate.name === name);
}

// Changes the text of the job.
export function editJob(o, from, to) {
  const {data} = o('ConfigMap', 'gradsieve-job');
  const text = data['job.textproto'];
  if (!text.includes(from)) throw new Error(`the job does not say ${from}`);
  data['job.textproto'] = text.replace(from, to);
}

export function replaceArg(workload, from, to) {
  const {args} = container(workload);
  if (!args.includes(from)) throw new Error(`there is no argument ${from}`);
  args[args.indexOf(from)] = to;
}
