import type { WorkerView } from '@goshawk/client';
import { expect, it } from 'vitest';
import { WorkerTable } from './worker-table.js';

function worker(name: string, more: Partial<WorkerView> = {}): WorkerView {
  return {
    name,
    address: `tcp://h:1!x/${name}`,
    slots: 1,
    capacity: {},
    attributes: {},
    partition: 'general',
    state: 'active',
    busy: 0,
    queued: 0,
    heardMsAgo: 0,
    ...more,
  };
}

it('sends everything first, then changes', () => {
  const table = new WorkerTable();
  table.update([worker('w0'), worker('w1', { partition: 'short' })], 0);
  expect(table.since(0)).toEqual({
    reset: true,
    born: [
      [0, 'w0', 1, 0],
      [1, 'w1', 1, 1],
    ],
    now: [
      [0, 0, 0, -1, 0, -1],
      [1, 0, 0, -1, 0, -1],
    ],
  });
  table.update([worker('w0', { heardMsAgo: 9 }), worker('w1', { partition: 'short', busy: 1, long: 1 })], 1);
  expect(table.since(1)).toEqual({ reset: false, born: [], now: [[1, 0, 1, 1, 0, -1]] });
  expect(table.since(2).now).toEqual([]);
});

it('a reader that returns late gets all changes since', () => {
  const table = new WorkerTable();
  table.update([worker('w0')], 0);
  table.update([worker('w0', { busy: 1 })], 1);
  table.update([worker('w0', { busy: 1 }), worker('w1')], 2);
  expect(table.since(1).now.map(([id]) => id)).toEqual([0, 1]);
  expect(table.since(99).reset).toBe(true);
});

it('shows lost workers for an hour, but not drained ones', () => {
  const table = new WorkerTable();
  table.update([worker('w0', { busy: 1 }), worker('w1', { state: 'drained' })], 0);
  table.update([], 1);
  expect(table.counts()).toMatchObject({ active: 0, lost: 1, drained: 0 });
  expect(table.lost()).toMatchObject([{ name: 'w0' }]);
  expect(table.since(1)).toMatchObject({ reset: true, now: [[0, 4, 0, -1, 0, -1]] });
  table.update([worker('w0')], 2);
  expect(table.counts()).toMatchObject({ active: 1, lost: 0 });
  table.update([], 3);
  table.update([], 3_600_005);
  expect(table.counts().lost).toBe(0);
});

it('ten thousand workers that all change need less than 64 KB per second', () => {
  const table = new WorkerTable();
  const all = (busy: number) =>
    Array.from({ length: 10_000 }, (_, i) => worker(`w${i}`, { busy, queued: 2 }));
  table.update(all(0), 0);
  table.update(all(1), 1);
  // Polled every five seconds.
  expect(JSON.stringify(table.since(1)).length / 5).toBeLessThan(64 * 1024);
});

it('keeps the history of a worker: when it joined, was drained, lost and came back', () => {
  const table = new WorkerTable();
  table.update([worker('w0')], 0, 100);
  table.update([worker('w0'), worker('w1')], 1, 200);
  table.update([worker('w0'), worker('w1', { state: 'quarantined', quarantine: 'no space left' })], 2, 300);
  table.update([worker('w0')], 3, 400);
  table.update([worker('w0'), worker('w1')], 4, 500);
  expect(table.eventsOf('w0')).toEqual([{ at: 100, state: 'seen' }]);
  expect(table.eventsOf('w1')).toEqual([
    { at: 200, state: 'joined' },
    { at: 300, state: 'quarantined', cause: 'no space left' },
    { at: 400, state: 'lost' },
    { at: 500, state: 'joined' },
  ]);
  for (let at = 0; at < 100; at++)
    table.update([worker('w0', { state: at % 2 === 0 ? 'draining' : 'active' })], at, at);
  expect(table.eventsOf('w0')).toHaveLength(20);
});

it('shows workers that were lost before the first update, with their cause', () => {
  const lost = {
    name: 'w9',
    address: 'tcp://h:1!x/9',
    cause: 'its process ended',
    lostMsAgo: 5_000,
    running: 2,
  };
  const table = new WorkerTable();
  table.update([worker('w0')], 10_000, 50_000, [lost, { ...lost, name: 'w8', lostMsAgo: 3_600_001 }]);
  expect(table.counts()).toMatchObject({ active: 1, lost: 1 });
  expect(table.lost()).toEqual([{ name: 'w9', cause: 'its process ended', at: expect.any(Number) }]);
  expect(table.eventsOf('w9')).toEqual([{ at: 45_000, state: 'lost', cause: 'its process ended' }]);
  expect(table.rows().get('w9')!.loss).toEqual({ cause: 'its process ended', running: 2 });
  table.update([worker('w0'), worker('w9')], 11_000, 51_000, []);
  expect(table.rows().get('w9')!.loss).toBeUndefined();
  expect(table.counts()).toMatchObject({ active: 2, lost: 0 });
  table.update([worker('w0')], 12_000, 52_000, [{ ...lost, cause: 'it stopped responding', lostMsAgo: 0 }]);
  expect(table.lost()).toEqual([{ name: 'w9', cause: 'it stopped responding', at: expect.any(Number) }]);
});

it('forgets a lost worker that central no longer lists, or has never listed', () => {
  const lost = { name: 'w0', address: 'tcp://h:1!x/w0', cause: 'its connection ended', running: 1 };
  for (const polls of [0, 1, 3]) {
    const table = new WorkerTable();
    table.update([worker('w0'), worker('w1')], 0, 0);
    // A loss between two pages of an answer is listed by the next answer.
    table.update([worker('w1')], 1, 1, []);
    expect(table.counts()).toMatchObject({ active: 1, lost: 1 });
    for (let poll = 0; poll < polls; poll++) {
      table.update([worker('w1')], 2 + poll, 2 + poll, [{ ...lost, lostMsAgo: poll }]);
      expect(table.counts()).toMatchObject({ active: 1, lost: 1 });
    }
    table.update([worker('w1')], 9, 9, []);
    expect(table.counts()).toMatchObject({ active: 1, lost: 0 });
  }
});

it('keeps the history of a worker over a restart of central, which lists no workers at first', () => {
  const table = new WorkerTable();
  table.update([worker('w0')], 0, 1);
  for (const at of [2, 3, 4]) table.update([], at, at);
  expect(table.counts()).toMatchObject({ active: 0, lost: 0 });
  table.update([worker('w0')], 5, 5);
  expect(table.eventsOf('w0').map(({ state }) => state)).toEqual(['seen', 'lost', 'joined']);
});

it('dates a loss as central does, and keeps its cause in the history', () => {
  const table = new WorkerTable();
  table.update([worker('w0')], 0, 1_000);
  const lost = { name: 'w0', address: 'tcp://h:1!x/w0', cause: 'its connection ended', running: 1 };
  table.update([], 10_000, 11_000, [{ ...lost, lostMsAgo: 4_000 }]);
  expect(table.eventsOf('w0').at(-1)).toEqual({ at: 7_000, state: 'lost', cause: 'its connection ended' });
  table.update([worker('w0')], 20_000, 21_000);
  expect(table.eventsOf('w0').at(-2)).toMatchObject({ state: 'lost', cause: 'its connection ended' });
});
