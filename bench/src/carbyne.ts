import { meanOf, sumOf } from '@goshawk/core';
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
import { readOptions } from './script.js';

/**
 * Carbyne and its field on jobs of stages, as its paper compares them: over the books alone, without messages. One row a
 * policy, medians over the seeds: mean completion time, that of drf over it, makespan, Jain's index, and slower jobs than
 * under drf. `--one` takes all machines as one.
 */

const options = readOptions({
  workload: 'dag-like:jobs=100,interarrival=12',
  machines: 56,
  seeds: 5,
  policies: ['drf', 'tetris', 'sjf', 'srtf', 'carbyne-paper', 'carbyne', 'carbyne-pack'],
  one: false,
  quantum: 0,
});

const seeds = Array.from({ length: options.seeds }, (_, i) => i + 1);
const cluster = { machines: options.machines, machine: DAG_MACHINE, isOne: options.one };
const modules: Readonly<Record<string, PolicyModule>> = CARBYNE_POLICIES;
const settings = options.policies.map(settingOf);

/** `carbyne`, or with options: `carbyne/hold=2/leftover=score`. */
function settingOf(text: string): { module: PolicyModule; options: PolicyOptions } {
  const [name = '', ...own] = text.split('/');
  const given = own.map((option) => {
    const [key = '', value = ''] = option.split('=');
    return [key, Number.isNaN(Number(value)) ? value : Number(value)] as const;
  });
  const module = modules[name];
  if (module === undefined) throw new TypeError(`no policy "${name}"`);
  return { module, options: { quantumMs: options.quantum, ...Object.fromEntries(given) } };
}

const rows = new Map<string, TrialMetrics[]>();
const times = new Map<string, number>();
let tasks = 0;
const longestPaths: number[] = [];
for (const seed of seeds) {
  const jobs = [...configureGenerator(`${options.workload},seed=${seed}`).generate()];
  tasks += sumOf(jobs, ({ durationsSeconds }) => durationsSeconds.length);
  longestPaths.push(meanOf(jobs, (job) => longestPath(job)));
  settings.forEach(({ module, options: own }, i) => {
    const name = options.policies[i]!;
    const start = performance.now();
    const measured = measureTrial(jobs, cluster, trialPolicy(module, own, seed), seed);
    times.set(name, (times.get(name) ?? 0) + performance.now() - start);
    rows.set(name, [...(rows.get(name) ?? []), measured]);
  });
}

process.stdout.write(
  `${options.workload}, ${Math.round(tasks / seeds.length)} tasks, ${options.machines} machines, ` +
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
