import {
  type Attributes,
  DEFAULT_POLICY,
  type JobInput,
  parseJobSpec,
  Random,
  RELIABLE_TIMINGS,
  spreadOf,
  spreadsTasks,
  startsGangs,
} from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { ALL_POLICY_NAMES, presetNamed } from '@goshawk/policies';
import { type Job, TaskState } from '@goshawk/scheduler';
import { expect, test } from 'vitest';
import { VirtualCluster } from './virtual-cluster.js';

addPapers();

const WORKERS = 12;
const JOBS = 14;
const POLICIES = ALL_POLICY_NAMES.filter((name) => spreadsTasks(presetNamed(name)));

/** Three racks of three workers in two zones; the last three workers are in no rack. */
function attributesAt(worker: number): Attributes {
  const zone = `z${worker % 2}`;
  return worker < 9 ? { zone, rack: `r${Math.floor(worker / 3)}` } : { zone };
}

function drawJob(random: Random, mayBeGang: boolean): JobInput {
  const integer = (least: number, most: number) => least + Math.floor(random.next() * (most - least + 1));
  const gang = mayBeGang && random.next() < 0.4;
  const most = integer(1, 2);
  const sleep = integer(50, 800);
  const job = { estimate: sleep, ...(gang ? { gang } : {}) };
  const tasks = (upTo: number) => ({
    count: integer(1, gang ? Math.min(upTo, 3 * most) : upTo),
    run: { sleep },
  });
  const spread = { rack: `spread:${most}` };
  switch (integer(1, 4)) {
    case 1:
      return { ...job, tasks: tasks(9) };
    case 2:
      return { ...job, require: { zone: 'spread:3', ...spread }, tasks: tasks(gang ? 2 : 6) };
    case 3:
      return {
        ...job,
        require: spread,
        stages: [
          { name: 'first', tasks: tasks(8) },
          { name: 'beside', tasks: tasks(8) },
          { name: 'last', after: ['first'], tasks: tasks(4), demand: { cpu: 2 } },
        ],
      };
    default:
      return { ...job, require: spread, tasks: tasks(9) };
  }
}

/** Checks that the tasks of the job which run now are spread as each of their stages requires. */
function expectSpread({ id, tasks, stages }: Job, first: number, now: number): void {
  const workers = [...tasks.inStates(TaskState.placed, TaskState.running)].map(
    (task) => tasks.workerOf(task) - first,
  );
  for (const { spec } of stages) {
    for (const { name, most } of spreadOf(spec.requires) ?? []) {
      const counts = new Map<string | undefined, number>();
      for (const worker of workers) {
        const value = attributesAt(worker)[name];
        counts.set(value, (counts.get(value) ?? 0) + 1);
      }
      expect(Math.max(0, ...counts.values()), `${id} at ${now} ms, over ${name}`).toBeLessThanOrEqual(most);
      if (name === 'rack') expect(counts.has(undefined), `${id} at ${now} ms: no rack`).toBe(false);
    }
  }
}

function run(policy: string, estimator: 'given' | 'pilot'): void {
  const seed = `spread ${policy} ${estimator}`;
  const random = Random.seeded(seed);
  const preset = presetNamed(policy);
  const jobs: Job[] = [];
  const cluster = new VirtualCluster({
    workers: WORKERS,
    schedulers: 2,
    slots: 2,
    capacity: { cpu: 2 },
    settings: {
      policy: { ...DEFAULT_POLICY, policy, preset, cutoffMs: 400, estimator },
      timings: RELIABLE_TIMINGS,
    },
    seed,
    checked: true,
    attributesOf: (worker) => Object.entries(attributesAt(worker)).map(([name, value]) => ({ name, value })),
  });
  for (let i = 0; i < JOBS; i++) {
    const spec = parseJobSpec(drawJob(random, startsGangs(preset)));
    cluster.at(2_000 + 200 * i * random.next(), (now) => {
      jobs.push(cluster.schedulers[i % 2]!.submit(spec, undefined, now));
    });
  }
  const isOver = () => jobs.length === JOBS && jobs.every((job) => job.hasEnded);
  for (let now = 2_000; !isOver() && now < 60_000; now += 20) {
    cluster.run(now);
    for (const job of jobs) expectSpread(job, cluster.workerAddresses[0]!, now);
  }
  expect(jobs.map(({ state }) => state)).toEqual(jobs.map(() => 'completed'));
}

test.each(POLICIES)(
  'tasks and gangs run as far apart as their jobs require, and all end, under %s',
  (policy) => run(policy, 'given'),
);

test.each(['goshawk', 'goshawk-peer', 'carbyne', 'gs'])('so do pilots under %s', (policy) =>
  run(policy, 'pilot'),
);
