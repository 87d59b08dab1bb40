// Renders Kustomize folders with the kustomize of kubectl.
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, relative} from 'node:path';
import {parseYaml, writeYaml} from './yaml.mjs';

export class MissingTool extends Error {}

// Components came with kustomize 3.7; kubectl 1.20 still had 2.0.3.
function knowsComponents(version) {
  const [, major, minor] = /v?(\d+)\.(\d+)/.exec(version) ?? [, 0, 0];
  return Number(major) > 3 || (Number(major) === 3 && Number(minor) >= 7);
}

// The command that renders a folder. Throws MissingTool.
export function findRenderer() {
  const kubectl = spawnSync('kubectl', ['version', '--client', '--output=json'],
                            {encoding: 'utf8'});
  if (kubectl.status === 0) {
    const version = JSON.parse(kubectl.stdout).kustomizeVersion ?? '0.0';
    if (knowsComponents(version)) return ['kubectl', 'kustomize'];
  }
  const kustomize = spawnSync('kustomize', ['version'], {encoding: 'utf8'});
  if (kustomize.status === 0 && knowsComponents(kustomize.stdout)) {
    return ['kustomize', 'build'];
  }
  throw new MissingTool(
      'no kubectl or kustomize that knows components; install kubectl 1.21 or ' +
      'later (Debian\'s kubernetes-client is 1.20), or kustomize 4 or later');
}

function renderFolder([program, command], folder) {
  return execFileSync(
      program, [command, '--load-restrictor=LoadRestrictionsNone', folder],
      {encoding: 'utf8', maxBuffer: 1 << 26});
}

// The objects of a target (targets.mjs).
export function render(renderer, target) {
  let text;
  if (target.folder) {
    text = renderFolder(renderer, target.folder);
  } else {
    const folder = mkdtempSync(join(tmpdir(), 'gradsieve-k8s-'));
    try {
      const from = paths => paths.map(path => relative(folder, path));
      writeFileSync(join(folder, 'kustomization.yaml'), writeYaml({
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        resources: from(target.resources),
        components: from(target.components),
      }));
      text = renderFolder(renderer, folder);
    } finally {
      rmSync(folder, {recursive: true});
    }
  }
  return parseYaml(text);
}
