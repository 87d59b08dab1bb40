// The command line.
import {parseArgs} from 'node:util';

export class UsageError extends Error {}

export function parseOptions(args) {
  try {
    const {values} = parseArgs({
      args,
      options: {
        'programs': {type: 'string'},
        'data': {type: 'string'},
        'self-test': {type: 'boolean', default: false},
        'help': {type: 'boolean', short: 'h', default: false},
      },
    });
    return values;
  } catch (error) {
    throw new UsageError(error.message);
  }
}

export const help = `Usage: deploy/k8s/validate [OPTIONS]

Renders every overlay and component, and checks the result without a cluster.

Options:
  --programs=DIR  The folder with gradsieve, server and worker. By default those
                  that Bazel has built.
  --data=DIR      The data of jobs whose model depends on it.
  --self-test     Plant one error after the other in the rendered manifests, and
                  fail unless exactly the rule for it reports it.
  -h, --help      Show this help and exit.
`;
