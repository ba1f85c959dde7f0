import {
  type Address,
  type Message,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  Random,
  type Resources,
} from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import {
  type CentralPolicy,
  type ClusterChange,
  makePolicy,
  type RunView,
  type StageView,
} from '@goshawk/policies';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WorkerRecord } from '../cluster/registry.js';
import { need, pull, stageAbout } from '../messages.fixture.js';
import { Dispatcher } from './dispatcher.js';

addPapers();

const [OWNER, OTHER] = [900, 901] as [Address, Address];
const TIMINGS = { retryMs: 1_000, leaseMs: 5_000 };
const LOST_AFTER_MS = 2 * TIMINGS.retryMs;

type RunRecord = MessageOf<'register'>['runs'][number];

/** A dispatcher that settles after each message, as central does at the end of a turn. */
class Bench {
  readonly dispatcher: Dispatcher;
  readonly sent: { to: Address; message: Message }[] = [];
  /** Tasks that arrived, as counted for load shedding. */
  arrived = 0;
  readonly ignored: string[] = [];
  now: Millis = 0;

  constructor(
    workers: number,
    slots = 1,
    policy: CentralPolicy | string = 'goshawk',
    reserve = 0,
    lend: 'all' | 'none' = 'all',
  ) {
    const random = Random.seeded('dispatcher');
    const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve, lend, random: () => random.next() };
    const env = {
      random: () => random.next(),
      send: (to: Address, message: Message) => this.sent.push({ to, message }),
      setTimer() {},
      clearTimer() {},
      nameOf: String,
    };
    const made = typeof policy === 'string' ? makePolicy(policy, {}, context) : policy;
    const host = {
      tasksArrived: (tasks: number) => {
        this.arrived += tasks;
      },
      nameIfUnknown: () => undefined,
      ignores: (worker: string, [first]: readonly string[]) => this.ignored.push(`${worker} ${first}`),
    };
    this.dispatcher = new Dispatcher(env, made, TIMINGS, host, policy !== 'gs');
    for (let at = 0; at < workers; at++) {
      this.open(at, slots);
      this.pull(at, { free: slots });
    }
  }

  open(at: number, slots = 1, open = true, capacity: Resources = NO_RESOURCES, places = slots): void {
    const record = {
      address: at as Address,
      name: `w${at}`,
      row: at,
      slots,
      places,
      capacity,
      attributes: [] as const,
    };
    this.dispatcher.setOpen(record as Partial<WorkerRecord> as WorkerRecord, open);
    this.settle();
  }

  found(at: number, runs: readonly Partial<RunRecord>[]): void {
    const one = {
      owner: OWNER,
      job: 1,
      stage: 0,
      task: 0,
      attempt: 1,
      long: false,
      estimateMs: 0,
      queued: false,
      elapsedMs: 500,
      match: 1,
    };
    const all = runs.map((run) => ({ ...one, demand: NO_RESOURCES, ...run }));
    this.dispatcher.addReported(at as Address, all, this.now);
    this.settle();
  }

  pull(at: number, fields: Partial<MessageOf<'pull'>> = {}): void {
    this.dispatcher.pulled(at as Address, pull(fields), this.now);
    this.settle();
  }

  need(job: number, fields: Parameters<typeof need>[1] = {}, owner = OWNER): void {
    this.dispatcher.needed(owner, need(job, fields), this.now);
    this.settle();
  }

  unused(at: number, match: number): void {
    this.dispatcher.unused(OWNER, { type: 'unused', worker: at as Address, match }, this.now);
    this.settle();
  }

  settle(): void {
    this.dispatcher.settle(this.now);
    this.dispatcher.checkInvariants();
  }

  /** Matches sent to owners since the last call, as `job@worker#match`. */
  taken(): string[] {
    return this.sent
      .splice(0)
      .flatMap(({ message }) =>
        message.type === 'matched'
          ? message.workers.map(({ worker, match }) => `${message.job}@${worker}#${match}`)
          : [],
      );
  }

  running(job: number, owner = OWNER): number {
    return this.dispatcher.books.job(owner, job)?.running ?? 0;
  }
}

