import type { LogPage, OutputStore, StoredOutput } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TaskLogs } from './task-logs.js';

const all = () => true;
const none = () => false;

/** Wall clock. */
const AT = 1_764_403_200_000;

function pageOf(logs: TaskLogs, ...about: Parameters<TaskLogs['read']>): LogPage {
  return logs.read(...about)!;
}

function text(page: LogPage): string {
  return page.chunks.map(({ bytes }) => String.fromCharCode(...bytes)).join('');
}

function print(logs: TaskLogs, job: number, line: string, task = 0, user?: string): void {
  logs.append(
    job,
    user,
    task,
    1,
    { stream: 'stdout', bytes: Uint8Array.from(line, (c) => c.charCodeAt(0)) },
    AT,
  );
}

describe('output of tasks', () => {
  it('is read in order of arrival, from the reader’s position', () => {
    const logs = new TaskLogs(1_000, none);
    print(logs, 1, 'a');
    print(logs, 2, 'other');
    print(logs, 1, 'b', 7);
    const first = pageOf(logs, 1, 0, all, false);
    expect(text(first)).toBe('ab');
    expect(first).toMatchObject({ atEnd: true, done: false, dropped: false });
    print(logs, 1, 'c');
    const second = pageOf(logs, 1, first.next, all, true);
    expect(text(second)).toBe('c');
    expect(second).toMatchObject({ done: true, dropped: false });
    expect(text(pageOf(logs, 1, 0, (task) => task === 7, true))).toBe('b');
  });

  it('is paged', () => {
    const logs = new TaskLogs(10_000_000, none);
    for (let i = 0; i < 3; i++) print(logs, 1, 'x'.repeat(500_000));
    const first = pageOf(logs, 1, 0, all, true);
    expect(first).toMatchObject({ next: 2, atEnd: false, done: false });
    expect(pageOf(logs, 1, first.next, all, true)).toMatchObject({ next: 3, atEnd: true, done: true });
  });

  it('is evicted, the oldest job first, and readers are notified', () => {
    const logs = new TaskLogs(500, none);
    print(logs, 1, 'old');
    print(logs, 2, 'x'.repeat(298));
    expect(pageOf(logs, 1, 0, all, true)).toMatchObject({ chunks: [], dropped: true, done: true });
  });

  it('is evicted only from the user who prints the most', () => {
    const logs = new TaskLogs(10_000, none);
    print(logs, 1, 'mine', 0, 'ada');
    for (let job = 2; job < 200; job++) print(logs, job, 'y'.repeat(1_000), 0, 'eve');
    expect(text(pageOf(logs, 1, 0, all, true))).toBe('mine');
    expect(pageOf(logs, 2, 0, all, true)).toMatchObject({ chunks: [], dropped: true });
    expect(text(pageOf(logs, 199, 0, all, true))).toHaveLength(1_000);
  });

  it('continues for a reader whose job has lost all of it', () => {
    const logs = new TaskLogs(500, none);
    print(logs, 1, 'a');
    print(logs, 1, 'b');
    const { next } = pageOf(logs, 1, 0, all, false);
    print(logs, 2, 'x'.repeat(99));
    expect(pageOf(logs, 1, next, all, false)).toMatchObject({ chunks: [], dropped: false });
    print(logs, 1, 'c');
    expect(text(pageOf(logs, 1, next, all, false))).toBe('c');
  });

  it('is evicted with the last lines of failed tasks last', () => {
    const logs = new TaskLogs(20_000, (_, task) => task % 10 === 3);
    for (let task = 0; task < 100; task++)
      print(logs, 1, `${task} ${'x'.repeat(3_000)}\ncause ${task}\n`, task);
    for (const task of [73, 83, 93]) {
      const page = pageOf(logs, 1, 0, (of) => of === task, true);
      expect(text(page)).toMatch(new RegExp(`\ncause ${task}\n$`));
      expect(page.dropped).toBe(true);
    }
    expect(text(pageOf(logs, 1, 0, (of) => of === 70, true))).toBe('');
  });

  it('of an earlier incarnation is missing, and readers of then miss nothing of now', () => {
    const before = new TaskLogs(10_000, none);
    for (let i = 0; i < 9; i++) print(before, 5, 'old');
    const { next } = pageOf(before, 5, 0, all, false);
    const logs = new TaskLogs(10_000, none, 5);
    logs.restored(5, undefined, { hasRun: true, acceptedAt: 0 });
    expect(pageOf(logs, 5, 0, all, false)).toMatchObject({ chunks: [], dropped: true });
    print(logs, 5, 'new');
    const page = pageOf(logs, 5, next, all, false);
    expect(text(page)).toBe('new');
    expect(pageOf(logs, 5, page.next, all, false)).toMatchObject({ chunks: [], dropped: false });
    print(logs, 3, 'first');
    expect(pageOf(logs, 3, 0, all, false)).toMatchObject({ dropped: false });
    expect(text(pageOf(logs, 3, 2, all, false))).toBe('first');
  });

  it('has its position in the output of its attempt, even if the last of it did not arrive', () => {
    const logs = new TaskLogs(10_000, none);
    const chunk = { stream: 'stderr', bytes: new Uint8Array(3) } as const;
    logs.append(1, undefined, 0, 1, chunk, AT, 0);
    logs.ended(1, undefined, 0, 1, 3, AT);
    logs.append(1, undefined, 0, 2, chunk, AT, 40);
    logs.ended(1, undefined, 0, 2, 60, AT);
    logs.ended(1, undefined, 1, 1, 7, AT);
    logs.ended(1, undefined, 2, 1, 0, AT);
    const { chunks } = pageOf(logs, 1, 0, all, true);
    expect(chunks.map(({ task, offset, bytes }) => [task, offset, bytes.length])).toEqual([
      [0, 0, 3],
      [0, 40, 3],
      [0, 60, 0],
      [1, 7, 0],
    ]);
  });

  it('is kept once, if a worker sends it again', () => {
    const logs = new TaskLogs(10_000, none);
    const say = (line: string, offset: number): void =>
      logs.append(
        1,
        undefined,
        0,
        1,
        { stream: 'stdout', bytes: Uint8Array.from(line, (c) => c.charCodeAt(0)) },
        AT + offset,
        offset,
      );
    say('abc', 0);
    say('abc', 0);
    say('bcde', 1);
    say('h', 7);
    expect(logs.receivedBytes(1, 0, 1)).toBe(8);
    const page = pageOf(logs, 1, 0, all, false);
    expect(text(page)).toBe('abcdeh');
    expect(page.chunks.map(({ offset, at }) => [offset, at - AT])).toEqual([
      [0, 0],
      [3, 1],
      [7, 7],
    ]);
    logs.ended(1, undefined, 0, 1, 8, AT);
    expect(logs.receivedBytes(1, 0, 1)).toBe(0);
  });

  it('that was evicted while its task runs is not taken again', () => {
    const logs = new TaskLogs(500, none);
    print(logs, 1, 'old');
    print(logs, 2, 'x'.repeat(298));
    expect(logs.receivedBytes(1, 0, 1)).toBe(3);
    logs.ended(1, undefined, 0, 1, 3, AT);
    expect(pageOf(logs, 1, 0, all, true)).toMatchObject({ chunks: [], dropped: true, done: true });
  });

  it('is that of all attempts, or of one attempt of each task', () => {
    const logs = new TaskLogs(10_000, none);
    const say = (task: number, attempt: number, letter: string): void =>
      logs.append(
        1,
        undefined,
        task,
        attempt,
        { stream: 'stdout', bytes: Uint8Array.of(letter.charCodeAt(0)) },
        AT,
      );
    say(0, 1, 'a');
    say(1, 1, 'b');
    say(0, 2, 'c');
    say(2, 1, 'd');
    const read = (attemptOf?: (task: number) => number) => {
      const page = pageOf(logs, 1, 0, all, true, attemptOf);
      return [text(page), page.hasEarlier, page.next];
    };
    expect(read()).toEqual(['abcd', undefined, 4]);
    expect(read(() => 1)).toEqual(['abd', undefined, 4]);
    expect(read((task) => [2, 1, 2][task]!)).toEqual(['bc', true, 4]);
    expect(read(() => 3)).toEqual(['', true, 4]);
  });

  it('returns the last lines of tasks, stdout before stderr', () => {
    const logs = new TaskLogs(1e6, none);
    const say = (stream: 'stdout' | 'stderr', line: string, attempt = 2): void =>
      logs.append(
        1,
        undefined,
        7,
        attempt,
        { stream, bytes: Uint8Array.from(line, (c) => c.charCodeAt(0)) },
        AT,
      );
    say('stdout', 'old\n', 1);
    for (let i = 0; i < 9; i++) {
      say('stderr', `e${i}\n`);
      say('stdout', `o${i}\n`);
    }
    say('stdout', 'end');
    print(logs, 1, 'other\n', 8);
    const lines = logs.lastLines(1, [7, 9])!;
    expect([...lines.keys()]).toEqual([7]);
    expect(String.fromCharCode(...lines.get(7)!)).toBe('o7\no8\nende4\ne5\ne6\ne7\ne8\n');
  });

  it('is read without unreported gaps, in spite of evictions', () => {
    const step = fc.record({ job: fc.nat(2), length: fc.integer({ min: 1, max: 60 }), read: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const logs = new TaskLogs(500, none);
        const printed = ['', '', ''];
        const seen = ['', '', ''];
        const hasGap = [false, false, false];
        const cursors = [0, 0, 0];
        const read = (job: number): void => {
          const page = pageOf(logs, job, cursors[job]!, all, false);
          cursors[job] = page.next;
          seen[job] += text(page);
          hasGap[job] ||= page.dropped;
        };
        for (const [index, step] of steps.entries()) {
          const line = String.fromCharCode(97 + (index % 26)).repeat(step.length);
          print(logs, step.job, line);
          printed[step.job] += line;
          if (step.read) read(step.job);
        }
        for (const job of [0, 1, 2]) {
          read(job);
          if (!hasGap[job]) expect(seen[job]).toBe(printed[job]);
        }
      }),
    );
  });
});

