// Asks gradsieve, server and worker what they know.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseYaml} from './yaml.mjs';

export class MissingProgram extends Error {}

// Data that is generated with the sizes of one that is read from files.
const kStandIns = {cifar10: 'shapes', mnist: 'digits'};
const kGenerated = ['digits', 'shapes', 'phrases', 'phrase_characters', 'tones'];

export class Programs {
  #paths;
  #data;
  #answers = new Map();

  // Throws MissingProgram.
  constructor({programs, data, repository}) {
    const inRepository = {gradsieve: 'tools', server: 'server', worker: 'worker'};
    this.#data = data;
    this.#paths = Object.fromEntries(
        Object.entries(inRepository).map(([name, folder]) => [
          name, programs ? join(programs, name) :
                           join(repository, 'bazel-bin', folder, name),
        ]));
    for (const path of Object.values(this.#paths)) {
      if (!existsSync(path)) {
        throw new MissingProgram(
            `${path} does not exist; build the programs (./quickstart does), or ` +
            'name the folder that has them with --programs');
      }
    }
  }

  #run(program, args) {
    const key = JSON.stringify([program, args]);
    if (!this.#answers.has(key)) {
      const {status, stdout, stderr, error} =
          spawnSync(this.#paths[program], args, {encoding: 'utf8', timeout: 120000});
      if (error) throw error;
      this.#answers.set(key, {status, stdout, message: `${stdout}${stderr}`.trim()});
    }
    return this.#answers.get(key);
  }

  #runOnJob(command, text, settings, more = []) {
    const key = JSON.stringify([command, text, settings, more]);
    if (!this.#answers.has(key)) {
      const folder = mkdtempSync(join(tmpdir(), 'gradsieve-job-'));
      const path = join(folder, 'job.textproto');
      writeFileSync(path, text);
      const set = settings.map(setting => `--set=${setting}`);
      const args = more.map(arg => arg.replace('FOLDER', folder));
      const answer = this.#run('gradsieve', [command, path, ...set, ...args]);
      const secrets = join(folder, 'secrets.yaml');
      this.#answers.set(key, {
        ...answer,
        message: answer.message.replaceAll(path, 'job.textproto'),
        secrets: existsSync(secrets) ? readFileSync(secrets, 'utf8') : '',
      });
      rmSync(folder, {recursive: true});
    }
    return this.#answers.get(key);
  }

  help(program) {
    const {status, stdout, message} = this.#run(program, ['--help']);
    if (status !== 0) throw new MissingProgram(`${program} --help fails: ${message}`);
    return stdout;
  }

  // The names of the options that the program takes.
  options(program) {
    return [...this.help(program).matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)]
        .map(([, name]) => name);
  }

  // What is wrong with the job, or "". This reads no data.
  checkJob(text, settings) {
    const {status, message} =
        this.#runOnJob('train', text, settings, ['--check', '--no-data']);
    return status === 0 ? '' : message;
  }

  // What `gradsieve certs --kubernetes` makes: the Secrets, and what it says if it
  // fails.
  secrets(text) {
    const {status, message, secrets} = this.#runOnJob(
        'certs', text, [], ['--output=FOLDER', '--kubernetes']);
    return status === 0 ? {objects: parseYaml(secrets), message: ''} :
                          {objects: [], message};
  }

  // The most MiB that one of the job's servers takes. Throws an Error that says
  // why this cannot be told.
  serverMegabytes(text, settings, dataName) {
    const standIn = kStandIns[dataName];
    const data = this.#data ? [`data.directory=${this.#data}`] :
                 standIn ? [`data.name=${standIn}`] : [];
    if (data.length === 0 && !kGenerated.includes(dataName)) {
      throw new Error(`the size of the model depends on "${dataName}"; name its ` +
                      'folder with --data');
    }
    const {status, message} =
        this.#runOnJob('plan-memory', text, [...settings, ...data]);
    const bounds = [...message.matchAll(/at most (\d+) MiB/g)].map(([, n]) => Number(n));
    if (status !== 0 || bounds.length === 0) throw new Error(message);
    return Math.max(...bounds);
  }
}