describe('a need', () => {
  test('takes idle workers, each once, and waits for the rest', () => {
    const bench = new Bench(3);
    bench.need(1, { tasks: 5 });
    expect(bench.taken().sort()).toEqual(['1@0#1', '1@1#1', '1@2#1']);
    expect(bench.dispatcher.waitingTasks).toBe(2);
    bench.pull(1, { heard: [1] });
    expect(bench.taken()).toEqual(['1@1#2']);
  });

  test('that is repeated counts the matches in flight to its owner', () => {
    const bench = new Bench(2);
    bench.need(1, { tasks: 5 });
    bench.need(1, { tasks: 5, matches: 0 });
    expect(bench.dispatcher.waitingTasks).toBe(3);
    bench.need(1, { tasks: 4, matches: 2 });
    expect(bench.dispatcher.waitingTasks).toBe(4);
  });

  test('that describes its job replaces the weight and the ended tasks that central knew', () => {
    const bench = new Bench(0);
    bench.need(1, { tasks: 5, jobTasks: 5, user: 'ann' });
    const job = bench.dispatcher.books.job(OWNER, 1)!;
    const [stage] = job.stages;
    stage!.ended = 3;
    job.weight = 8;
    bench.need(1, { tasks: 5, jobTasks: 5, user: 'ann' });
    const { tasks, ended } = stage!;
    expect({ user: job.user, weight: job.weight, tasks, ended }).toEqual({
      user: 'ann',
      weight: 1,
      tasks: 5,
      ended: 0,
    });
  });

  test('of fractions shares a CPU, beside tasks that need none', () => {
    const bench = new Bench(0);
    bench.open(0, 1, true, { cpu: 1, gpu: 1 }, 16);
    bench.pull(0, { free: 16, spare: { cpu: 1, gpu: 1 } });
    bench.need(1, { tasks: 3, demand: { cpu: 0.5 } });
    expect(bench.taken()).toEqual(['1@0#1', '1@0#2']);
    bench.need(2, { demand: { gpu: 1 } });
    expect(bench.taken()).toEqual(['2@0#3']);
    const line = bench.dispatcher.line(undefined, bench.now);
    expect(line).toMatchObject({ slots: 1, freeSlots: 0, unmatched: 1 });
  });

  test('that is repeated much later does not count lost matches', () => {
    const bench = new Bench(1);
    bench.need(1, { tasks: 2 });
    bench.now = 5_000;
    bench.need(1, { tasks: 2, matches: 0 });
    expect(bench.dispatcher.waitingTasks).toBe(2);
  });

  test('of zero tasks is dropped, and withdrawing a job drops its needs', () => {
    const bench = new Bench(0);
    bench.need(1, { tasks: 5 });
    bench.need(1, { tasks: 0 });
    bench.need(2, { tasks: 2 });
    expect(bench.dispatcher.waitingTasks).toBe(2);
    bench.dispatcher.withdraw(OWNER, 2, 0);
    bench.settle();
    expect([...bench.dispatcher.books.jobs]).toEqual([]);
  });
});

describe('a worker', () => {
  test('that its owner returns serves the next need, once', () => {
    const bench = new Bench(1);
    bench.need(1);
    bench.need(2);
    bench.unused(0, 1);
    expect(bench.taken()).toEqual(['1@0#1', '2@0#2']);
    bench.unused(0, 1);
    bench.need(3);
    expect(bench.taken()).toEqual([]);
  });

  test('keeps a running match if its owner returns it too late', () => {
    const bench = new Bench(1);
    bench.need(1);
    bench.pull(0, { heard: [1], free: 0, runs: [1] });
    bench.need(2);
    bench.taken();
    bench.unused(0, 1);
    expect([bench.taken(), bench.running(1)]).toEqual([[], 1]);
  });

  test('with several slots is matched once per free slot, even if it pulls before the match arrives', () => {
    const bench = new Bench(1, 4);
    bench.need(1, { tasks: 10 });
    expect(bench.taken()).toHaveLength(4);
    const pull = { heard: [1, 2, 3, 4], free: 2, runs: [3, 4] };
    bench.pull(0, pull);
    expect(bench.taken()).toEqual(['1@0#5', '1@0#6']);
    bench.pull(0, pull);
    expect(bench.taken()).toEqual([]);
  });

  test('that reports more free resources than it has gets no more than fits its capacity', () => {
    const bench = new Bench(0);
    bench.open(0, 1, true, { memory: 100 });
    const lie = { free: 64, spare: { cpu: 64, memory: 900, gpu: 8 } };
    bench.pull(0, lie);
    for (const demand of [{ memory: 101 }, { gpu: 1 }, { cpu: 2 }]) bench.need(1, { demand });
    expect(bench.taken()).toEqual([]);
    bench.need(2, { tasks: 9 });
    bench.pull(0, lie);
    expect(bench.taken()).toEqual(['2@0#1']);
  });

  test('that drains, is lost, or is unknown gets nothing', () => {
    const bench = new Bench(2);
    bench.open(0, 1, false);
    bench.dispatcher.removeWorker(1 as Address, bench.now);
    bench.pull(7);
    bench.need(1, { tasks: 2 });
    expect(bench.taken()).toEqual([]);
  });

  test('that has not acknowledged a match is checked at intervals', () => {
    const bench = new Bench(1);
    bench.need(7);
    bench.sent.length = 0;
    expect(bench.dispatcher.isStale(0 as Address, 0, 1_000)).toBe(false);
    expect(bench.dispatcher.isStale(0 as Address, 0, LOST_AFTER_MS)).toBe(true);
    bench.now = LOST_AFTER_MS;
    bench.pull(0);
    bench.pull(0);
    expect(bench.sent).toEqual([{ to: OWNER, message: { type: 'checkMatch', job: 7, worker: 0, match: 1 } }]);
  });

  test('that is full reports again if it has fewer tasks than central counts', () => {
    const stale = (bench: Bench, at: number) => bench.dispatcher.isStale(at as Address, 1, bench.now);
    const bench = new Bench(0);
    bench.open(0);
    // The loan has ended before its borrower, so that both use the slot.
    bench.found(0, [{ match: 1 }, { task: 1, match: 2, lenders: [] }]);
    expect([bench.running(1), bench.dispatcher.isStale(0 as Address, 2, 0), stale(bench, 0)]).toEqual([
      2,
      false,
      true,
    ]);
    bench.pull(0, { heard: [], free: 0, runs: [2] });
    expect([bench.running(1), stale(bench, 0)]).toEqual([1, false]);
    // A slot announced too early: the worker has declined the second match, unless that is in flight.
    bench.open(1);
    bench.pull(1);
    bench.need(2);
    bench.pull(1, { heard: [1] });
    bench.need(3);
    bench.pull(1, { heard: [1], free: 0, runs: [1] });
    expect([bench.running(2), bench.running(3), stale(bench, 1)]).toEqual([1, 1, false]);
    bench.now = LOST_AFTER_MS;
    expect(stale(bench, 1)).toBe(true);
    bench.pull(1, { heard: [1, 2], free: 0, runs: [1] });
    expect([bench.running(3), stale(bench, 1)]).toEqual([0, false]);
  });

  test('that is lost loses its runs, and continues the numbers of its matches when it returns', () => {
    const bench = new Bench(1);
    bench.need(1);
    bench.pull(0, { heard: [1], free: 0, runs: [1] });
    bench.dispatcher.removeWorker(0 as Address, bench.now);
    bench.settle();
    expect(bench.running(1)).toBe(0);
    bench.taken();
    bench.open(0);
    bench.need(1, { matches: 1 });
    expect(bench.taken()).toEqual([]);
    bench.pull(0, { heard: [1] });
    expect(bench.taken()).toEqual(['1@0#2']);
  });

  test('that returns with its runs has them in the books once', () => {
    const bench = new Bench(1);
    bench.need(1, { tasks: 2 });
    bench.pull(0, { heard: [1], free: 0, runs: [1] });
    bench.dispatcher.removeWorker(0 as Address, bench.now);
    bench.open(0);
    bench.found(0, [{ match: 1 }]);
    bench.found(0, [{ match: 1 }]);
    bench.taken();
    bench.pull(0, { heard: [1], free: 0, runs: [1] });
    expect([bench.running(1), bench.taken()]).toEqual([1, []]);
    bench.pull(0, { heard: [1], free: 1 });
    expect(bench.taken()).toEqual(['1@0#2']);
  });

  test('that returns with its runs does not make a long job short again', () => {
    for (const match of [1, 0]) {
      const bench = new Bench(1);
      const job = bench.dispatcher.books.declare(OWNER, 1, { arrivedAt: 0, long: true, isDeclared: true });
      bench.dispatcher.removeWorker(0 as Address, bench.now);
      bench.open(0);
      bench.found(0, [{ match, long: false }]);
      expect([job.running, job.long]).toEqual([1, true]);
    }
  });
});

