import { type Address, LIMITS } from '@goshawk/core';
import { thrownKinds, thrownOf } from '@goshawk/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClusterBooks } from './books/books.js';
import { BookedDraft } from './books/draft.js';
import type { CentralPolicy, ClusterView, Draft } from './contract.js';
import { GuardedPolicy } from './guarded.js';

/** Two workers with one slot, and jobs with these numbers of tasks in order of arrival. */
function booksWith(...jobs: number[]): ClusterBooks {
  const books = new ClusterBooks();
  for (const address of [10, 11]) {
    const worker = books.addWorker(address as Address, books.names.capacityOf(1, {}));
    books.setOpen(worker, true);
    books.setFree(worker, [1, 1_000]);
  }
  jobs.forEach((tasks, number) => {
    const job = books.declare(1 as Address, number, { arrivedAt: number, tasks });
    books.setWaiting(books.stage(job, 0, { demand: [1], tasks, estimateMs: 1_000 }), tasks, number);
  });
  return books;
}

function turn(plan: CentralPolicy['plan'], books: ClusterBooks, areAllGangs = false) {
  const thrown: string[] = [];
  const policy = new GuardedPolicy({ update() {}, plan }, areAllGangs, (error) => thrown.push(String(error)));
  const draft = new BookedDraft(books, 1, 5);
  policy.update(books.takeChanges(), 5);
  policy.plan(books, draft, 5);
  const started = draft.started.map(({ stage, worker }) => `${stage.job.number}@${worker.id}`);
  return { policy, draft, thrown, started };
}

const firstOf = (cluster: ClusterView) => ({
  stage: [...cluster.jobs].at(-1)!.stages[0]!,
  worker: [...cluster.workers][0]!,
});

describe('a policy that throws', () => {
  it('any value in any of its functions and fields fails no caller', () => {
    fc.assert(
      fc.property(thrownKinds, fc.boolean(), (kind, isLate) => {
        const thrown = thrownOf(kind);
        const books = booksWith(1, 1);
        let failures = 0;
        const fails = (): never => {
          throw thrown;
        };
        /** Each read of a field throws, or what it returns does. */
        const hostile = new Proxy({}, { get: isLate ? () => fails : fails, ownKeys: fails });
        const results = { line: () => hostile, shares: () => hostile, explain: () => hostile };
        const inner = {
          update: fails,
          plan: fails,
          counters: hostile,
          ...results,
        } as unknown as CentralPolicy;
        const guard = (policy: CentralPolicy) => new GuardedPolicy(policy, false, () => failures++);
        const policy = guard(inner);
        const draft = new BookedDraft(books, 1, 5);
        policy.update(books.takeChanges(), 5);
        policy.plan(books, draft, 5);
        expect(draft.started).toHaveLength(2);
        const [job, other] = [...books.jobs];
        const stage = job!.stages[0]!;
        expect(policy.explain(stage, books, 5)).toBeUndefined();
        const line = policy.line!(5);
        expect(line.comesBefore(stage, other!.stages[0]!)).toBe(false);
        expect([line.keptFor(stage), line.longRunning, line.longLimit, line.lendable, line.reserve]).toEqual([
          0, 0, 0, 0, 0,
        ]);
        const shares = policy.shares!(books);
        expect([shares.by, shares.dueTo(job!)]).toEqual(['job', []]);
        expect(policy.counters).toEqual({ policyFailures: failures });
        failures = 0;
        expect(guard(hostile as CentralPolicy).counters).toEqual({ policyFailures: failures });
      }),
    );
  });

  it('is reported and counted; its starts stand, and other tasks start in order of arrival', () => {
    const { policy, draft, thrown, started } = turn(
      (cluster, to) => {
        const { stage, worker } = firstOf(cluster);
        to.start(stage, worker);
        throw new Error('lost my way');
      },
      booksWith(3, 1),
    );
    expect(thrown).toEqual(['Error: lost my way']);
    expect(started).toEqual(['1@0', '0@1']);
    expect(policy.counters).toEqual({ policyFailures: 1 });
    expect(draft.againAt).toBe(1_005);
  });

  it('in `update` still plans', () => {
    const books = booksWith(1);
    const thrown: unknown[] = [];
    const inner: CentralPolicy = {
      update: () => {
        throw new Error('deaf');
      },
      plan: (cluster, to) => {
        const { stage, worker } = firstOf(cluster);
        to.start(stage, worker);
      },
    };
    const policy = new GuardedPolicy(inner, false, (error) => thrown.push(error));
    const draft = new BookedDraft(books, 1, 5);
    policy.update(books.takeChanges(), 5);
    policy.plan(books, draft, 5);
    expect(thrown).toHaveLength(1);
    expect(draft.started).toHaveLength(1);
  });

  it('in `update` once has missed changes, so all tasks that it leaves waiting start from then on', () => {
    const books = booksWith(1, 1);
    let updates = 0;
    const inner: CentralPolicy = {
      update: () => {
        if (updates++ === 0) throw new Error('deaf');
      },
      plan() {},
    };
    const policy = new GuardedPolicy(inner, false, () => {});
    policy.update(books.takeChanges(), 5);
    policy.update(books.takeChanges(), 6);
    for (const now of [6, 7]) {
      const draft = new BookedDraft(books, 1, now);
      policy.plan(books, draft, now);
      expect(draft.started).toHaveLength(now === 6 ? 2 : 0);
    }
    const job = books.declare(1 as Address, 9, { arrivedAt: 9, tasks: 1 });
    books.setWaiting(books.stage(job, 0, { demand: [1], tasks: 1, estimateMs: 1_000 }), 1, 9);
    const [worker] = [...books.workers];
    books.setFree(worker!, [1, 1_000]);
    policy.update(books.takeChanges(), 9);
    const draft = new BookedDraft(books, 1, 9);
    policy.plan(books, draft, 9);
    expect(draft.started).toHaveLength(1);
  });

  it.each([
    [2, ['0@1', '0@0']],
    [4, ['1@1']],
  ])('has a gang of %i started together if it fits, before later tasks', (tasks, expected) => {
    const books = booksWith(0);
    for (const number of [0, 1]) {
      const job = books.declare(1 as Address, number, { arrivedAt: number, tasks });
      const gang = number === 0;
      const stage = books.stage(job, 0, { demand: [1], tasks: gang ? tasks : 1, estimateMs: 1_000, gang });
      books.setWaiting(stage, gang ? tasks : 1, number);
    }
    const { started, draft } = turn(() => {
      throw new Error('lost my way');
    }, books);
    expect(started).toEqual(expected);
    expect(draft.refused).toBe(0);
  });

  it('under which all tasks are gangs gets no substitute starts', () => {
    const { started, draft } = turn(
      () => {
        throw new Error('lost my way');
      },
      booksWith(2),
      true,
    );
    expect(started).toEqual([]);
    expect(draft.againAt).toBe(1_005);
  });

  it('in explanations, lines and shares leaves them empty', () => {
    const fails = (): never => {
      throw new Error('no words');
    };
    const inner: CentralPolicy = { update() {}, plan() {}, explain: fails, line: fails, shares: fails };
    const policy = new GuardedPolicy(inner, false, () => {});
    const books = booksWith(1);
    const [job] = [...books.jobs];
    const stage = job!.stages[0]!;
    expect(policy.explain(stage, books, 0)).toBeUndefined();
    expect(policy.line!(0).comesBefore(stage, stage)).toBe(false);
    expect([...(policy.shares!(books).dueTo(job!) as number[])]).toEqual([]);
  });
});

