import { type Address, InputError, ONE_CPU } from '@goshawk/core';
import { describe, expect, it, test } from 'vitest';
import { ClusterBooks } from './books/books.js';
import { BookedDraft } from './books/draft.js';
import type { ClusterView, Draft } from './contract.js';
import { GuardedPolicy } from './guarded.js';
import { ReadOnlyViews } from './read-only.js';

function books(): ClusterBooks {
  const made = new ClusterBooks();
  const worker = made.addWorker(10 as Address, made.names.capacityOf(4, {}), { zone: 'a' });
  made.setOpen(worker, true);
  const job = made.declare(1 as Address, 0, { arrivedAt: 0, tasks: 4, prefers: { zone: 'a' } });
  const stage = made.stage(job, 0, {
    demand: ONE_CPU,
    tasks: 4,
    estimateMs: 1_000,
    distribution: [{ from: 1, to: 2, p: 1 }],
  });
  made.setWaiting(stage, 4, 0);
  made.setWaiting(made.stage(job, 1, { demand: ONE_CPU, tasks: 1, estimateMs: 1 }), 1, 0);
  stage.declined(made.addWorker(11 as Address, made.names.capacityOf(1, {})), 3);
  made.start(stage, worker, 1);
  return made;
}

/** Every object that a policy can reach, with its path. */
function reachable(root: object): Map<object, string> {
  const found = new Map<object, string>();
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || found.has(value) || path.length > 200) return;
    found.set(value, path);
    for (
      let at: object | null = value;
      at !== null && at !== Object.prototype;
      at = Object.getPrototypeOf(at)
    ) {
      for (const key of Reflect.ownKeys(at)) {
        if (key === '__proto__' || key === 'constructor') continue;
        try {
          visit((value as Record<string | symbol, unknown>)[key], `${path}.${String(key)}`);
        } catch {}
      }
    }
    if (Symbol.iterator in value)
      for (const [index, each] of [...(value as Iterable<unknown>)].entries())
        visit(each, `${path}[${index}]`);
  };
  visit(root, 'cluster');
  return found;
}

/** Everything that the books contain, as text. */
function contents(made: ClusterBooks): string {
  const seen = new Set<object>();
  return JSON.stringify(
    { jobs: [...made.jobs], workers: [...made.workers], capacity: made.capacity },
    (_, value) => {
      if (value instanceof Map || value instanceof Set) return [...value];
      if (typeof value !== 'object' || value === null) return value;
      if (seen.has(value)) return undefined;
      seen.add(value);
      return value;
    },
  );
}

test('nothing that a policy can reach can be written, and no function changes the books', () => {
  const made = books();
  const before = contents(made);
  const views = new ReadOnlyViews();
  const found = reachable(views.of(made));
  expect(found.size).toBeGreaterThan(15);
  let refused = 0;
  for (const [object, path] of found) {
    const keys = [...Reflect.ownKeys(object), 'added', 'waiting', 'free', '0', 'length'];
    for (const key of keys) {
      for (const write of [
        () => Reflect.set(object, key, Number.NaN),
        () => Reflect.deleteProperty(object, key),
        () => Object.defineProperty(object, key, { value: Number.NaN }),
      ]) {
        expect(write, `${path}.${String(key)}`).toThrow('a policy cannot change');
        refused++;
      }
    }
    expect(() => Object.setPrototypeOf(object, {}), path).toThrow('a policy cannot change');
    expect(() => Object.freeze(object), path).toThrow('a policy cannot change');
    const names = new Set<string | symbol>();
    for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at))
      for (const key of Reflect.ownKeys(at)) names.add(key);
    for (const name of names) {
      const called = (object as Record<string | symbol, unknown>)[name];
      if (typeof called !== 'function' || name === 'constructor') continue;
      for (const args of [[], [1], [[Number.NaN]], [() => 1], [object, object]]) {
        try {
          called.apply(object, args);
        } catch {
          refused++;
        }
      }
    }
  }
  expect(refused).toBeGreaterThan(100);
  expect(contents(made)).toBe(before);
});