describe('a new central', () => {
  test('records the runs that workers report, and keeps the reserve accordingly', () => {
    const bench = new Bench(0, 1, 'goshawk', 0.2, 'none');
    for (let at = 0; at < 10; at++) {
      bench.open(at);
      if (at < 8) bench.found(at, [{ match: 5, long: true, elapsedMs: 0 }]);
    }
    expect([bench.running(1), bench.dispatcher.books.runCount]).toEqual([8, 8]);
    bench.need(2, { long: true, tasks: 5 });
    for (const at of [8, 9]) bench.pull(at);
    expect(bench.taken()).toEqual([]);
    bench.pull(0, { heard: [5] });
    expect(bench.taken()).toHaveLength(1);
    expect([bench.running(1), bench.running(2)]).toEqual([7, 1]);
    bench.need(3, { tasks: 2 });
    expect(bench.running(3)).toBe(2);
  });

  test('forgets a task that a draining worker has run without reporting it', () => {
    const bench = new Bench(1);
    bench.need(1);
    expect(bench.running(1)).toBe(1);
    bench.open(0, 1, false);
    // Only confirmed runs end when a worker reports that it runs nothing.
    bench.dispatcher.idle(0 as Address, 0, bench.now);
    expect(bench.running(1)).toBe(1);
    bench.now += LOST_AFTER_MS;
    bench.sent.length = 0;
    bench.dispatcher.drained(0 as Address, bench.now);
    expect(bench.sent.map(({ to, message }) => [to, message.type])).toEqual([[OWNER, 'checkMatch']]);
    bench.unused(0, 1);
    expect([bench.running(1), bench.dispatcher.books.runCount]).toEqual([0, 0]);
  });

  test('knows the CPUs that the tasks at a worker request', () => {
    const bench = new Bench(1, 8);
    bench.found(0, [
      { match: 1, demand: { cpu: 4 } },
      { job: 2, match: 2, long: true },
    ]);
    expect(bench.dispatcher.loadAt(0 as Address)).toEqual({ tasks: 2, long: 1, cpus: 5 });
  });

  test('counts existing runs in the share of each queue', () => {
    for (const runs of [10, 0]) {
      const bench = new Bench(0, 1, 'gs');
      for (let at = 0; at < 11; at++) {
        bench.open(at);
        if (at < runs) bench.found(at, [{}]);
      }
      bench.need(1, { tasks: 1_000 });
      bench.need(2, { tasks: 1_000, estimateMs: 5_000, jobTasks: 1_000 });
      bench.pull(10);
      expect(bench.taken()).toEqual([runs === 10 ? '2@10#1' : '1@10#1']);
    }
  });
});

describe('an owner that leaves', () => {
  test('frees the workers in flight to it once they report', () => {
    const bench = new Bench(2);
    bench.need(1, { tasks: 3 }, OTHER);
    bench.pull(0, { heard: [1], free: 0, runs: [1] });
    bench.need(2, { tasks: 3 });
    bench.taken();
    bench.dispatcher.removeOwner(OTHER, 0);
    bench.settle();
    // Running tasks continue, since their owner may return.
    expect([bench.running(1, OTHER), bench.dispatcher.waitingTasks]).toEqual([2, 3]);
    expect(bench.dispatcher.isStale(1 as Address, 0, 0)).toBe(true);
    bench.pull(1);
    expect(bench.taken()).toEqual(['2@1#2']);
    bench.pull(0, { heard: [1] });
    expect(bench.taken()).toEqual(['2@0#2']);
  });

  test('keeps the runs of workers that were full and have not reported since', () => {
    const bench = new Bench(1, 2);
    bench.need(1, { tasks: 2 }, OTHER);
    bench.dispatcher.removeOwner(OTHER, 0);
    bench.settle();
    bench.pull(0, { heard: [1, 2], free: 1, runs: [2] });
    expect(bench.running(1, OTHER)).toBe(1);
  });
});

