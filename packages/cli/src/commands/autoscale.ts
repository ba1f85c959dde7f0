import { readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Context, defineCommand } from '@goshawk/command';
import { CPUS_OPTION, type FoundCluster } from '@goshawk/command/cluster';
import { InputError } from '@goshawk/core';
import { AllocationPool } from '../autoscale/allocations.js';
import { autoscale, SCALE_OPTIONS } from '../autoscale/autoscale.js';
import { StatefulSetPool } from '../autoscale/stateful-set.js';
import { API_OPTIONS, apiOptions, SERVICE_ACCOUNT } from '../kubernetes/api.js';

export const autoscaleKubernetesCommand = defineCommand({
  name: 'autoscale kubernetes',
  describe:
    'scale a StatefulSet of workers with the number of waiting tasks, and drain pods before removing them',
  examples: [
    ['goshawk autoscale kubernetes --max 50 --dry-run', 'run this in a pod, as in k8s/pools/elastic'],
    [
      'goshawk autoscale kubernetes --pool gpu-pool --min 2 --max 8 --cooldown 10m',
      'run between two and eight workers',
    ],
  ],
  options: {
    ...SCALE_OPTIONS,
    cpus: { ...CPUS_OPTION, describe: 'CPUs of each worker; assumed until the first one has joined' },
    namespace: {
      type: 'text',
      setting: true,
      value: 'NAME',
      describe: 'namespace of the StatefulSet',
      whenUnset: 'that of the pod, else goshawk',
    },
    ...API_OPTIONS,
  },
  async run(context, options) {
    const api = apiOptions(context, options, 'autoscale');
    const namespace = options.namespace ?? ownNamespace() ?? 'goshawk';
    await autoscale(context, options, () => new StatefulSetPool(options.pool, namespace, api));
  },
});

export const autoscaleSlurmCommand = defineCommand({
  name: 'autoscale slurm',
  words: '[-- SBATCH-ARG…]',
  describe:
    'run workers in Slurm allocations, as many as the running and waiting tasks need; drain workers before ending them',
  examples: [
    ['goshawk autoscale slurm --max 20 --cpus 8', 'run workers in allocations of eight CPUs'],
    [
      'goshawk autoscale slurm --max 20 -- --partition short --time 4:00:00 --mem 16G',
      'pass additional arguments to sbatch',
    ],
  ],
  options: {
    ...SCALE_OPTIONS,
    cpus: { ...CPUS_OPTION, describe: 'CPUs of each worker; the size of its allocation' },
  },
  async run(context, options, { afterDashes = [] }) {
    const { pool: name, cpus = 1 } = options;
    await autoscale(
      context,
      options,
      (found) =>
        new AllocationPool({
          name,
          cpus,
          worker: workerCommand(context, found),
          sbatch: afterDashes,
          environment: context.environment,
        }),
    );
  },
});

/**
 * Returns the command line that starts a worker of the cluster. The worker reads other settings from
 * `GOSHAWK_*` variables, which sbatch passes on.
 */
function workerCommand({ global, environment, cwd }: Context, { url, keys }: FoundCluster): string[] {
  const [central = url] = url.split(',');
  const program = process.argv[1];
  if (program === undefined)
    throw new InputError('usage', 'autoscale: cannot determine the path of this program to start workers');
  const path = global.keys === undefined ? keys : resolve(cwd, global.keys);
  const isLocal = /^tcp:\/\/(127\.|localhost|\[::1\])/.test(central);
  return [
    ...[process.execPath, realpathSync(program), 'worker'],
    ...(environment.GOSHAWK_CENTRAL_URL ? [] : ['--central-url', central]),
    ...(path === undefined ? [] : ['--keys', keyFolder(path)]),
    ...(isLocal || environment.GOSHAWK_BIND ? [] : ['--bind', 'tcp://0.0.0.0:0']),
  ];
}

/** Returns the folder of the keys: the worker's key is in the same folder as the client's. */
function keyFolder(path: string): string {
  return path.endsWith('.key') ? resolve(path, '..') : path;
}

function ownNamespace(): string | undefined {
  try {
    return readFileSync(`${SERVICE_ACCOUNT}/namespace`, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
