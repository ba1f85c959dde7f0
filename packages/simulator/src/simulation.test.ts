import {
  DEFAULT_POLICY,
  type JobInput,
  POLICY_NAMES,
  PRESETS,
  parseJobSpec,
  RELIABLE_TIMINGS,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { type SimulatedEnd, Simulation, type SimulationOptions } from './simulation.js';

const DELAY_MS = 0.5;

function simulationOf(options: Partial<SimulationOptions> = {}): Simulation {
  return new Simulation({
    workers: 20,
    slots: 1,
    capacity: { cpu: 1 },
    schedulers: 2,
    settings: {
      policy: { ...DEFAULT_POLICY, cutoffMs: 1_000, stealRetry: 'never' },
      timings: RELIABLE_TIMINGS,
    },
    seed: 1,
    network: { kind: 'constant', delayMs: DELAY_MS },
    ...options,
  });
}

async function endsOf(
  simulation: Simulation,
  ...jobs: (JobInput & { at?: number })[]
): Promise<SimulatedEnd[]> {
  const ends: SimulatedEnd[] = [];
  const arriving = jobs.map(({ at = 0, ...job }) => ({ submitMs: at, spec: parseJobSpec(job) }));
  for await (const batch of simulation.run(arriving)) ends.push(...batch);
  expect(simulation.activeJobs).toBe(0);
  return ends.sort((a, b) => a.index - b.index);
}

const sleeps = (...durations: number[]) => durations.map((sleep) => ({ sleep }));

describe.each(POLICY_NAMES)('under %s', (policy) => {
  const settings = {
    policy: { ...DEFAULT_POLICY, cutoffMs: 1_000, policy, preset: { ...PRESETS[policy] } },
    timings: RELIABLE_TIMINGS,
  };

  test.each([100, 5_000])('a stage starts when its predecessors have ended (tasks of %i ms)', async (ms) => {
    const [end] = await endsOf(simulationOf({ settings }), {
      estimate: ms,
      stages: [
        { name: 'map', tasks: sleeps(ms, 2 * ms, 3 * ms) },
        { name: 'other', tasks: sleeps(ms) },
        { name: 'reduce', after: ['map'], tasks: sleeps(ms, ms) },
        { name: 'report', after: ['reduce', 'other'], tasks: sleeps(ms) },
      ],
    });
    const { startsMs: starts, runsMs: runs, endedMs, completed } = end!;
    expect(completed).toBe(true);
    expect([...runs]).toEqual([ms, 2 * ms, 3 * ms, ms, ms, ms, ms]);
    const ends = starts.map((start, task) => start + runs[task]!);
    const mapped = Math.max(...ends.subarray(0, 3));
    expect(starts[4]).toBeGreaterThan(mapped);
    expect(starts[5]).toBeGreaterThan(mapped);
    expect(starts[3]).toBeLessThan(mapped);
    expect(starts[6]).toBeGreaterThan(Math.max(ends[4]!, ends[5]!));
    expect(endedMs).toBeLessThan(5 * ms + 100 * DELAY_MS);
  });
});

test('a job never runs more tasks at a time than its limit', async () => {
  const tasks = sleeps(...new Array<number>(12).fill(100));
  const [end] = await endsOf(simulationOf(), { estimate: 100, tasks, maxRunning: 3 });
  expect(end!.endedMs).toBeGreaterThanOrEqual(400);
  for (const at of end!.startsMs) {
    const running = end!.startsMs.filter((start) => start <= at && at < start + 100).length;
    expect(running).toBeLessThanOrEqual(3);
  }
});

test('the demands of running tasks never exceed the capacity of their worker', async () => {
  const simulation = simulationOf({ workers: 1, slots: 8, capacity: { cpu: 8, gpu: 2 } });
  const tasks = sleeps(...new Array<number>(6).fill(100));
  const [end] = await endsOf(simulation, { estimate: 100, tasks, demand: { gpu: 1 } });
  expect(end!.endedMs).toBeGreaterThanOrEqual(300);
});

test('a task that takes too long is killed and retried, and then fails its job with its later stages', async () => {
  const [end, other] = await endsOf(
    simulationOf(),
    {
      estimate: 100,
      timeout: 200,
      retries: 2,
      stages: [
        { name: 'a', tasks: sleeps(50, 900) },
        { name: 'b', after: ['a'], tasks: sleeps(10) },
      ],
    },
    { at: 5, estimate: 100, tasks: sleeps(100) },
  );
  expect(end).toMatchObject({ completed: false, tasksCompleted: 1, attempts: 4 });
  expect([...end!.startsMs].map((start) => start >= 0)).toEqual([true, true, false]);
  expect(end!.runsMs[1]).toBe(200);
  expect(other).toMatchObject({ completed: true, tasksCompleted: 1, attempts: 1 });
});

test('a job that ends on acceptance is reported like any other', async () => {
  const after = { estimate: 1, tasks: sleeps(1), afterOk: ['s0-99'] };
  const [end, other] = await endsOf(simulationOf(), after, { estimate: 1, tasks: sleeps(1) });
  expect(end).toMatchObject({ completed: false, tasksCompleted: 0, attempts: 0 });
  expect(other).toMatchObject({ completed: true });
});

test('the caller gets control while a long job is running', async () => {
  const tasks = { count: 50_000, run: { sleep: 10 } };
  const job = { submitMs: 0, spec: parseJobSpec({ estimate: 10, tasks }) };
  const simulation = simulationOf();
  const handedOut: number[] = [];
  for await (const ends of simulation.run([job])) handedOut.push(ends.length);
  expect(handedOut.length).toBeGreaterThan(3);
  expect(handedOut).toEqual([...handedOut.slice(1).map(() => 0), 1]);
});

test('jobs that are not in order are refused', async () => {
  const job = { estimate: 1, tasks: sleeps(1) };
  await expect(endsOf(simulationOf(), { ...job, at: 5 }, { ...job, at: 4 })).rejects.toThrow(
    'job 1 is submitted before the one ahead of it',
  );
});

describe('a long simulation', () => {
  const jobs = Array.from({ length: 300 }, (_, at) => ({
    submitMs: at,
    spec: parseJobSpec({ tasks: sleeps(1_000, 2_000, 60_000), estimate: 1_000 }),
  }));

  /** Returns how often the caller gets control, and the results of the jobs. */
  async function turnsOf(wallClock?: () => number) {
    const simulation = simulationOf({ workers: 5, ...(wallClock === undefined ? {} : { wallClock }) });
    let turns = 0;
    const batches: (readonly [index: number, endedMs: number])[][] = [];
    for await (const batch of simulation.run(jobs)) {
      turns++;
      if (batch.length > 0) batches.push(batch.map(({ index, endedMs }) => [index, endedMs] as const));
    }
    return { turns, batches, events: simulation.events };
  }

  test('yields to its caller every 100 ms of wall time, while jobs arrive and afterwards', async () => {
    let now = 0;
    // Simulates a clock that advances by 50 ms per reading.
    const slow = await turnsOf(() => (now += 50));
    expect(slow.turns).toBeGreaterThan(slow.events / 64 / 4);
  });

  test('gives the same results at any speed', async () => {
    let now = 0;
    const slow = await turnsOf(() => (now += 77));
    const fast = await turnsOf();
    expect(slow.batches).toEqual(fast.batches);
    expect(slow.events).toBe(fast.events);
  });
});