describe('a slot that was announced as free too early', () => {
  test('keeps its run in the books', () => {
    const bench = new Bench(1, 2);
    const { books } = bench.dispatcher;
    bench.need(1, { tasks: 1 });
    books.declare(OWNER, 1, { arrivedAt: 0, user: 'ann' });
    bench.pull(0, { heard: [1], free: 1, runs: [1] });
    bench.now = 500;
    bench.pull(0, { heard: [1], free: 2, runs: [] });
    bench.need(2);
    expect([bench.running(1), bench.taken()]).toEqual([0, ['1@0#1', '2@0#2']]);
    // The task of the second match arrived and was returned, because the first one still runs.
    bench.now = 510;
    bench.pull(0, { heard: [1, 2], free: 1, runs: [1] });
    expect([bench.running(1), bench.running(2), books.job(OWNER, 1)?.user]).toEqual([1, 0, 'ann']);
    const [run] = books.job(OWNER, 1)!.runs;
    expect([run?.startedAt, books.job(OWNER, 1)?.attained]).toEqual([0, 0]);
    bench.now = 900;
    bench.pull(0, { heard: [1, 2], free: 2, runs: [] });
    expect(bench.running(1)).toBe(0);
  });
});

describe('a job that its owner declares', () => {
  const stage = stageAbout();
  const declare = (bench: Bench, job: number, more: Parameters<typeof need>[1] = {}) => {
    const jobTasks = (more.stages ?? [stage]).reduce((sum, { tasks }) => sum + tasks, 0);
    bench.need(job, { tasks: 0, jobTasks, user: 'ann', weight: 2, stages: [stage], ...more });
  };
  /** What waits of a job that central knows. */
  const known = { about: undefined };

  /** Starts waiting tasks, highest job number first, and preempts a run of the first job if a later job waits. */
  class Preempting implements CentralPolicy {
    readonly changes: ClusterChange[] = [];

    update(changes: readonly ClusterChange[]): void {
      this.changes.push(...changes);
    }

    plan(...[cluster, draft]: Parameters<CentralPolicy['plan']>): void {
      const jobs = [...cluster.jobs].sort((one, other) => other.number - one.number);
      const stages: StageView[] = jobs.flatMap((job) => [...job.stages]).filter(({ waiting }) => waiting > 0);
      for (const of of stages)
        for (const worker of cluster.workers)
          if (worker.free[0]! > 0 && of.waiting > 0) draft.start(of, worker);
      const victims: RunView[] = jobs.flatMap((job) => (job.number === 1 ? [...job.runs] : []));
      if (stages.some(({ waiting, job }) => waiting > 0 && job.number > 1)) draft.preempt(victims[0]!);
    }
  }

  test('runs on the CPUs of its parent, which a declaration or a need names, also after a restart of central', () => {
    const named = (match: number, job = '1') => ({ parent: { job, task: 0, worker: 'w0', match } });
    const borrowed = (bench: Bench) =>
      bench.sent
        .splice(0)
        .flatMap(({ message }) =>
          message.type === 'matched' ? message.workers.map(({ borrows }) => borrows) : [],
        );
    const bench = new Bench(1);
    bench.need(1, { user: 'ann' });
    declare(bench, 2, named(1));
    bench.now = 500;
    bench.sent.length = 0;
    bench.need(2, known);
    expect(borrowed(bench)).toEqual([{ lenders: [1], parent: { job: '1', task: 0 } }]);
    bench.need(3, { user: 'ann', ...named(2, '2') });
    expect(borrowed(bench)).toEqual([{ lenders: [2], parent: { job: '2', task: 0 } }]);
    bench.need(4, { user: 'ben', ...named(3, '3') });
    expect(borrowed(bench)).toEqual([]);

    const next = new Bench(1);
    const held = (match: number) => ({ match, job: match, lenders: [match - 1], shares: true });
    next.found(0, [
      held(3),
      { match: 1 },
      held(2),
      { match: 5, job: 5, lenders: [4], shares: true },
      held(4),
    ]);
    const { runs } = next.dispatcher.books.worker(0 as Address)!;
    const chain = runs.map(({ match, lenders }) => [match, ...lenders.map((lender) => lender.match)]);
    expect(chain).toEqual([[1], [2, 1], [3, 2], [4, 3], [5, 4]]);
    for (const job of [1, 2, 3, 4, 5]) next.need(job, { user: 'ann', tasks: 0 });
    next.need(6, { user: 'ann', ...named(5, '5') });
    expect(borrowed(next)).toEqual([{ lenders: [5], parent: { job: '5', task: 0 } }]);
    // Without a match, a parent is known by its task, which the worker has reported.
    const other = new Bench(1);
    other.found(0, [{ match: 9 }]);
    other.need(1, { user: 'ann', tasks: 0 });
    other.need(2, { user: 'ann', ...named(0) });
    expect(borrowed(other)).toEqual([{ lenders: [9], parent: { job: '1', task: 0 } }]);
  });

  test.each([
    ['the same lender twice', { lenders: [1, 1] }, [2, 1]],
    ['the same parent twice', { lenders: [1, 1], shares: true }, [2, 1]],
    ['two parents', { lenders: [1, 3], shares: true }, [2]],
  ])('a report of a run with %s leaves the books right', (_, wrong, borrowed) => {
    const bench = new Bench(1, 4);
    bench.found(0, [{ match: 1 }, { match: 3, job: 3 }, { match: 2, job: 2, ...wrong }]);
    const { runs } = bench.dispatcher.books.worker(0 as Address)!;
    const run = runs.find(({ match }) => match === 2)!;
    expect([run.match, ...run.lenders.map(({ match }) => match)]).toEqual(borrowed);
    bench.dispatcher.checkInvariants();
  });

  test('lends CPUs unless its owner says otherwise, in a declaration or a need', () => {
    const bench = new Bench(1);
    const mayLend = (job: number) => bench.dispatcher.books.job(OWNER, job)!.stages[0]!.mayLend;
    declare(bench, 1);
    declare(bench, 2, { lend: false, stages: [{ ...stage, lend: false }] });
    bench.need(3);
    bench.need(4, { lend: false });
    expect([1, 2, 3, 4].map(mayLend)).toEqual([true, false, true, false]);
    bench.need(2, { ...known, lend: false });
    expect(mayLend(2)).toBe(false);
  });

  test('has not changed when it is repeated, with any delay', () => {
    const policy = new Preempting();
    const bench = new Bench(1, 1, policy);
    const declared = { deadlineMs: 2_000, stages: [{ ...stage, distribution: [{ from: 1, to: 2, p: 1 }] }] };
    declare(bench, 1, declared);
    policy.changes.length = 0;
    bench.now = 530;
    declare(bench, 1, { ...JSON.parse(JSON.stringify(declared)), ageMs: 500 });
    expect(policy.changes).toEqual([]);
    expect(bench.dispatcher.books.job(OWNER, 1)!.deadlineAt).toBe(2_000);
    declare(bench, 1, {
      ...declared,
      ageMs: 500,
      stages: [{ ...stage, distribution: [{ from: 1, to: 3, p: 1 }] }],
    });
    expect(policy.changes).toMatchObject([{ kind: 'waiting' }]);
  });

  test('counts its tasks as arrived once, like those of undeclared jobs', () => {
    const bench = new Bench(2);
    declare(bench, 1, { stages: [{ ...stage, tasks: 5 }] });
    for (const job of [1, 2]) {
      bench.need(job, { tasks: 5, ...(job === 1 && known) });
      bench.need(job, { tasks: 5, matches: 0, ...known });
      bench.need(job, { tasks: 3, matches: 2, ...known });
    }
    bench.need(3, { tasks: 7, long: true });
    expect(bench.arrived).toBe(10);
  });

  test('is in the books with all its fields until it is withdrawn', () => {
    const bench = new Bench(1, 1, new Preempting());
    bench.now = 1_000;
    const second = { ...stage, after: [0], tasks: 3, ended: 1 };
    declare(bench, 1, { ageMs: 400, deadlineMs: 2_000, stages: [stage, second] });
    const job = bench.dispatcher.books.job(OWNER, 1)!;
    expect(job).toMatchObject({ user: 'ann', weight: 2, arrivedAt: 600, deadlineAt: 2_600, tasks: 5 });
    expect(job.stages.map(({ after, tasks, ended }) => ({ after, tasks, ended }))).toEqual([
      { after: [], tasks: 2, ended: 0 },
      { after: [0], tasks: 3, ended: 1 },
    ]);
    declare(bench, 1, { ageMs: 400, deadlineMs: 2_000, stages: [stage, { ...second, ended: 2 }] });
    expect(job.stages[1]!.ended).toBe(2);
    bench.dispatcher.withdraw(OWNER, 1, 0);
    bench.settle();
    expect(bench.dispatcher.books.job(OWNER, 1)).toBeUndefined();
  });

  test('can have a run preempted: its owner gets one request, and the slot is free after the run ends', () => {
    const policy = new Preempting();
    const bench = new Bench(1, 1, policy);
    for (const job of [1, 2]) declare(bench, job);
    bench.need(1);
    bench.pull(0, { heard: [1], free: 0, runs: [1] });
    bench.sent.length = 0;
    bench.need(2);
    bench.need(2);
    expect(bench.sent).toEqual([{ to: OWNER, message: { type: 'preempt', job: 1, worker: 0, match: 1 } }]);
    bench.taken();
    bench.pull(0, { heard: [1] });
    expect(bench.taken()).toEqual(['2@0#2']);
    expect(bench.dispatcher.preemptions).toBe(1);
    expect(policy.changes.filter(({ kind }) => kind === 'ended')).toMatchObject([{ how: 'preempted' }]);
  });
});

