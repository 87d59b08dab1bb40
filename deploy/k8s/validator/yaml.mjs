// YAML as Kubernetes reads it.
import {importPackage} from './packages.mjs';

const {default: yaml} = await importPackage('yaml/dist/index.js');

// The objects of a text. Version 1.1, in which 0440 is an octal number.
export function parseYaml(text) {
  return yaml.parseAllDocuments(text, {version: '1.1'}).map(document => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });
}

export function writeYaml(object) {
  return yaml.stringify(object);
}
