import { describe, expect, test } from 'vitest';
import type { JournalEntry } from '../contract.js';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, W1, W2, welcome } from '../lone-scheduler.fixture.js';

const JOBS = 2_000;
/** Records read or written, or messages sent, in one turn. */
const TURN_MAX = 1_000;

/** A scheduler that restarts with this many waiting jobs, and a counter of the records read. */
function startedAgain(): { bench: DurableBench; read: () => number } {
  const before = new DurableBench();
  before.members(W1);
  for (let i = 0; i < JOBS; i++) before.accept({ tasks: [{ sleep: 1 }] });
  before.commit();
  const { entries, ...rest } = before.inheritance();
  let read = 0;
  const counted: Iterable<JournalEntry> = {
    *[Symbol.iterator]() {
      for (const entry of entries) {
        read++;
        yield entry;
      }
    },
  };
  const bench = new DurableBench({ ...rest, entries: counted }, 500, false);
  // The bench itself has read all of it once.
  return { bench, read: () => read - JOBS };
}

/** @returns whether work was left */
function nextPiece(bench: DurableBench): boolean {
  if (!bench.timers.delete('chunk 0')) return false;
  bench.scheduler.wake('chunk', 0, bench.now);
  bench.scheduler.checkInvariants();
  return true;
}

describe('many jobs of earlier incarnations', () => {
  test('are restored in chunks, and the scheduler enlists only after all of them', () => {
    const { bench, read } = startedAgain();
    let turns = 0;
    let done = 0;
    for (let isMore = true; isMore; isMore = nextPiece(bench)) {
      const now = read() + bench.records.length;
      expect(now - done).toBeLessThanOrEqual(TURN_MAX);
      done = now;
      turns++;
      if (read() === JOBS) continue;
      bench.receive(CLIENT, { type: 'describeJob', request: 1, id: 's-1', spec: false });
      expect(bench.take()).toEqual([]);
    }
    expect(turns).toBeGreaterThan(4);
    expect(bench.records).toHaveLength(JOBS);
    expect(bench.take().map(({ type }) => type)).toEqual(['enlist']);
  });

  test('are started in chunks', () => {
    const { bench } = startedAgain();
    while (nextPiece(bench));
    bench.receive(CENTRAL, welcome());
    bench.receive(CENTRAL, joined(1, [W1, W2], 4));
    bench.take();
    for (const worker of [W1, W2]) bench.receive(worker, { type: 'holding', tasks: [], audit: 0 });
    bench.commit();
    let turns = 0;
    let probes = 0;
    for (let isMore = true; isMore; isMore = nextPiece(bench)) {
      const sent = bench.take();
      expect(sent.length).toBeLessThanOrEqual(TURN_MAX);
      probes += sent.filter(({ type }) => type === 'probe').length;
      turns++;
    }
    expect(turns).toBeGreaterThan(4);
    expect(probes).toBeGreaterThanOrEqual(JOBS);
  });

  test('keep a draining scheduler from exiting before they are restored', () => {
    const { bench } = startedAgain();
    bench.scheduler.drain();
    expect(bench.take()).toEqual([]);
    while (nextPiece(bench));
    expect(bench.take()).toMatchObject([{ type: 'enlist', draining: true }]);
    expect(bench.scheduler.activeJobs).toBe(JOBS);
  });
});