test('matches fit the free part of each GPU that the worker reports', () => {
  const bench = new Bench(0);
  bench.open(1, 9, true, { gpu: 3 });
  bench.pull(1, { free: 9, spare: { gpu: 1.4 }, gpuParts: [0.4, 0.3] });
  bench.need(1, { tasks: 2, demand: { gpu: 0.6 } });
  expect(matchesIn(bench)).toBe(1);
  bench.need(2, { tasks: 9, demand: { gpu: 0.3 } });
  // 0.4, 0.3 and the rest of the GPU that the first task uses partly.
  expect(matchesIn(bench)).toBe(3);
  bench.pull(1, { free: 9, spare: { gpu: 3 }, heard: [1, 2, 3, 4] });
  expect(matchesIn(bench)).toBeGreaterThan(0);
});

test.each([
  [[0, 0, 1, 1], 1],
  [[0, 1, 0, 1], 0],
])('tasks free a whole GPU together if the worker reports that they share one: %j', (indices, room) => {
  const bench = new Bench(0);
  bench.open(1, 9, true, { gpu: 2 });
  bench.pull(1, { free: 9, spare: { gpu: 2 } });
  bench.need(1, { tasks: 4, demand: { gpu: 0.5 } });
  const matches = [1, 2, 3, 4];
  const gpus = indices.map((gpu, index) => ({ match: matches[index]!, gpu, amount: 0.5 }));
  for (const reported of [undefined, gpus])
    bench.pull(1, { heard: matches, free: 5, spare: { gpu: 0 }, runs: matches, gpus: reported });
  const { books } = bench.dispatcher;
  const worker = books.worker(1 as Address)!;
  const ending = worker.runs.filter(({ match }) => match <= 2);
  expect(worker.roomFor(books.names.demandOf({ gpu: 1 }), ending)).toBe(room);
  // Contradicts the free amount, so it is ignored.
  bench.pull(1, { heard: matches, free: 5, spare: { gpu: 0 }, runs: matches, gpus: gpus.slice(1) });
  expect(worker.roomFor(books.names.demandOf({ gpu: 1 }), ending)).toBe(0);
});

