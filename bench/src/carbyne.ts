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
import { slowdownsOf } from '@goshawk/report';
import { configureGenerator, DAG_MACHINE } from '@goshawk/traces';
import { percentile, table } from './bench-report.js';
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
    `mean longest path ${percentile(longestPaths, 0.5).toFixed(1)} s\n`,
);
const head = ['policy', 'mean s', 'x drf', 'makespan', 'jain need', 'jain raw', 'slower', '< 0.8', 'ms'];
const drf = rows.get('drf');
const body = [...rows].map(([name, runs]) => {
  const median = (value: (run: TrialMetrics, seed: number) => number, digits: number): string =>
    percentile(runs.map(value), 0.5).toFixed(digits);
  const share = (which: 'slower' | 'muchSlower'): string =>
    `${median(({ jctSeconds }, seed) => 100 * slowdownsOf(jctSeconds, (drf?.[seed] ?? runs[seed]!).jctSeconds)[which], 0)}%`;
  return [
    name,
    median(({ meanSeconds }) => meanSeconds, 1),
    median(({ meanSeconds }, seed) => (drf?.[seed]?.meanSeconds ?? meanSeconds) / meanSeconds, 3),
    median(({ makespanSeconds }) => makespanSeconds, 0),
    median(({ jainByNeed }) => jainByNeed, 3),
    median(({ jainRaw }) => jainRaw, 3),
    share('slower'),
    share('muchSlower'),
    (times.get(name)! / runs.length).toFixed(0),
  ];
});
process.stdout.write(`${table([head, ...body])}\n`);

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
