import {
  type ClusterSettings,
  DEFAULT_POLICY,
  type JobSpec,
  LIVE_TIMINGS,
  type Millis,
  nearestRank,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
  Random,
} from '@goshawk/core';
import { type SimulatedJob, Simulation } from '@goshawk/simulator';

/** Who finds workers for short tasks: central always, central unless it has too much to do, or they themselves. */
export const DESIGNS = {
  always: { policy: 'goshawk', matching: 'always' },
  auto: { policy: 'goshawk', matching: 'auto' },
  peer: { policy: 'goshawk-peer', matching: 'auto' },
} as const satisfies Record<string, { policy: keyof typeof PRESETS; matching: PolicySettings['matching'] }>;
export type Design = keyof typeof DESIGNS;

const WORKERS = 300;
const SCHEDULERS = 10;
const TASKS_A_JOB = 4;
const TASK_MS = 100;
const UNTIL_MS = 30_000;

interface SimulatedPoint {
  /** What jobs took beyond their longest task: of those that came in the second half, when all has settled. ms */
  readonly p50: Millis;
  readonly p90: Millis;
  readonly p99: Millis;
  /** Messages that central had to handle, for each task. */
  readonly atCentral: number;
}

/** @param rate short tasks a second @param serviceMs what each message costs central */
export async function simulatePoint(
  design: Design,
  rate: number,
  serviceMs: Millis,
): Promise<SimulatedPoint> {
  const { policy, matching } = DESIGNS[design];
  const settings: ClusterSettings = {
    policy: { ...DEFAULT_POLICY, policy, preset: { ...PRESETS[policy] }, matching, seriesMs: 0 },
    timings: LIVE_TIMINGS,
  };
  const shape = { workers: WORKERS, slots: 1, capacity: {}, schedulers: SCHEDULERS };
  const simulation = new Simulation({ ...shape, settings, seed: 1, centralServiceMs: serviceMs });
  const late: number[] = [];
  for await (const ended of simulation.run(jobsAt(rate))) {
    for (const { job, endedMs, runsMs } of ended)
      if (job.submitMs > UNTIL_MS / 2) late.push(endedMs - job.submitMs - Math.max(...runsMs));
  }
  late.sort((one, other) => one - other);
  const { pull = 0, need = 0, unused = 0, heartbeat = 0, usage = 0 } = simulation.messages;
  return {
    p50: nearestRank(late, 50),
    p90: nearestRank(late, 90),
    p99: nearestRank(late, 99),
    atCentral: (pull + need + unused + heartbeat + usage) / (simulation.jobsSubmitted * TASKS_A_JOB),
  };
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