test('the overview names the oldest job that waits without a limit, not one that a limit holds', () => {
  const bench = new Bench(0, 1, 'goshawk');
  bench.open(1, 4);
  bench.pull(1, { free: 0, spare: { cpu: 0 } });
  bench.need(1, { tasks: 6, gang: true });
  // Its owner reports another reason: no worker has the attribute.
  bench.need(3, { tasks: 2, requires: [{ name: 'rack', value: 'r9' }] });
  bench.need(4, { tasks: 7, part: 'early' });
  bench.need(2, { tasks: 9 });
  const { limited = [] } = bench.dispatcher.line(undefined, bench.now);
  expect(limited.map(({ reason, tasks, example }) => [reason, tasks, example])).toEqual([
    ['matching', 16, expect.stringMatching(/4$/)],
    ['resources', 6, expect.stringMatching(/1$/)],
  ]);
});

test('the overview names the resource that is busy, and the reserve', () => {
  const bench = new Bench(0, 1, 'goshawk', 0.5);
  bench.open(1, 4, true, { cpu: 4, gpu: 1 });
  bench.pull(1, { free: 4, spare: { cpu: 4, gpu: 1 } });
  bench.need(1, { tasks: 3, demand: { cpu: 1, gpu: 1 } });
  bench.need(2, { tasks: 1, demand: { cpu: 1, gpu: 1 } });
  bench.need(3, { tasks: 5, demand: { cpu: 1 }, long: true, estimateMs: 9_000, lend: false });
  const { limited = [] } = bench.dispatcher.line(undefined, bench.now);
  expect(limited.map(({ class: of, reason, tasks, why }) => ({ class: of, reason, tasks, why }))).toEqual([
    { class: 'short', reason: 'resources', tasks: 3, why: 'no worker has gpu 1 (at most 0) free' },
    { class: 'long', reason: 'reserve', tasks: 3, why: 'long tasks use 2 of at most 2 CPUs' },
  ]);
});

function matchesIn(bench: Bench): number {
  const matched = bench.sent
    .splice(0)
    .flatMap(({ message }) => (message.type === 'matched' ? message.workers : []));
  return matched.length;
}

test('no slot is matched twice, and none stays idle while an acceptable task waits', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('need' as const), tasks: fc.nat(4), long: fc.boolean() }),
    fc.record({
      kind: fc.constantFrom('arrive' as const, 'end' as const, 'unused' as const),
      of: fc.nat(100),
    }),
  );
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 200, size: 'max' }),
      fc.integer({ min: 1, max: 3 }),
      (steps, slots) => {
        const workers = 4;
        const bench = new Bench(workers, slots);
        type Match = { at: number; match: number };
        /** Matches unknown to their worker, and matches that run. */
        const onTheWay: Match[] = [];
        const running: Match[] = [];
        const heard: number[][] = Array.from({ length: workers }, () => []);
        const take = (from: Match[], of: number) => from.splice(of % Math.max(1, from.length), 1)[0];
        const busy = (where: number) => [...onTheWay, ...running].filter(({ at }) => at === where).length;
        for (const [index, action] of steps.entries()) {
          bench.now = index;
          const match =
            action.kind === 'need' ? undefined : take(action.kind === 'end' ? running : onTheWay, action.of);
          if (action.kind === 'need') bench.need(index, { tasks: action.tasks, long: action.long });
          else if (match === undefined) continue;
          else if (action.kind === 'arrive') {
            running.push(match);
            heard[match.at]!.push(match.match);
          } else if (action.kind === 'end') {
            const runs = running.filter(({ at }) => at === match.at).map((run) => run.match);
            bench.pull(match.at, { heard: heard[match.at]!.slice(-slots), free: slots - runs.length, runs });
          } else bench.unused(match.at, match.match);
          for (const { message } of bench.sent.splice(0)) {
            if (message.type !== 'matched') continue;
            for (const { worker, match: number } of message.workers)
              onTheWay.push({ at: worker, match: number });
          }
          for (let at = 0; at < workers; at++) expect(busy(at)).toBeLessThanOrEqual(slots);
          // An owner that has declined a worker may wait for another one.
          const stages = [...bench.dispatcher.books.jobs].flatMap((job) => [...job.stages]);
          if (stages.some(({ waiting, declinedBy }) => waiting > 0 && declinedBy === undefined))
            expect(onTheWay.length + running.length).toBe(workers * slots);
        }
      },
    ),
  );
});

