import {
  type ClusterSettings,
  DEFAULT_POLICY,
  type JobInput,
  type Message,
  type PolicySettings,
  parseJobSpec,
  RELIABLE_TIMINGS,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { CounterLog, queuedEntries } from './counter-log.js';
import { Simulation } from './simulation.js';
import { VirtualCluster } from './virtual-cluster.js';

const CUTOFF_MS = 1_000;

function settingsOf(policy: Partial<PolicySettings>): ClusterSettings {
  return {
    policy: { ...DEFAULT_POLICY, cutoffMs: CUTOFF_MS, stealRetry: 'never', cancel: 'lazy', ...policy },
    timings: RELIABLE_TIMINGS,
  };
}

/** Returns a job whose tasks all take this long. */
function jobOf(count: number, ms: number): JobInput {
  return { tasks: Array.from({ length: count }, () => ({ sleep: ms })), estimate: ms };
}

describe('a reading is due', () => {
  const reading = (atMs: number) => ({
    atMs,
    stealAttempts: 0,
    stealSuccesses: 0,
    probesMoved: 0,
    queuedEntries: 0,
  });

  test('100 s after the last', () => {
    const log = new CounterLog();
    expect([99_999, 100_000].map((at) => log.isDue(at))).toEqual([false, true]);
    log.add(reading(123_000));
    expect([222_999, 223_000].map((at) => log.isDue(at))).toEqual([false, true]);
  });
});

describe('the queue length', () => {
  /** Returns a function that adds up the queue lengths of the workers. */
  function queuedByWorkers(cluster: VirtualCluster): () => number {
    let sum = 0;
    const client = cluster.addOutsider((_from, message: Message) => {
      if (message.type === 'counters') sum += message.value.queued as number;
    });
    cluster.workerAddresses.forEach((worker, request) => {
      cluster.send(client, worker, { type: 'readCounters', request });
    });
    return () => sum;
  }

  test('follows from the messages sent, for probes and placed tasks alike', () => {
    const cluster = new VirtualCluster({ workers: 12, schedulers: 2, seed: 1, settings: settingsOf({}) });
    cluster.submitAt(10, 0, parseJobSpec(jobOf(30, 5_000)));
    cluster.submitAt(20, 1, parseJobSpec(jobOf(25, 700)));
    cluster.submitAt(30, 0, parseJobSpec(jobOf(40, 700)));
    const seen: number[] = [];
    // These times are halfway between task starts, when no message is in flight.
    for (const at of [400, 1_100, 1_800, 2_500]) {
      cluster.run(at);
      const expected = queuedEntries(cluster.messages);
      const asked = queuedByWorkers(cluster);
      cluster.run(at + 5);
      expect(asked()).toBe(expected);
      seen.push(expected);
    }
    expect(seen[0]).toBeGreaterThan(100);
    expect(seen.at(-1)).toBeLessThan(seen[0]!);
  });
});

describe('the readings of a simulation', () => {
  async function readingsOf(policy: Partial<PolicySettings>) {
    const simulation = new Simulation({
      workers: 20,
      slots: 1,
      capacity: {},
      schedulers: 2,
      network: { kind: 'constant', delayMs: 0.5 },
      settings: settingsOf(policy),
      seed: 1,
    });
    // Long jobs for most of the slots, mixed with short jobs, over twenty minutes.
    const jobs = Array.from({ length: 400 }, (_, index) => ({
      submitMs: index * 3_000,
      spec: parseJobSpec(index % 10 === 0 ? jobOf(3, 100_000) : jobOf(10, 900)),
    }));
    let ended = 0;
    for await (const batch of simulation.run(jobs)) ended += batch.length;
    expect(ended).toBe(jobs.length);
    return { readings: simulation.readings, steals: simulation.steals };
  }

  test('are taken about every 100 s, never decrease, and end with the final counts', async () => {
    const { readings, steals } = await readingsOf({});
    expect(readings.length).toBeGreaterThan(8);
    for (const [index, reading] of readings.slice(1).entries()) {
      expect(reading.stealAttempts).toBeGreaterThanOrEqual(readings[index]!.stealAttempts);
      if (index < readings.length - 2)
        expect(reading.atMs - readings[index]!.atMs).toBeGreaterThanOrEqual(100_000);
    }
    const { stealAttempts: attempts, stealSuccesses: successes, probesMoved } = readings.at(-1)!;
    expect({ attempts, successes, probesMoved }).toEqual(steals);
    expect(successes).toBeGreaterThan(0);
    for (const { queuedEntries: queued } of readings) expect(queued).toBeGreaterThanOrEqual(0);
  });

  test('omit queue lengths if probes are cancelled', async () => {
    const { readings } = await readingsOf({ cancel: 'proactive' });
    expect(readings.map(({ queuedEntries: queued }) => queued)).toEqual(readings.map(() => undefined));
  });
});
