import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Scaler, type ScalerOptions, type Snapshot } from './scaler.js';

const OPTIONS: ScalerOptions = { min: 0, max: 10, cooldownMs: 60_000, slots: 2, lastLeavesFirst: false };
const POLL_MS = 2_000;

/** Simulates a simple pool and a queue, in steps of one check. */
class World {
  readonly #options: ScalerOptions;
  readonly #scaler: Scaler;
  readonly #joinMs: number;
  #members: { name: string; joinsAt: number; state: 'active' | 'draining'; ends: number[] }[] = [];
  /** Run times of waiting tasks. */
  queue: number[] = [];
  completed = 0;
  now = 0;
  startedAt = Number.NEGATIVE_INFINITY;
  changes = 0;
  #count = 0;

  constructor(options: ScalerOptions, joinMs: number) {
    this.#options = options;
    this.#joinMs = joinMs;
    this.#scaler = new Scaler(options);
  }

  get size(): number {
    return this.#members.length;
  }

  get running(): number {
    return this.#members.reduce((sum, { ends }) => sum + ends.length, 0);
  }

  step(): void {
    const { slots, max, lastLeavesFirst, cooldownMs } = this.#options;
    this.now += POLL_MS;
    const { now } = this;
    for (const member of this.#members) {
      const left = member.ends.filter((end) => end > now);
      this.completed += member.ends.length - left.length;
      member.ends = left;
      while (
        member.state === 'active' &&
        member.joinsAt <= now &&
        left.length < slots &&
        this.queue.length > 0
      )
        left.push(now + this.queue.shift()!);
    }
    const snapshot: Snapshot = {
      waiting: this.queue.length,
      members: this.#members.map(({ name }) => ({ name, endsUnjoined: true })),
      workers: this.#members
        .filter(({ joinsAt }) => joinsAt <= now)
        .map(({ name, state, ends }) => ({
          name,
          state: state === 'draining' && ends.length === 0 ? 'drained' : state,
          slots,
          busy: ends.length,
          queued: 0,
        })),
    };
    const actions = this.#scaler.decide(snapshot, now);
    const find = (name: string) => this.#members.find((member) => member.name === name)!;
    for (const name of actions.undo) find(name).state = 'active';
    for (const name of actions.drain) find(name).state = 'draining';
    // A worker that just started is not removed.
    if (actions.drain.length + actions.end.length > 0)
      expect(now - this.startedAt).toBeGreaterThanOrEqual(cooldownMs);
    for (const { name } of actions.end) {
      const member = find(name);
      // A worker with running tasks is never stopped.
      expect(member.ends).toEqual([]);
      if (member.joinsAt <= now) expect(member.state).toBe('draining');
      if (lastLeavesFirst) expect(member).toBe(this.#members.at(-1));
      this.#members.splice(this.#members.indexOf(member), 1);
    }
    for (let i = 0; i < actions.start; i++) {
      const name = lastLeavesFirst ? `w${this.#members.length}` : `w${this.#count++}`;
      this.#members.push({ name, joinsAt: now + this.#joinMs, state: 'active', ends: [] });
      this.startedAt = now;
    }
    this.#scaler.started(this.#members.slice(this.#members.length - actions.start).map(({ name }) => name));
    expect(this.size).toBeLessThanOrEqual(max);
    this.changes += actions.start + actions.drain.length + actions.undo.length + actions.end.length;
  }

  steps(count: number): this {
    for (let i = 0; i < count; i++) this.step();
    return this;
  }
}

const anyOptions = fc
  .record({
    min: fc.integer({ min: 0, max: 5 }),
    more: fc.integer({ min: 1, max: 15 }),
    cooldownMs: fc.integer({ min: 0, max: 120_000 }),
    slots: fc.integer({ min: 1, max: 4 }),
    lastLeavesFirst: fc.boolean(),
  })
  .map(({ more, ...rest }) => ({ ...rest, max: rest.min + more }));
const joinMs = fc.integer({ min: 0, max: 60_000 });
const bursts = fc.array(fc.array(fc.integer({ min: 100, max: 60_000 }), { maxLength: 20 }), {
  maxLength: 60,
});

describe('under any load, it', () => {
  it('stays within its bounds, stops no busy worker, and ends at its minimum', () => {
    fc.assert(
      fc.property(anyOptions, joinMs, bursts, (options, join, work) => {
        const world = new World(options, join);
        let tasks = 0;
        for (const burst of work) {
          world.queue.push(...burst);
          tasks += burst.length;
          world.step();
        }
        // The limit is the time that one worker needs for all tasks, and as long again for workers to leave.
        for (let i = 0; world.queue.length + world.running > 0; i++) {
          expect(i).toBeLessThan(100_000);
          world.step();
        }
        expect(world.completed).toBe(tasks);
        world.steps(Math.ceil((options.cooldownMs + join) / POLL_MS) + 4);
        expect(world.size).toBe(options.min);
        const { changes } = world;
        expect(world.steps(100).changes).toBe(changes);
      }),
    );
  });

  it('converges under constant load, with sufficient capacity', () => {
    fc.assert(
      fc.property(anyOptions, joinMs, fc.integer({ min: 0, max: 80 }), (options, join, tasks) => {
        const world = new World(options, join);
        world.queue.push(...new Array<number>(tasks).fill(1e9));
        world.steps(Math.ceil((options.cooldownMs + join) / POLL_MS) + 4);
        const { changes } = world;
        expect(world.steps(200).changes).toBe(changes);
        const { min, max, slots } = options;
        expect(world.size).toBe(Math.min(max, Math.max(min, Math.ceil(tasks / slots))));
      }),
    );
  });
});

const worker = (name: string, busy = 0, state: Snapshot['workers'][number]['state'] = 'active') => ({
  name,
  state,
  slots: 2,
  busy,
  queued: 0,
});
const snapshot = (waiting: number | undefined, ...workers: Snapshot['workers']): Snapshot => ({
  waiting,
  workers,
  members: workers.map(({ name }) => ({ name, endsUnjoined: false })),
});

describe('scaling up', () => {
  it('is immediate for tasks that wait at two checks', () => {
    const scaler = new Scaler(OPTIONS);
    expect(scaler.decide(snapshot(8), 0)).toMatchObject({ start: 0 });
    expect(scaler.decide(snapshot(8), POLL_MS)).toMatchObject({ start: 4, wanted: 4, waiting: 8 });
  });

  it('does not happen for a queue that is about to be empty', () => {
    const scaler = new Scaler(OPTIONS);
    for (const [index, waiting] of [900, 600, 300, 0].entries())
      expect(scaler.decide(snapshot(waiting, worker('w', 2)), index * POLL_MS).start).toBe(0);
  });

  it('is immediate even while new workers take tasks from the queue', () => {
    const scaler = new Scaler(OPTIONS);
    scaler.decide(snapshot(13, worker('a'), worker('b')), 0);
    const actions = scaler.decide(snapshot(9, worker('a', 2), worker('b', 2)), POLL_MS);
    expect(actions).toMatchObject({ start: 5, waiting: 9 });
  });

  it('does not happen while idle workers cannot run the waiting tasks; all but one of them leave', () => {
    const scaler = new Scaler({ ...OPTIONS, cooldownMs: 10_000 });
    const workers = [worker('a', 1), worker('b'), worker('c'), worker('d')];
    const actions = Array.from({ length: 8 }, (_, index) =>
      scaler.decide(snapshot(50, ...workers), index * POLL_MS),
    );
    expect(actions.every(({ start }) => start === 0)).toBe(true);
    expect(actions.at(-1)!.drain).toEqual(['c', 'd']);
  });

  it('undoes drains before it starts members', () => {
    const scaler = new Scaler({ ...OPTIONS, cooldownMs: 0 });
    const workers = [worker('a', 2), worker('b')];
    scaler.decide(snapshot(0, ...workers), 0);
    expect(scaler.decide(snapshot(0, ...workers), POLL_MS).drain).toEqual(['b']);
    const draining = [worker('a', 2), worker('b', 0, 'draining')];
    scaler.decide(snapshot(4, ...draining), 2 * POLL_MS);
    expect(scaler.decide(snapshot(4, ...draining), 3 * POLL_MS)).toMatchObject({ undo: ['b'], start: 1 });
  });

  it('replaces a worker that an operator drains, and does not undo the drain', () => {
    const scaler = new Scaler({ ...OPTIONS, min: 2 });
    scaler.decide(snapshot(0, worker('a'), worker('b')), 0);
    const drained = snapshot(0, worker('a'), worker('b', 1, 'draining'));
    expect(scaler.decide(drained, POLL_MS)).toMatchObject({ start: 1, undo: [], end: [] });
  });

  it('pauses after a member ended before its worker joined', () => {
    const scaler = new Scaler({ ...OPTIONS, min: 1 });
    expect(scaler.decide(snapshot(0), 0).start).toBe(1);
    scaler.started(['w']);
    expect(scaler.decide(snapshot(0), POLL_MS)).toMatchObject({ start: 0, failed: ['w'] });
    expect(scaler.decide(snapshot(0), 50_000).start).toBe(0);
    expect(scaler.decide(snapshot(0), 70_000).start).toBe(1);
  });
});

describe('scaling down', () => {
  it('waits for the cool-down, also after a restart of the autoscaler', () => {
    const scaler = new Scaler(OPTIONS);
    const workers = [worker('a', 1), worker('b', 2), worker('c')];
    const drains = Array.from(
      { length: 40 },
      (_, index) => scaler.decide(snapshot(0, ...workers), index * POLL_MS).drain,
    );
    expect(drains.findIndex((names) => names.length > 0)).toBe(30);
    // The least busy worker is drained.
    expect(drains[30]).toEqual(['c']);
  });

  it('does not happen while a part of the cluster does not respond', () => {
    const scaler = new Scaler({ ...OPTIONS, cooldownMs: 10_000 });
    const workers = [worker('a'), worker('b')];
    for (let i = 0; i < 20; i++)
      expect(scaler.decide(snapshot(undefined, ...workers), i * POLL_MS).drain).toEqual([]);
    expect(scaler.decide(snapshot(0, ...workers), 20 * POLL_MS).drain).toEqual([]);
    expect(scaler.decide(snapshot(0, ...workers), 26 * POLL_MS).drain).toEqual(['a', 'b']);
  });

  test('removes members of a StatefulSet in reverse order', () => {
    const scaler = new Scaler({ ...OPTIONS, cooldownMs: 0, lastLeavesFirst: true });
    const workers = [worker('0', 1), worker('1'), worker('2', 1), worker('3')];
    scaler.decide(snapshot(0, ...workers), 0);
    expect(scaler.decide(snapshot(0, ...workers), POLL_MS).drain).toEqual(['1', '2', '3']);
    const next = (second: Snapshot['workers'][number], last: Snapshot['workers'][number], now: number) =>
      scaler
        .decide(snapshot(0, worker('0', 2), worker('1', 0, 'drained'), second, last), now)
        .end.map(({ name }) => name);
    expect(next(worker('2', 1, 'draining'), worker('3', 0, 'drained'), 2 * POLL_MS)).toEqual(['3']);
    expect(next(worker('2', 0, 'drained'), worker('3', 0, 'drained'), 3 * POLL_MS)).toEqual(['3', '2', '1']);
  });
});