test('why reports the expected start of a job from the policy until that time has passed', () => {
  const policy: CentralPolicy = {
    update() {},
    plan: ({ jobs }, draft, now) => {
      for (const job of jobs) if (now === 0) draft.expect(job, 7_000, 'rack-1');
    },
  };
  const bench = new Bench(1, 1, policy);
  bench.need(1);
  const expected = () =>
    bench.dispatcher.line(bench.dispatcher.books.job(OWNER, 1), bench.now).needs.map((need) => need.expected);
  expect(expected()).toEqual([{ inMs: 7_000, where: 'rack-1' }]);
  bench.now = 7_000;
  expect(expected()).toEqual([undefined]);
});

test('why reports waits of similar jobs once there are enough', () => {
  const bench = new Bench(1, 1);
  const starts = (job: number) =>
    bench.dispatcher.line(bench.dispatcher.books.job(OWNER, job), bench.now).needs.map((need) => need.starts);
  bench.need(1);
  let job = 2;
  const serveNext = () => {
    bench.pull(0, { heard: [job - 1], runs: [job - 1], free: 0 });
    bench.need(job - 1, { tasks: 0, matches: 1 });
    bench.need(job);
    bench.now += 1_000;
    bench.pull(0, { heard: [job - 1] });
    job++;
  };
  serveNext();
  bench.need(5_000);
  expect(starts(5_000)).toEqual([undefined]);
  bench.need(5_000, { tasks: 0 });
  while (job < 2_500) serveNext();
  bench.need(5_000);
  expect(starts(5_000)).toMatchObject([{ p10: 1_000, p50: 1_000, p90: 1_000 }]);
  bench.dispatcher.removeWorker(0 as Address, bench.now);
  expect(starts(5_000)).toEqual([undefined]);
});

test('a run without a slot at its worker leaves nothing in the books', () => {
  const bench = new Bench(1);
  bench.found(0, [{ job: 1, match: 1 }]);
  bench.found(0, [{ job: 2, match: 2 }]);
  expect([...bench.dispatcher.books.jobs].map(({ number }) => number)).toEqual([1]);
});

test('running tasks become long when their job does', () => {
  const bench = new Bench(1);
  bench.need(1);
  bench.pull(0, { heard: [1], runs: [1], free: 0 });
  const before = bench.dispatcher.books.longChanges;
  bench.need(1, { long: true, tasks: 0, matches: 1 });
  expect(bench.dispatcher.books.longChanges).toBeGreaterThan(before);
});

test('an owner’s first estimate holds until pilots end', () => {
  const bench = new Bench(1);
  bench.found(0, [{ job: 1, match: 1, long: true }]);
  const estimated = () => bench.dispatcher.books.job(OWNER, 1)!.stageAt(0)!.estimateMs;
  bench.need(1, { long: true, estimateMs: 9_000, estimateFollows: true });
  expect(estimated()).toBe(9_000);
  bench.need(1, { long: true, estimateMs: 12_000, estimateFollows: true });
  expect(estimated()).toBe(9_000);
  bench.need(1, { long: true, estimateMs: 20_000 });
  expect(estimated()).toBe(20_000);
});

test('only the owner of a run returns it', () => {
  const bench = new Bench(1);
  bench.need(1);
  bench.dispatcher.unused(7 as Address, { type: 'unused', worker: 0 as Address, match: 1 }, bench.now);
  expect(bench.running(1)).toBe(1);
  bench.unused(0, 1);
  expect(bench.running(1)).toBe(0);
});

test('the service of a run on a lost worker counts', () => {
  const bench = new Bench(2);
  bench.need(1, { tasks: 2 });
  bench.now += 500;
  const job = bench.dispatcher.books.job(OWNER, 1)!;
  bench.dispatcher.removeWorker(0 as Address, bench.now);
  expect(job.attained).toBe(500);
});

