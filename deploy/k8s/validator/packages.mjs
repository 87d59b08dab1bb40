// The npm packages, which `validate` installs outside of the tree.
import {pathToFileURL} from 'node:url';
import {join} from 'node:path';

const folder = process.env.GRADSIEVE_NODE_MODULES;

export function packageFile(path) {
  return join(folder, path);
}

// By path, because node looks for packages beside the importing file only.
export async function importPackage(path) {
  return import(pathToFileURL(packageFile(path)));
}
