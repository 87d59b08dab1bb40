// deploy/k8s/validate, which installs the packages first.
import {dirname} from 'node:path';
import {help, parseOptions, UsageError} from './options.mjs';
import {findRenderer, MissingTool, render} from './render.mjs';
import {findErrors, rules} from './rules.mjs';
import {loadModels} from './schema/models.mjs';
import {MissingProgram, Programs} from './programs.mjs';
import {k8sFolder, targets} from './targets.mjs';
import {testRules} from './self_test.mjs';

const kExitErrors = 1;
const kExitUsage = 64;
const kExitMissing = 69;

// Prints the errors of each target. Returns their number.
function checkAll(rendered, programs) {
  let count = 0;
  for (const {name, objects} of rendered) {
    const errors = findErrors(objects, programs);
    console.log(`${name}: ${objects.length} objects, ` +
                (errors.length === 0 ? 'no errors' : `${errors.length} errors`));
    for (const {rule, message} of errors) console.log(`  ${rule}: ${message}`);
    count += errors.length;
  }
  console.log(`${rules.length} rules, ${rendered.length} renderings, ${count} errors`);
  return count;
}

async function main() {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) {
    console.log(help);
    return 0;
  }
  const programs =
      new Programs({...options, repository: dirname(dirname(k8sFolder))});
  const renderer = findRenderer();
  const rendered = targets().map(
      target => ({name: target.name, objects: render(renderer, target)}));
  await loadModels(rendered.flatMap(({objects}) => objects));
  let count = checkAll(rendered, programs);
  if (options['self-test'] && count === 0) count = testRules(rendered, programs);
  return count === 0 ? 0 : kExitErrors;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isMissing = error instanceof MissingTool || error instanceof MissingProgram;
  if (!isMissing && !(error instanceof UsageError)) throw error;
  console.error(`deploy/k8s/validate: ${error.message}`);
  process.exitCode = isMissing ? kExitMissing : kExitUsage;
}