describe('a restarted owner', () => {
  const NEXT = 77 as Address;

  function restarted() {
    const bench = new Bench(2);
    bench.dispatcher.rehome('t', OWNER, [], bench.now);
    bench.need(1, { tasks: 2 });
    for (const at of [0, 1]) bench.pull(at, { heard: [1], free: 0, runs: [1] });
    bench.dispatcher.removeOwner(OWNER, bench.now);
    bench.dispatcher.rehome('t', NEXT, [OWNER], bench.now);
    bench.sent.length = 0;
    return bench;
  }

  test('has its job once, with its running tasks', () => {
    const bench = restarted();
    bench.need(1, { tasks: 3, jobTasks: 5 }, NEXT);
    expect([...bench.dispatcher.books.jobs].map(({ owner, running }) => [owner.address, running])).toEqual([
      [NEXT, 2],
    ]);
  });

  test('is matched like a new owner', () => {
    const bench = restarted();
    bench.need(1, { tasks: 1, matches: 0 }, NEXT);
    bench.pull(0, { heard: [1], free: 1 });
    expect(bench.taken()).toEqual(['1@0#2']);
    expect(bench.sent.every(({ to }) => to === NEXT)).toBe(true);
  });

  test('gets runs that a worker reports under a former incarnation, before or after it joins', () => {
    const bench = new Bench(2);
    bench.found(0, [{ owner: OWNER, job: 4, match: 1 }]);
    bench.dispatcher.rehome('t', NEXT, [OWNER], bench.now);
    bench.found(1, [{ owner: OWNER, job: 4, match: 1 }]);
    expect([bench.running(4, NEXT), bench.dispatcher.books.job(NEXT, 4)?.owner.address]).toEqual([2, NEXT]);
  });

  test('has one job if workers report its tasks under two of its addresses', () => {
    const bench = new Bench(2);
    bench.found(0, [{ owner: OWNER, job: 4, match: 1 }]);
    bench.found(1, [{ owner: NEXT, job: 4, match: 1 }]);
    bench.dispatcher.rehome('t', NEXT, [OWNER], bench.now);
    bench.settle();
    expect([...bench.dispatcher.books.jobs].map(({ name, running }) => [name, running])).toEqual([
      ['t-4', 2],
    ]);
    for (const at of [0, 1]) bench.pull(at, { heard: [1], free: 1 });
    expect(bench.running(4, NEXT)).toBe(0);
  });

  test.each([OWNER, NEXT])(
    'has no placed task left once a worker reports its end, by the address %i',
    (owner) => {
      const bench = new Bench(1, 1, 'hawk');
      bench.dispatcher.rehome('t', OWNER, [], bench.now);
      bench.dispatcher.place(
        OWNER,
        {
          type: 'place',
          job: 1,
          stage: 0,
          long: true,
          tasks: [{ task: 0, attempt: 1 }],
          estimateMs: 9_000,
          demand: NO_RESOURCES,
          requires: undefined,
        },
        bench.now,
      );
      bench.settle();
      expect(bench.dispatcher.placedTasks).toBe(1);
      bench.dispatcher.removeOwner(OWNER, bench.now);
      bench.dispatcher.rehome('t', NEXT, [OWNER], bench.now);
      const ended = { type: 'placementEnded', owner, job: 1, task: 0, attempt: 1 } as const;
      bench.dispatcher.placementEnded(0 as Address, ended, bench.now);
      expect(bench.dispatcher.placedTasks).toBe(0);
    },
  );

  test('keeps its job if a former incarnation has another job with that number', () => {
    const bench = new Bench(2);
    bench.need(1, {}, NEXT);
    bench.need(1, {}, OWNER);
    bench.dispatcher.rehome('t', NEXT, [OWNER], bench.now);
    bench.settle();
    expect([...bench.dispatcher.books.jobs].map(({ owner, number }) => [owner.address, number])).toEqual([
      [NEXT, 1],
    ]);
  });
});

describe('a worker that registers thousands of tasks', () => {
  const COUNT = 10_000;
  const QUEUED = Array.from({ length: COUNT }, (_, task) => ({ task, match: 0, queued: true }));

  /** Returns how many elements array methods look through or move for each of the tasks. */
  function looksPerTask(act: () => void): number {
    let looks = 0;
    const originals = (['indexOf', 'includes', 'find', 'splice', 'some'] as const).map((name) => {
      const original = Array.prototype[name] as (...args: unknown[]) => unknown;
      const counted = function (this: unknown[], ...args: unknown[]): unknown {
        looks += this.length;
        return original.apply(this, args);
      };
      Object.assign(Array.prototype, { [name]: counted });
      return [name, original] as const;
    });
    act();
    Object.assign(Array.prototype, Object.fromEntries(originals));
    return looks / COUNT;
  }

  test('costs a constant effort per task when it no longer reports them', () => {
    const bench = new Bench(1);
    bench.found(0, QUEUED);
    expect(bench.dispatcher.loadAt(0 as Address).tasks).toBe(COUNT);
    bench.now += 1e9;
    expect(looksPerTask(() => bench.found(0, QUEUED.slice(5, 7)))).toBeLessThan(20);
    expect(bench.dispatcher.loadAt(0 as Address).tasks).toBe(2);
    bench.found(0, []);
    expect(bench.dispatcher.loadAt(0 as Address).tasks).toBe(0);
  });

  test('costs a constant effort per task if others are matched', () => {
    const bench = new Bench(1);
    const matched = QUEUED.map(({ task }) => ({ task, match: task + 1 }));
    expect(looksPerTask(() => bench.found(0, [...QUEUED, ...matched]))).toBeLessThan(20);
  });

  test('costs a constant effort per task if each borrows from the next', () => {
    const bench = new Bench(1);
    const chain = QUEUED.map(({ task }) => ({ task, match: task + 1, lenders: [task + 2] }));
    expect(looksPerTask(() => bench.found(0, chain))).toBeLessThan(20);
  });
});

test('a worker that registers and reports new resources each time adds a limited number, which is reported', () => {
  const bench = new Bench(0);
  const named = (time: number) =>
    Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`r${time}-${at}`, 1]));
  for (let time = 0; time < 20; time++) {
    bench.open(0, 1, true, named(time));
    bench.pull(0, { spare: named(1_000 + time) });
    bench.found(0, [{ job: time, demand: named(2_000 + time) }]);
    bench.dispatcher.removeWorker(0 as Address, 0);
  }
  expect(bench.dispatcher.books.resources).toHaveLength(2 + 32);
  expect(bench.ignored).toEqual(Array.from({ length: 19 }, (_, at) => `w0 r${at + 1}-0`));
  bench.open(1, 1, true, { licence: 1 });
  bench.pull(1, { spare: { licence: 1 } });
  bench.need(50, { demand: { licence: 1 } });
  expect(bench.sent.map(({ message }) => message)).toContainEqual(
    expect.objectContaining({ type: 'matched', job: 50 }),
  );
});
