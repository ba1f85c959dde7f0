import {
  type ClusterSettings,
  DEFAULT_POLICY,
  type JobSpec,
  LIVE_TIMINGS,
  type Millis,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
  Random,
} from '@goshawk/core';
import { type SimulatedJob, Simulation } from '@goshawk/simulator';
import { type BenchResult, percentilesOf, printReport, result } from './bench-report.js';
import { note, readOptions } from './script.js';

/**
 * Measures delays when central is overloaded. A simulated central spends a fixed time per message, at rates around
 * its saturation. It is far slower than a live one (measured by `npm run bench -- scaling`), so that an overload does
 * not need a million tasks; only the rate relative to saturation matters.
 */
const options = readOptions({ rates: [400, 800, 1_200, 1_600, 2_000], service: 0.5 });

/** The process that finds workers for short tasks: central always, central unless overloaded, or the schedulers. */
const DESIGNS = {
  always: { policy: 'goshawk', matching: 'always' },
  auto: { policy: 'goshawk', matching: 'auto' },
  peer: { policy: 'goshawk-peer', matching: 'auto' },
} as const satisfies Record<string, { policy: keyof typeof PRESETS; matching: PolicySettings['matching'] }>;

const WORKERS = 300;
const SCHEDULERS = 10;
const TASKS_A_JOB = 4;
const TASK_MS = 100;
const UNTIL_MS = 30_000;

interface Point {
  /** Job runtimes minus their longest task, for jobs of the second half, when the system is in a steady state. */
  readonly lateMs: readonly Millis[];
  /** Messages that central had to handle, for each task. */
  readonly atCentral: number;
}

/** @param rate short tasks per second */
async function simulate(design: keyof typeof DESIGNS, rate: number): Promise<Point> {
  const { policy, matching } = DESIGNS[design];
  const settings: ClusterSettings = {
    policy: { ...DEFAULT_POLICY, policy, preset: { ...PRESETS[policy] }, matching, seriesMs: 0 },
    timings: LIVE_TIMINGS,
  };
  const shape = { workers: WORKERS, slots: 1, capacity: {}, schedulers: SCHEDULERS };
  const simulation = new Simulation({ ...shape, settings, seed: 1, centralServiceMs: options.service });
  const lateMs: Millis[] = [];
  for await (const ended of simulation.run(jobsAt(rate))) {
    for (const { job, endedMs, runsMs } of ended)
      if (job.submitMs > UNTIL_MS / 2) lateMs.push(endedMs - job.submitMs - Math.max(...runsMs));
  }
  const { pull = 0, need = 0, unused = 0, heartbeat = 0, usage = 0 } = simulation.messages;
  const messages = pull + need + unused + heartbeat + usage;
  return { lateMs, atCentral: messages / (simulation.jobsSubmitted * TASKS_A_JOB) };
}

function* jobsAt(rate: number): Iterable<SimulatedJob> {
  const random = Random.seeded(`capacity ${rate}`);
  const exponential = (meanMs: Millis): Millis => -Math.log(1 - random.next()) * meanMs;
  for (let submitMs = 0; submitMs < UNTIL_MS; submitMs += exponential((1_000 * TASKS_A_JOB) / rate)) {
    const taskMs = exponential(TASK_MS);
    const spec: JobSpec = parseJobSpec({
      name: 'short',
      estimate: taskMs,
      tasks: { count: TASKS_A_JOB, run: { sleep: taskMs } },
    });
    yield { submitMs, spec };
  }
}

const results: BenchResult[] = [];
for (const rate of options.rates) {
  for (const design of Object.keys(DESIGNS) as (keyof typeof DESIGNS)[]) {
    const { lateMs, atCentral } = await simulate(design, rate);
    const at = `${design} at ${rate}/s`;
    const delays = percentilesOf(`${at}: delay `, 'ms', lateMs, [50, 90, 99]);
    note(`  ${at}: delay ${delays.map(({ value }) => value.toFixed(1)).join('/')} ms`);
    results.push(...delays, result(`${at}: messages at central`, '1/task', [atCentral]));
  }
}
printReport('capacity', results, options.json);
