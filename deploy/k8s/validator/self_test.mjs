// Plants one error after the other in the rendered objects. Exactly the rule for
// it must report it, and each rule must have an error that it reports.
import {lookup} from './planted/objects.mjs';
import {plantedInJobs} from './planted/jobs.mjs';
import {plantedInObjects} from './planted/objects_and_names.mjs';
import {plantedInPods} from './planted/pods.mjs';
import {findErrors, rules} from './rules.mjs';

const planted = [...plantedInObjects, ...plantedInPods, ...plantedInJobs];

// The programs, but with other answers to some questions.
function withAnswers(programs, answers) {
  const questions = ['options', 'help', 'checkJob', 'secrets', 'serverMegabytes'];
  return Object.fromEntries(questions.map(
      name => [name, answers[name] ?? programs[name].bind(programs)]));
}

// Returns the number of failures.
export function testRules(rendered, programs) {
  let failures = 0;
  for (const {rule, what, target = 'base', plant, answers} of planted) {
    const {objects} = rendered.find(({name}) => name === target);
    const changed = structuredClone(objects);
    plant?.(lookup(changed));
    const errors = findErrors(changed, withAnswers(programs, answers ?? {}));
    const reported = [...new Set(errors.map(error => error.rule))];
    const isRight = reported.join() === rule;
    if (!isRight) failures += 1;
    console.log(`${isRight ? 'ok  ' : 'FAIL'} ${rule}: ${what}`);
    if (!isRight) {
      console.log(`     reported: ${reported.join(', ') || 'nothing'}`);
      for (const {rule: by, message} of errors) console.log(`     ${by}: ${message}`);
    }
  }
  for (const {name} of rules.filter(
           ({name}) => !planted.some(({rule}) => rule === name))) {
    console.log(`FAIL ${name}: no error is planted for it`);
    failures += 1;
  }
  console.log(`${planted.length} planted errors, ${failures} failures`);
  return failures;
}
