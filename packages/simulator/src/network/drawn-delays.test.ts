import {
  type Address,
  DEFAULT_POLICY,
  type Environment,
  type Machine,
  POLICY_NAMES,
  PRESETS,
  parseJobSpec,
  Random,
  RELIABLE_TIMINGS,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { endsOf } from '../simulation.fixture.js';
import { Simulation } from '../simulation.js';
import { VirtualCluster } from '../virtual-cluster.js';
import type { MeasuredPhase, NetworkModel } from './index.js';

/** The distribution is so wide that almost every message would overtake the previous one. */
const WILD: NetworkModel = { kind: 'normal', meanMs: 5, deviationMs: 20, leastMs: 0 };
const PHASE: MeasuredPhase = {
  fromMs: 0,
  messages: [{ type: 'steal', sameProcess: true, ms: [0.01, 3, 40] }],
  sleepLateMs: [],
  timerLateMs: [],
  submissionMs: [],
  newsMs: [],
};

function measured(phase: Partial<MeasuredPhase> = {}): NetworkModel {
  const phases = [{ ...PHASE, ...phase }];
  return { kind: 'measured', profile: { schema: 'goshawk.delays/1', workersPerProcess: 5, phases } };
}

const POLICY = { ...DEFAULT_POLICY, cutoffMs: 1_000 };
const SETTINGS = { policy: POLICY, timings: RELIABLE_TIMINGS };

/** Draws jobs of 1 to 12 tasks, a tenth of them long. */
function* workload(jobs: number, seed: number) {
  const random = Random.seeded(seed);
  for (let i = 0; i < jobs; i++) {
    const ms = random.next() < 0.1 ? 5_000 : 100;
    const tasks = Array.from({ length: 1 + Math.floor(random.next() * 12) }, () => ({ sleep: ms }));
    yield { submitMs: 100 * i, spec: parseJobSpec({ tasks, estimate: ms }) };
  }
}

async function run(network: NetworkModel, { policy = 'hawk' as keyof typeof PRESETS, seed = 1 } = {}) {
  const settings = { ...SETTINGS, policy: { ...POLICY, policy, preset: { ...PRESETS[policy] } } };
  const simulation = new Simulation({
    workers: 20,
    slots: 1,
    capacity: {},
    schedulers: 3,
    settings,
    seed,
    network,
  });
  const ends = await endsOf(simulation, workload(100, 4));
  expect(simulation.activeJobs).toBe(0);
  return ends.sort((a, b) => a.index - b.index);
}

describe('a cluster with random delays', () => {
  test('delivers messages between two parties in order', () => {
    const cluster = new VirtualCluster({
      workers: 1,
      schedulers: 1,
      settings: SETTINGS,
      seed: 5,
      network: WILD,
    });
    const heard: number[] = [];
    const receiver = cluster.addOutsider((_, message) => {
      if (message.type === 'confirm') heard.push(message.report);
    });
    let environment: Environment | undefined;
    const speaker: Machine = { start() {}, receive() {}, wake() {}, checkInvariants() {} };
    cluster.add('speaker', (_self, own) => {
      environment = own;
      return speaker;
    });
    for (let report = 1; report <= 500; report++) {
      cluster.at(report, () => environment!.send(receiver, { type: 'confirm', report }));
    }
    cluster.run(2_000);
    expect(heard).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
  });

  test.each(POLICY_NAMES)('under %s completes every job, and is determined by its seed', async (policy) => {
    const first = await run(WILD, { policy });
    expect(first.every(({ completed }) => completed)).toBe(true);
    const ends = (of: typeof first) => of.map(({ endedMs }) => endedMs);
    expect(ends(await run(WILD, { policy }))).toEqual(ends(first));
    expect(ends(await run(WILD, { policy, seed: 2 }))).not.toEqual(ends(first));
  });

  test('publishes members in few messages, however slowly they arrive', async () => {
    const settings = SETTINGS;
    const simulation = new Simulation({
      workers: 500,
      slots: 1,
      capacity: {},
      schedulers: 3,
      settings,
      seed: 1,
      network: WILD,
    });
    for await (const _ of simulation.run(workload(1, 1)));
    expect(simulation.messages.peers).toBeLessThan(10 * 500);
  });

  test('ends tasks as late as measured, and includes that in their run times', async () => {
    const [plain] = await run(measured());
    const [late] = await run(measured({ sleepLateMs: [7] }));
    expect(late!.runsMs.length).toBeGreaterThan(0);
    late!.runsMs.forEach((ms, task) => {
      expect(ms).toBeCloseTo(plain!.runsMs[task]! + 7, 6);
    });
  });

  test("includes the client's delays", async () => {
    const messages = [{ ...PHASE.messages[0]!, ms: [0] }];
    const plain = await run(measured({ messages }));
    const client = await run(measured({ messages, submissionMs: [30], newsMs: [4] }));
    // The first job finds an empty cluster in both cases.
    expect(client[0]!.endedMs).toBeCloseTo(plain[0]!.endedMs + 34, 6);
    expect(client[0]!.startsMs[0]).toBeCloseTo(plain[0]!.startsMs[0]! + 30, 6);
  });

  test('fires timers as late as was measured, never early', () => {
    const wakes: number[] = [];
    const cluster = new VirtualCluster({
      workers: 1,
      schedulers: 1,
      settings: SETTINGS,
      seed: 5,
      network: measured({ timerLateMs: [2] }),
    });
    cluster.add('sleeper', (_self: Address, environment: Environment) => ({
      start: () => environment.setTimer('nap', 0, 100),
      receive() {},
      wake: (_timer: string, _key: number, now: number) => void wakes.push(now),
      checkInvariants() {},
    }));
    cluster.run(2_000);
    expect(wakes).toEqual([102]);
  });
});
