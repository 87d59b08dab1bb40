// Which fields a kind has. The models accept unknown fields, and their TypeScript
// declarations name all that there are.
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {packageFile} from '../packages.mjs';

const files = new Map();

// "interface IX extends A, B { body }" and the imports of a declaration file.
function readDeclarations(path) {
  if (files.has(path)) return files.get(path);
  const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const imports = new Map();
  for (const [, names, from] of text.matchAll(/^import \{([^}]*)\} from "([^"]+)";/gm)) {
    const target = from.startsWith('.') ?
        join(dirname(path), from.replace(/\.js$/, '.d.ts')) :
        packageFile(`${from}.d.ts`);
    for (const name of names.split(',')) imports.set(name.trim(), target);
  }
  const [, bases = '', body = ''] =
      /^export interface \w+(?: extends ([\w, ]+))? \{\n([\s\S]*?)^\}/m.exec(text) ?? [];
  const file = {path, imports, bases: bases.split(/,\s*/).filter(Boolean), body};
  files.set(path, file);
  return file;
}

// The members of the body of an interface or object type: name to type. The
// members are indented by four spaces; a type of several lines ends at a line of
// the same depth.
function members(body) {
  const result = new Map();
  const member = /^ {4}(?:"([^"]+)"\??|\[key: string\]): (.*(?:\n {5}.*)*(?:\n {4}[}\]>].*)?)/gm;
  for (const [, name, type] of body.matchAll(member)) result.set(name ?? '*', type);
  return result;
}

function unindent(type) {
  return type.replace(/^[^\n]*\n/, '').replace(/^ {4}/gm, '');
}

// The fields of a type that is declared in `file`, each as {type, file}; or
// undefined if it is not an object's.
function fieldsOf(type, file) {
  const element = type.replace(/^Array<|[>;]+$/g, '').trim();
  if (element.startsWith('{')) {
    return new Map([...members(unindent(element))].map(
        ([name, inner]) => [name, {type: inner, file}]));
  }
  const target = file.imports.get(element);
  if (!target || !existsSync(target)) return undefined;
  return fieldsOfFile(readDeclarations(target));
}

function fieldsOfFile(file) {
  if (file.body === '') return undefined;
  const fields = new Map();
  for (const base of file.bases) {
    for (const [name, field] of fieldsOf(base, file) ?? []) fields.set(name, field);
  }
  for (const [name, type] of members(file.body)) fields.set(name, {type, file});
  return fields;
}

function walk(value, fields, path, found) {
  if (Array.isArray(value)) {
    value.forEach((element, i) => walk(element, fields, `${path}[${i}]`, found));
    return;
  }
  if (fields === undefined || value === null || typeof value !== 'object') return;
  for (const [name, inner] of Object.entries(value)) {
    const field = fields.get(name) ?? fields.get('*');
    if (!field) {
      found.push(`${path}.${name}`);
    } else {
      walk(inner, fieldsOf(field.type, field.file), `${path}.${name}`, found);
    }
  }
}

// The paths of fields that the kind with this model does not have.
export function unknownFields(object, modelPath) {
  const file = readDeclarations(packageFile(`${modelPath}.d.ts`));
  const fields = fieldsOfFile(file);
  const found = [];
  walk(object, fields, '', found);
  return found;
}