/** A store of small pages. */
class StoreInMemory implements OutputStore {
  readonly since = 100;
  settled = 0;
  gone: string | undefined;
  readonly #chunks = new Map<number, StoredOutput[]>();

  append(job: number, _user: string | undefined, chunk: StoredOutput): void {
    this.#chunks.set(job, [...(this.#chunks.get(job) ?? []), chunk]);
  }

  restored(): void {}

  allRestored(): void {}

  delete(job: number): void {
    this.#chunks.delete(job);
  }

  has(job: number): boolean {
    return this.#chunks.has(job);
  }

  read(job: number, from: number) {
    const rest = (this.#chunks.get(job) ?? []).filter(({ number }) => number >= from);
    const gone = this.gone === undefined ? undefined : { before: 2, why: this.gone };
    return { chunks: this.gone === undefined ? rest.slice(0, 3) : [], next: rest[3]?.number, gone };
  }
}

function readAll(logs: TaskLogs, job: number, from = 0) {
  let printed = '';
  let dropped = false;
  for (let next = from, done = false; !done; ) {
    const page = pageOf(logs, job, next, all, true);
    printed += text(page);
    dropped ||= page.dropped;
    expect(page.done || page.next > next).toBe(true);
    ({ next, done } = page);
  }
  return { printed, dropped };
}

describe('output of tasks with a store', () => {
  it('is read whole, in spite of evictions and restarts, and from any position', () => {
    const step = fc.record({ job: fc.integer({ min: 1, max: 2 }), restarts: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const store = new StoreInMemory();
        let logs = new TaskLogs(1_000, none, 0, store);
        const restored = { hasRun: true, acceptedAt: 200 };
        const expected = ['', ''];
        for (const [index, { job, restarts }] of steps.entries()) {
          const line = String.fromCharCode(33 + index);
          print(logs, job, line);
          expected[job - 1] += line;
          const next = pageOf(logs, job, 0, all, false).next;
          if (!restarts) continue;
          logs = new TaskLogs(1_000, none, 10 * (index + 1), store);
          for (const each of [1, 2]) logs.restored(each, undefined, restored);
          print(logs, job, '!');
          expected[job - 1] += '!';
          expect(readAll(logs, job, next).printed.endsWith('!')).toBe(true);
        }
        for (const job of [1, 2])
          expect(readAll(logs, job)).toEqual({ printed: expected[job - 1], dropped: false });
      }),
    );
  });

  it('is missing only with a reason: its job is older than the store, or the store has deleted it', () => {
    const store = new StoreInMemory();
    const logs = new TaskLogs(1_000, none, 9, store);
    for (const [job, acceptedAt, hasRun] of [
      [1, 50, true],
      [2, 150, true],
      [3, 50, false],
    ] as const)
      logs.restored(job, undefined, { hasRun, acceptedAt });
    expect(pageOf(logs, 1, 0, all, true)).toMatchObject({ dropped: true, whyDropped: expect.any(String) });
    for (const job of [2, 3])
      expect(pageOf(logs, job, 0, all, true)).toMatchObject({ dropped: false, done: true });
    print(logs, 2, 'a');
    store.gone = 'the disk was full';
    const after = new TaskLogs(1_000, none, 20, store);
    after.restored(2, undefined, { hasRun: true, acceptedAt: 150 });
    expect(pageOf(after, 2, 0, all, true)).toMatchObject({
      ...{ chunks: [], dropped: true, done: true },
      whyDropped: 'the disk was full',
    });
  });

  it('shows the last lines of tasks that failed under an earlier incarnation, once each', () => {
    const store = new StoreInMemory();
    const before = new TaskLogs(1_000, none, 0, store);
    for (let task = 0; task < 9; task++) print(before, 1, `task ${task} says\nwhy it failed\n`, task);
    const logs = new TaskLogs(1_000, none, 5, store);
    logs.restored(1, undefined, { hasRun: true, acceptedAt: 200 });
    // Its worker repeats what it printed before the restart.
    print(logs, 1, 'task 7 says\nwhy it failed\n', 7);
    const lines = logs.lastLines(1, [3, 7, 20])!;
    const shown = [...lines].map(([task, bytes]) => [task, String.fromCharCode(...bytes)]);
    expect(shown.sort()).toEqual([
      [3, 'task 3 says\nwhy it failed\n'],
      [7, 'task 7 says\nwhy it failed\n'],
    ]);
  });

  it('lets actions wait until it is stored', () => {
    const store = new StoreInMemory();
    const logs = new TaskLogs(1_000, none, 0, store);
    const done: string[] = [];
    logs.whenStored(() => done.push('nothing printed'));
    print(logs, 1, 'a');
    logs.whenStored(() => done.push('a'));
    print(logs, 1, 'b');
    logs.whenStored(() => done.push('b'));
    expect(done).toEqual(['nothing printed']);
    for (const settled of [1, 2]) {
      store.settled = settled;
      logs.storeSettled();
      expect(done).toHaveLength(1 + settled);
    }
  });
});
