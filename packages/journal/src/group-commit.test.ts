import type { JournalState } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { type Entry, GroupCommit } from './group-commit.js';
import { accepted } from './records.fixture.js';

/** A journal whose writes the test completes. */
class SlowJournal extends GroupCommit {
  readonly groups: { readonly group: readonly Entry[]; end(error?: Error): void }[] = [];
  hasRoom = true;

  protected write(group: readonly Entry[]): Promise<'written' | 'no room'> {
    if (!this.hasRoom) return Promise.resolve('no room');
    return new Promise((resolve, reject) => {
      this.groups.push({ group, end: (error) => (error === undefined ? resolve('written') : reject(error)) });
    });
  }
}

function setUp() {
  const actions: (() => void)[] = [];
  const clock = { now: 0 };
  const commits = new SlowJournal({
    now: () => clock.now,
    soon: (action) => actions.push(action),
    later: (action) => actions.push(action),
  });
  commits.nextPlace = 0;
  const reported = { counts: [] as number[], states: [] as JournalState[] };
  commits.listen({
    recorded: (count) => reported.counts.push(count),
    stateChanged: (state) => reported.states.push(state),
  });
  const turn = async (): Promise<void> => {
    for (const action of actions.splice(0)) action();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { commits, reported, turn, clock };
}

describe('group commit', () => {
  test('has one group in flight at a time', async () => {
    const { commits, reported, turn } = setUp();
    commits.append(accepted(1));
    await turn();
    commits.append(accepted(2));
    commits.append(accepted(3));
    await turn();
    expect(commits.groups.map(({ group }) => group.length)).toEqual([1]);
    commits.groups[0]!.end();
    await turn();
    expect(commits.groups.map(({ group }) => group.length)).toEqual([1, 2]);
    expect(reported.counts).toEqual([1]);
    commits.groups[1]!.end();
    await turn();
    expect(reported.counts).toEqual([1, 3]);
  });

  test('reports another problem of the same kind, but not other numbers in it', () => {
    const { commits, reported } = setUp();
    const problems = ['no answer', 'no answer', 'too many connections', undefined] as const;
    for (const problem of problems) commits.setState('away', problem);
    for (const free of [5, 4, 3]) commits.setState('full', `${free} MiB are free`);
    commits.setState('full', 'jobs.mdb was removed', true);
    expect(reported.states).toEqual([
      { kind: 'away', message: 'no answer' },
      { kind: 'away', message: 'too many connections' },
      { kind: 'open' },
      { kind: 'full', message: '5 MiB are free' },
      { kind: 'full', message: 'jobs.mdb was removed', isLost: true },
    ]);
  });

  test('reports for how long a hung disk has written nothing', async () => {
    const { commits, turn, clock } = setUp();
    clock.now = 1_000;
    expect(commits.unwrittenMs).toBe(0);
    commits.append(accepted(1));
    await turn();
    clock.now = 7_000;
    commits.append(accepted(2));
    expect(commits.unwrittenMs).toBe(6_000);
    commits.groups[0]!.end();
    await turn();
    clock.now = 8_000;
    expect(commits.unwrittenMs).toBe(1_000);
    commits.groups[1]!.end();
    await turn();
    clock.now = 99_000;
    expect(commits.unwrittenMs).toBe(0);
  });

  test('after one failed sync nothing is recorded or written any more', async () => {
    const { commits, reported, turn } = setUp();
    commits.append(accepted(1));
    await turn();
    commits.append(accepted(2));
    commits.groups[0]!.end(new Error('EIO: i/o error, fdatasync'));
    await turn();
    commits.append(accepted(3));
    await turn();
    expect(commits.groups).toHaveLength(1);
    expect(reported.counts).toEqual([]);
    expect(reported.states).toEqual([{ kind: 'failed', message: 'EIO: i/o error, fdatasync' }]);
    commits.setState('full', undefined);
    expect(commits.state.kind).toBe('failed');
    await commits.end(async () => {});
  });

  test('nothing is written while the disk is full, which is reported, and everything once there is space', async () => {
    const { commits, reported, turn } = setUp();
    commits.hasRoom = false;
    commits.append(accepted(1));
    await turn();
    commits.append(accepted(2));
    await turn();
    expect(commits.groups).toHaveLength(0);
    commits.setState('full', 'there is little room');
    expect(reported.states.map(({ kind }) => kind)).toEqual(['stopped']);
    commits.hasRoom = true;
    await turn();
    expect(commits.groups.map(({ group }) => group.map(({ job }) => job))).toEqual([[1, 2]]);
    commits.groups[0]!.end();
    await turn();
    expect(reported.counts).toEqual([2]);
    expect(reported.states.at(-1)).toEqual({ kind: 'full', message: 'there is little room' });
  });

  test('a record that cannot be encoded is refused, and later records become durable', async () => {
    const { commits, reported, turn } = setUp();
    const spec = {
      get stages(): never {
        throw new RangeError('Packed buffer would be larger than maximum buffer size');
      },
    };
    expect(() => commits.append({ ...accepted(1), spec } as never)).toThrow(
      /cannot write this record of job 1/,
    );
    expect(commits.appended).toBe(0);
    commits.append(accepted(2));
    await turn();
    commits.groups[0]!.end();
    await turn();
    expect(reported.counts).toEqual([1]);
  });

  test('closing does not wait for disk space', async () => {
    const { commits, reported, turn } = setUp();
    commits.hasRoom = false;
    commits.append(accepted(1));
    await turn();
    const closed = commits.end(async () => {});
    await turn();
    await closed;
    expect(reported.counts).toEqual([]);
  });
});
