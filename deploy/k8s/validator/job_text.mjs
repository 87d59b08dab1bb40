// Reads a job (protobuf's text format) as far as the rules need it: fields by
// path, each with all its values. `gradsieve train --check` judges whether it is
// a valid job.

const kToken = /\s+|#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}<>[\]:;,]|[^\s{}<>[\]:;,"'#]+/gy;

function tokens(text) {
  return (text.match(kToken) ?? []).filter(token => !/^[\s#]/.test(token));
}

function valueOfToken(token) {
  return /^["']/.test(token) ? token.slice(1, -1) : token;
}

// Reads "field: value" and "field { ... }" up to the end of the message into
// `fields`, a map from path to values.
function readMessage(rest, path, fields) {
  while (rest.length > 0 && rest[0] !== '}') {
    const name = [...path, rest.shift()].join('.');
    if (rest[0] === ':') rest.shift();
    const isList = rest[0] === '[';
    do {
      if (['[', ','].includes(rest[0])) rest.shift();
      readValue(rest, name, fields);
    } while (isList && rest[0] === ',');
    if (isList) rest.shift();
    if ([';', ','].includes(rest[0])) rest.shift();
  }
  rest.shift();
}

function readValue(rest, name, fields) {
  if (rest[0] === '{') {
    rest.shift();
    readMessage(rest, name.split('.'), fields);
    return;
  }
  fields.set(name, [...fields.get(name) ?? [], valueOfToken(rest.shift() ?? '')]);
}

// A map from "cluster.num_workers" to ["2"].
export function parseJob(text) {
  const fields = new Map();
  readMessage(tokens(text), [], fields);
  return fields;
}

// What --set=FIELD=VALUE changes.
export function applySettings(fields, settings) {
  const changed = new Map(fields);
  for (const setting of settings) {
    const [field, ...value] = setting.split('=');
    changed.set(field, [value.join('=')]);
  }
  return changed;
}

export function text(fields, path) {
  return fields.get(path)?.at(-1);
}

export function number(fields, path) {
  return Number(text(fields, path) ?? NaN);
}

export function list(fields, path) {
  return fields.get(path) ?? [];
}