test('views have the values and identities of the books', () => {
  const made = books();
  const views = new ReadOnlyViews();
  const cluster = views.of(made) as ClusterView;
  const [worker, other] = [...cluster.workers];
  const [job] = [...cluster.jobs];
  const [stage] = job!.stages;
  const [run] = job!.runs;
  expect([...cluster.workers][0]).toBe(worker);
  expect(run!.worker).toBe(worker);
  expect(run!.stage).toBe(stage);
  expect(worker!.runs).toContain(run);
  expect(stage!.job).toBe(job);
  expect(stage!.declinedBy!.has(other!)).toBe(true);
  expect([...stage!.declinedBy!.keys()]).toEqual([other]);
  expect(worker!.roomFor(stage!.demand)).toBe(3);
  expect(worker!.roomFor(stage!.demand, [run!])).toBe(4);
  expect(stage!.needs.permits(worker!)).toBe(true);
  expect(job!.attainedMs(11)).toBe(10);
  expect(job!.stages.map(({ waiting }) => waiting)).toEqual([3, 1]);
  expect([...job!.stages].sort((a, b) => a.waiting - b.waiting)[0]!.waiting).toBe(1);
  expect(JSON.parse(JSON.stringify(worker!.free))).toEqual([...[...made.workers][0]!.free]);
  expect({ ...worker!.attributes }).toEqual({ zone: 'a' });
  made.setWaiting([...made.jobs][0]!.stages[0]!, 9, 2);
  expect(stage!.waiting).toBe(9);
});

describe('a draft', () => {
  const plan = (act: (cluster: ClusterView, draft: Draft) => void) => {
    const made = books();
    const failed: unknown[] = [];
    const policy = new GuardedPolicy({ update() {}, plan: act }, false, (error) => failed.push(error));
    const draft = new BookedDraft(made, 1, 5);
    policy.plan(made, draft, 5);
    return { draft, failed };
  };

  it('starts tasks by views, and returns views', () => {
    const { draft, failed } = plan((cluster, to) => {
      const [worker] = [...cluster.workers];
      const stage = [...cluster.jobs][0]!.stages[0]!;
      const run = to.start(stage, worker!);
      if (run!.worker !== worker || !worker!.runs.includes(run!)) throw new Error('another identity');
      to.gang([{ stage, worker: worker! }]);
      to.preempt(run!);
      to.expect(stage.job, 7);
    });
    expect(failed).toEqual([]);
    expect(draft.started).toHaveLength(2);
    expect([...draft.preempted]).toHaveLength(1);
  });

  it('starts a task on the CPUs of a task that pauses', () => {
    const { draft, failed } = plan((cluster, to) => {
      const [worker] = [...cluster.workers];
      const { stages } = [...cluster.jobs][0]!;
      const [lender] = worker!.runs;
      while (to.start(stages[0]!, worker!) !== undefined);
      const run = to.start(stages[1]!, worker!, { lenders: [lender!], atMostMs: 1_000 });
      if (lender!.borrower !== run || lender!.pausedMs(25) !== 20) throw new Error('it does not lend');
    });
    expect(failed).toEqual([]);
    expect(draft.started.at(-1)!.lenders).toHaveLength(1);
  });

  it.each<[string, (cluster: ClusterView, draft: Draft) => unknown]>([
    ['a stage of its own', (cluster, to) => to.start({ waiting: 1 } as never, [...cluster.workers][0]!)],
    ['no stage', (cluster, to) => to.start(undefined as never, [...cluster.workers][0]!)],
    ['a copy', (cluster, to) => to.start({ ...[...cluster.jobs][0]!.stages[0]! }, [...cluster.workers][0]!)],
    [
      'a lender of its own',
      (cluster, to) => {
        const stage = [...cluster.jobs][0]!.stages[0]!;
        to.start(stage, [...cluster.workers][0]!, { lenders: [{} as never], atMostMs: 1 });
      },
    ],
    ['a run of its own', (_, to) => to.preempt({ worker: { runs: [] } } as never)],
    ['a job of its own', (_, to) => to.expect({} as never, 7)],
    ['NaN as a time', (_, to) => to.again(Number.NaN)],
    ['NaN as an expected start', (cluster, to) => to.expect([...cluster.jobs][0]!, Number.NaN)],
    [
      'Infinity as an expected start',
      (cluster, to) => to.expect([...cluster.jobs][0]!, Number.POSITIVE_INFINITY),
    ],
  ])('refuses %s', (_, act) => {
    const { failed } = plan(act);
    expect(failed).toEqual([expect.any(InputError)]);
  });
});
