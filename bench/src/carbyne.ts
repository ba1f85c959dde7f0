import { parseArgs } from 'node:util';
import {
  CARBYNE_POLICIES,
  measureTrial,
  type PolicyModule,
  type PolicyOptions,
  type TracedJob,
  type TrialMetrics,
  trialPolicy,
} from '@goshawk/policies';
import { configureGenerator, DAG_MACHINE } from '@goshawk/traces';

/**
 * Carbyne and its field on jobs of stages, as its paper compares them: over the books alone, without messages. One row a
 * policy, medians over the seeds: mean completion time, that of drf over it, makespan, Jain's index, and slower jobs than
 * under drf. `--one` takes all machines as one.
 */

const { values } = parseArgs({
  options: {
    workload: { type: 'string', default: 'dag-like:jobs=100,interarrival=12' },
    machines: { type: 'string', default: '56' },
    seeds: { type: 'string', default: '5' },
    policies: { type: 'string', default: 'drf,tetris,sjf,srtf,carbyne-paper,carbyne,carbyne-pack' },
    one: { type: 'boolean', default: false },
    quantum: { type: 'string', default: '0' },
  },
});

const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1);
const cluster = { machines: Number(values.machines), machine: DAG_MACHINE, isOne: values.one };
const modules: Readonly<Record<string, PolicyModule>> = CARBYNE_POLICIES;
const settings = values.policies.split(',').map(settingOf);

/** `carbyne`, or with options: `carbyne/hold=2/leftover=score`. */
function settingOf(text: string): { module: PolicyModule; options: PolicyOptions } {
  const [name = '', ...options] = text.split('/');
  const given = options.map((option) => {
    const [key = '', value = ''] = option.split('=');
    return [key, Number.isNaN(Number(value)) ? value : Number(value)] as const;
  });
  const module = modules[name];
  if (module === undefined) throw new TypeError(`no policy "${name}"`);
  return { module, options: { quantumMs: Number(values.quantum), ...Object.fromEntries(given) } };
}

const rows = new Map<string, TrialMetrics[]>();
const times = new Map<string, number>();
let tasks = 0;
const longestPaths: number[] = [];
for (const seed of seeds) {
  const jobs = [...configureGenerator(`${values.workload},seed=${seed}`).generate()];
  tasks += jobs.reduce((sum, { durationsSeconds }) => sum + durationsSeconds.length, 0);
  longestPaths.push(jobs.reduce((sum, job) => sum + longestPath(job), 0) / jobs.length);
  settings.forEach(({ module, options }, i) => {
    const name = values.policies.split(',')[i]!;
    const start = performance.now();
    const measured = measureTrial(jobs, cluster, trialPolicy(module, options, seed), seed);
    times.set(name, (times.get(name) ?? 0) + performance.now() - start);
    rows.set(name, [...(rows.get(name) ?? []), measured]);
  });
}

process.stdout.write(
  `${values.workload}, ${Math.round(tasks / seeds.length)} tasks, ${values.machines} machines, ` +
    `mean longest path ${median(longestPaths).toFixed(1)} s\n`,
);
process.stdout.write(
  'policy                mean s  x drf  makespan  jain need  jain raw  slower  < 0.8  ms\n',
);
const drf = rows.get('drf');
for (const [name, runs] of rows) {
  const factors = runs.map((run, i) =>
    run.jctSeconds.map((jct, job) => (drf?.[i]?.jctSeconds[job] ?? jct) / jct),
  );
  const share = (limit: number) =>
    median(factors.map((each) => each.filter((factor) => factor < limit).length / each.length));
  const cells = [
    median(runs.map(({ meanSeconds }) => meanSeconds))
      .toFixed(1)
      .padStart(8),
    median(runs.map(({ meanSeconds }, i) => (drf?.[i]?.meanSeconds ?? meanSeconds) / meanSeconds))
      .toFixed(3)
      .padStart(6),
    median(runs.map(({ makespanSeconds }) => makespanSeconds))
      .toFixed(0)
      .padStart(9),
    median(runs.map(({ jainByNeed }) => jainByNeed))
      .toFixed(3)
      .padStart(10),
    median(runs.map(({ jainRaw }) => jainRaw))
      .toFixed(3)
      .padStart(9),
    `${(100 * share(1 - 1e-9)).toFixed(0)}%`.padStart(7),
    `${(100 * share(0.8)).toFixed(0)}%`.padStart(6),
    (times.get(name)! / runs.length).toFixed(0).padStart(7),
  ];
  process.stdout.write(`${name.padEnd(20)}${cells.join(' ')}\n`);
}

/** Of stages, one after another. s */
function longestPath({ stages = [], durationsSeconds }: TracedJob): number {
  const ends: number[] = [];
  let first = 0;
  for (const { tasks: count, after } of stages) {
    ends.push(durationsSeconds[first]! + Math.max(0, ...after.map((place) => ends[place]!)));
    first += count;
  }
  return Math.max(0, ...ends);
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
