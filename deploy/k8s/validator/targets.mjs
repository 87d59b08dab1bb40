// What is checked: each overlay, and what else people may apply.
import {readdirSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

export const k8sFolder = dirname(dirname(fileURLToPath(import.meta.url)));

function foldersIn(name) {
  return readdirSync(join(k8sFolder, name), {withFileTypes: true})
      .filter(entry => entry.isDirectory())
      .map(entry => `${name}/${entry.name}`);
}

function combination(resources, components = []) {
  const from = paths => paths.map(path => join(k8sFolder, path));
  return {
    name: [...resources, ...components].join(' + '),
    resources: from(resources),
    components: from(components),
  };
}

export function targets() {
  const folders = ['base', ...foldersIn('overlays')];
  return [
    ...folders.map(name => ({name, folder: join(k8sFolder, name)})),
    ...foldersIn('components').map(name => combination(['base'], [name])),
    combination(['base', 'copy/workers.yaml']),
    combination(['overlays/production', 'copy/data.yaml']),
  ];
}
