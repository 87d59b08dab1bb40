// Types, required fields and enumerations of each kind, from the npm packages
// kubernetes-models and @kubernetes-models/*.
import {existsSync} from 'node:fs';
import {importPackage, packageFile} from '../packages.mjs';

const kPackages = {
  'cert-manager.io': '@kubernetes-models/cert-manager',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

// The path of a kind's model without extension, or undefined if no package has it.
export function modelPath({apiVersion, kind}) {
  const group = apiVersion.split('/')[0];
  const path = `${kPackages[group] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
  return existsSync(packageFile(`${path}.js`)) ? path : undefined;
}

// Rules are synchronous, so models are read before.
const models = new Map();

export async function loadModels(objects) {
  for (const path of new Set(objects.map(modelPath))) {
    if (!path || models.has(path)) continue;
    const module = await importPackage(`${path}.js`);
    models.set(path, module[path.split('/').at(-1)]);
  }
}

// What is wrong with the object, one line each.
export function modelErrors(object) {
  const Model = models.get(modelPath(object));
  try {
    new Model(object).validate();
    return [];
  } catch (error) {
    return error.message.split(/, (?=data)/).map(line => line.replace(/^data/, ''));
  }
}
