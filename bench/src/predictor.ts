import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Random } from '@goshawk/core';
import { type ArrivingJob, type EndedJob, makeEstimator, SLEARN_SETTINGS } from '@goshawk/predictor';
import { type BenchResult, printReport, result } from './bench-report.js';
import { note, readOptions } from './script.js';

/**
 * Measures the cost of estimates from history: the time of a prediction and of an update, and the memory of a history,
 * which must be bounded for any number of jobs.
 *
 * Features of the drawn jobs have as many values as in a month of Google's 2011 trace: 219,406 jobs, 317 users, 12,967
 * logical names, and a new name for a quarter of all jobs. A history of 400,000 jobs therefore evicts entries.
 */
const JOBS = 400_000;
const BATCH = 1_000;
const USERS = 317;
const LOGICAL_NAMES = 13_000;
const NAMES_EACH = 8;
const TASKS = [1, 1, 1, 1, 2, 20, 100, 1_000];
const ESTIMATORS = ['history', 'hybrid'] as const;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

interface Job {
  readonly arriving: ArrivingJob;
  readonly runsMs: Float64Array;
}

/** Names as long as Google's, which are hashes. */
function nameOf(kind: string, number: number): string {
  return `${kind} ${number} `.padEnd(44, 'x');
}

/** Few users and programs make most of the jobs. */
function skewed(random: Random, count: number): number {
  return Math.floor(count * random.next() ** 3);
}

function draw(random: Random, index: number): Job {
  const logical = skewed(random, LOGICAL_NAMES);
  const isNew = random.next() < 0.25;
  const tasks = TASKS[Math.floor(random.next() * TASKS.length)]!;
  const meanMs = 1_000 * Math.exp(2 + (logical % 7) + random.next());
  return {
    arriving: {
      name: nameOf('name', isNew ? -index : logical * NAMES_EACH + Math.floor(random.next() * NAMES_EACH)),
      logicalName: nameOf('logical', logical),
      user: nameOf('user', logical % USERS),
      tasks,
      startable: tasks,
      schedulingClass: logical % 4,
      submittedAt: index * 6_000,
    },
    runsMs: Float64Array.from({ length: Math.min(tasks, 8) }, () => meanMs * (0.9 + 0.2 * random.next())),
  };
}

interface Measured {
  readonly predictMicros: number;
  readonly updateMicros: number;
  readonly heapBytes: number;
  readonly savedBytes: number;
  readonly saveMs: number;
}

function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Returns the processor time of this process, which other load on the machine hardly affects. */
function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Predicts and learns from all jobs in batches, so that reading the clock costs nothing. */
function measureOnce(name: string, seed: number): Measured {
  const random = Random.seeded(seed);
  const before = memoryInUse();
  const estimator = makeEstimator(name, SLEARN_SETTINGS, () => random.next());
  let predictMicros = 0;
  let updateMicros = 0;
  for (let first = 0; first < JOBS; first += BATCH) {
    const jobs = Array.from({ length: BATCH }, (_, i) => draw(random, first + i));
    const startedMicros = cpuMicros();
    const predictions = jobs.map(({ arriving }) => estimator.predict(arriving));
    predictMicros += cpuMicros() - startedMicros;
    const ended = jobs.map(
      ({ arriving, runsMs }, i): EndedJob => ({
        job: arriving,
        prediction: predictions[i]!,
        completed: true,
        long: false,
        runtimeMs: 2 * runsMs[0]!,
        runsMs,
      }),
    );
    const readyMicros = cpuMicros();
    for (const job of ended) estimator.learn(job);
    updateMicros += cpuMicros() - readyMicros;
  }
  const heapBytes = memoryInUse() - before;
  const startedMs = performance.now();
  const saved = JSON.stringify(estimator.save());
  return {
    predictMicros: predictMicros / JOBS,
    updateMicros: updateMicros / JOBS,
    heapBytes,
    savedBytes: Buffer.byteLength(saved),
    saveMs: performance.now() - startedMs,
  };
}

function resultsOf(name: string, measured: readonly Measured[]): BenchResult[] {
  const of = (what: string, unit: string, key: keyof Measured): BenchResult =>
    result(
      `${name}, ${what}`,
      unit,
      measured.map((run) => run[key]),
    );
  return [
    of('prediction', 'µs', 'predictMicros'),
    of('update', 'µs', 'updateMicros'),
    of(`memory after ${JOBS.toLocaleString('en-US')} jobs`, 'bytes', 'heapBytes'),
    of('saved, as JSON', 'bytes', 'savedBytes'),
    of('saving', 'ms', 'saveMs'),
  ];
}

const { runs, json } = readOptions({ runs: 3 });
const results = ESTIMATORS.flatMap((name) => {
  const measured: Measured[] = [];
  for (let run = 1; run <= runs; run++) {
    note(`${name}: run ${run} of ${runs}`);
    measured.push(measureOnce(name, run));
  }
  return resultsOf(name, measured);
});
printReport('predictor', results, json);