describe('its reports are validated:', () => {
  const saying = (inner: Partial<CentralPolicy>) =>
    new GuardedPolicy({ update() {}, plan() {}, ...inner }, false, () => {});

  it('counts, of tasks and workers', () => {
    const line = { kindOf: () => 'planned' as const, comesBefore: () => false, keptFor: () => 1.5 };
    const guarded = saying({ line: () => ({ ...line, longRunning: -1, longLimit: Number.NaN }) }).line!(0);
    const { stage } = firstOf(booksWith(1));
    expect([guarded.keptFor(stage), guarded.longRunning, guarded.longLimit]).toEqual([0, 0, 0]);
  });

  it('sentences of bounded length', () => {
    const books = booksWith(1);
    const { stage } = firstOf(books);
    const policy = saying({ explain: () => ({ reason: 'resources', sentence: 'x'.repeat(5_000) }) });
    expect(policy.explain(stage, books, 0)!.sentence).toHaveLength(LIMITS.lineLengthMax);
  });

  it('shares of existing resources', () => {
    const books = booksWith(1);
    const [job] = books.jobs;
    for (const [due, guarded] of [
      [
        [1, 2, 3],
        [1, 2],
      ],
      [[Number.NaN], []],
    ] as const) {
      const shares = saying({ shares: () => ({ by: 'team' as 'job', dueTo: () => due }) }).shares!(books);
      expect([shares.by, shares.dueTo(job!)]).toEqual(['job', guarded]);
    }
  });
});

describe('each violation of the contract is refused individually', () => {
  it.each<[string, (draft: Draft, cluster: ClusterView) => void, RegExp]>([
    ['a time that is not to come', (draft) => draft.again(5), /again: 5 is not after now/],
    ['no time', (draft) => draft.again(Number.NaN), /again: NaN/],
    ['an expectation of no time', (draft, cluster) => draft.expect([...cluster.jobs][0]!, Number.NaN), /NaN/],
    [
      'an expectation of no place',
      (draft, cluster) => draft.expect([...cluster.jobs][0]!, 9, 7 as unknown as string),
      /expect: 7 is not text/,
    ],
  ])('%s', (_, act, message) => {
    const { thrown } = turn((cluster, draft) => act(draft, cluster), booksWith(1));
    expect(thrown).toEqual([expect.stringMatching(message)]);
  });

  it('a start without free room', () => {
    const { draft, thrown } = turn((cluster, to) => {
      const { stage, worker } = firstOf(cluster);
      expect(to.start(stage, worker)).toBeDefined();
      expect(to.start(stage, worker)).toBeUndefined();
    }, booksWith(2));
    expect([draft.started.length, draft.refused, thrown]).toEqual([1, 1, []]);
  });
});
