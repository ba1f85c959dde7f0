import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HistorySample } from '@goshawk/central';
import { HISTORY_KEPT_MS, HISTORY_STEP_MS, type HistoryPage, type HistoryPoint } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HistoryBook } from './history-book.js';

const silent = { error: () => {} } as unknown as Logger;

let folder: string;
let now = 1_800_000_000_000;
const open: HistoryBook[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-history-'));
});
afterEach(() => {
  for (const book of open.splice(0)) book.close();
  rmSync(folder, { recursive: true, force: true });
});

function bookIn(path: string | undefined): HistoryBook {
  const book = new HistoryBook(path, silent, () => now);
  open.push(book);
  return book;
}

function sample(workers: readonly string[], completed: number, load = 50): HistorySample {
  return {
    ...{ waiting: 3, busy: 2, slots: 4 * workers.length },
    shares: { capacity: { cpu: 4 * workers.length }, jobs: [], total: 0, by: undefined },
    workers: workers.map((name) => ({ name, slots: 4, load })),
    counters: {
      s0: { tasksEnded: { short: { completed }, long: { completed: 0 } }, queueingMs: {}, jobMs: {} },
    },
  };
}

/** Reads all pages, as clients do. */
function all(book: HistoryBook): { points: HistoryPoint[]; workersAt: (point: HistoryPoint) => string[] } {
  const points: HistoryPoint[] = [];
  const rosters = new Map<number, HistoryPage['rosters'][number]>();
  for (;;) {
    const page = book.page(points.at(-1)?.at ?? 0);
    points.push(...page.points);
    for (const roster of page.rosters) rosters.set(roster.id, roster);
    if (page.atEnd) break;
  }
  return { points, workersAt: ({ roster }) => rosters.get(roster)!.workers.map(({ name }) => name) };
}

describe('the history of a day', () => {
  it('is the same after any restarts, with workers that come and go, and has a point for each sample', () => {
    const step = fc.record({
      workers: fc.subarray(['w0', 'w1', 'w2', 'w3']),
      completed: fc.nat(100),
      load: fc.nat(100),
      restarts: fc.boolean(),
      tears: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 90 }), (steps) => {
        now = 1_800_000_000_000;
        const path = join(folder, `${readdirSync(folder).length}.jsonl`);
        let book = bookIn(path);
        const expected: [number, string[], number[]][] = [];
        let completed = 0;
        for (const { workers, completed: more, load, restarts, tears } of steps) {
          completed += more;
          now += HISTORY_STEP_MS;
          book.add(sample(workers, completed, load));
          expected.push([now / 1_000, workers, workers.map(() => load)]);
          if (!restarts) continue;
          const before = all(book);
          book.close();
          if (tears) appendFileSync(path, '{"at":18000000');
          book = bookIn(path);
          expect(all(book).points).toEqual(before.points);
        }
        const { points, workersAt } = all(book);
        expect(points.map((point) => [point.at, workersAt(point), [...point.loads]])).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('has no rates where they are unknown, rather than none', () => {
    const path = join(folder, 'history.jsonl');
    bookIn(path).add(sample(['w0'], 10));
    now += HISTORY_STEP_MS;
    open[0]!.add(sample(['w0'], 250));
    now += HISTORY_STEP_MS;
    const later = bookIn(path);
    later.add(sample(['w0'], 400));
    expect(all(later).points.map(({ short }) => short.tasksPerSecond)).toEqual([undefined, 2, undefined]);
  });

  it('is bounded in memory and on disk, and forgets what is older than a day', () => {
    const path = join(folder, 'history.jsonl');
    const book = bookIn(path);
    const workers = Array.from({ length: 10_000 }, (_, index) => `worker-${index}.rack-7.example`);
    const count = 1.25 * (HISTORY_KEPT_MS / HISTORY_STEP_MS);
    for (let index = 0; index < count; index++) {
      now += HISTORY_STEP_MS;
      // Every sixth point has another worker.
      book.add(sample(index % 6 === 0 ? [...workers, `new-${index}`] : workers, index));
    }
    const { points } = all(book);
    expect(points.length).toBe(HISTORY_KEPT_MS / HISTORY_STEP_MS + 1);
    expect(points[0]!.at * 1_000).toBeGreaterThanOrEqual(now - HISTORY_KEPT_MS);
    const bytes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(34 * 1024 * 1024);
    // The next process has at least what the last file holds.
    expect(all(bookIn(path)).points.at(-1)).toEqual(points.at(-1));
  });

  it('without a folder is kept in memory, and has no points of the future after the clock was set back', () => {
    const book = bookIn(undefined);
    for (const step of [1, 1, 1, -2, 1]) {
      now += step * HISTORY_STEP_MS;
      book.add(sample(['w0'], 1));
    }
    const times = all(book).points.map(({ at }) => at);
    expect(times).toEqual([...new Set(times)].sort((one, other) => one - other));
    expect(times.at(-1)! * 1_000).toBe(now);
  });
});
