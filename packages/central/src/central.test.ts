import {
  type Address,
  type ClientKey,
  type ClusterSettings,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type PolicySettings,
  PRESETS,
  type ReportedRun,
  type Right,
  WORKERS_PER_PAGE,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Central } from './central.js';
import { need, pull, registration } from './messages.fixture.js';

const OWNER = 1 as Address;
const CLIENT = 2 as Address;
const [W1, W2, W3] = [11, 12, 13] as [Address, Address, Address];

/** Wall clock minus the machine's clock. */
const WALL = 1_800_000_000_000;

class Bench {
  readonly central: Central;
  sent: { to: Address; message: Message }[] = [];
  now = 0;

  clientKeyOf: () => ClientKey | undefined = () => undefined;

  constructor(policy: Partial<PolicySettings> = {}) {
    const settings: ClusterSettings = {
      policy: { ...DEFAULT_POLICY, preset: { ...PRESETS.hawk }, ...policy },
      timings: LIVE_TIMINGS,
    };
    const env = {
      random: () => 0.5,
      send: (to: Address, message: Message) => this.sent.push({ to, message }),
      setTimer() {},
      clearTimer() {},
      nameOf: (address: Address) => `party ${address}`,
      clientKeyOf: () => this.clientKeyOf(),
    };
    this.central = new Central({ name: 'central', self: 0 as Address, settings, wallOffsetMs: WALL }, env);
    this.central.start(0);
  }

  receive(from: Address, message: Message): void {
    this.central.receive(from, message, this.now);
    this.central.settle(this.now);
    this.central.checkInvariants();
  }

  register(worker: Address, runs: ReportedRun[] = [], draining = false): void {
    this.receive(worker, registration(`w${worker}`, { runs, draining }));
  }

  enlist(scheduler: Address, tag: string, name = 's', draining = false): void {
    const more = {
      endpoint: '',
      durable: true,
      draining,
      http: undefined,
      epoch: 0,
      adopted: false,
      previousIncarnations: [],
    };
    this.receive(scheduler, { type: 'enlist', name, tag, ...more });
  }

  place(tasks: number, estimateMs = 20_000): void {
    this.enlist(OWNER, 'first');
    this.haveAllJoined();
    const wanted = Array.from({ length: tasks }, (_, task) => ({ task, attempt: 1 }));
    this.receive(OWNER, {
      type: 'place',
      job: 1,
      stage: 0,
      long: true,
      tasks: wanted,
      estimateMs,
      demand: {},
      requires: undefined,
    });
  }

  /** No task is placed before that. */
  haveAllJoined(): void {
    this.now = Math.max(this.now, LIVE_TIMINGS.heartbeatMs);
  }

  take<T extends Message['type']>(type: T): Extract<Message, { type: T }>[] {
    const taken = this.sent.filter(({ message }) => message.type === type).map(({ message }) => message);
    this.sent = [];
    return taken as Extract<Message, { type: T }>[];
  }

  isComplete(): boolean {
    this.receive(CLIENT, { type: 'findSchedulers', request: 1 });
    return this.take('schedulers')[0]!.value.complete;
  }

  partitions(): Record<string, string> {
    this.receive(CLIENT, { type: 'listWorkers', request: 1, from: 0 });
    const { workers } = this.take('workerPage')[0]!.value;
    return Object.fromEntries(workers.map(({ name, partition }) => [name, partition]));
  }
}

const held: ReportedRun = {
  owner: OWNER,
  job: 7,
  task: 0,
  attempt: 1,
  stage: 0,
  match: 0,
  demand: {},
  long: true,
  estimateMs: 30_000,
  queued: false,
  elapsedMs: 1_000,
};

test('a short worker that reports long tasks becomes general, and another worker becomes short', () => {
  const bench = new Bench({ shortPartition: 0.5 });
  bench.register(W1);
  bench.register(W2);
  expect(bench.partitions()).toEqual({ w11: 'general', w12: 'short' });
  bench.register(W2, [held]);
  expect(bench.partitions()).toEqual({ w11: 'short', w12: 'general' });
});

test('a worker that joins with long tasks never becomes short', () => {
  const bench = new Bench({ shortPartition: 0.5 });
  bench.register(W1, [held]);
  bench.register(W2, [{ ...held, task: 1 }]);
  expect(bench.partitions()).toEqual({ w11: 'general', w12: 'general' });
  bench.register(W3);
  expect(bench.partitions()).toEqual({ w11: 'general', w12: 'general', w13: 'short' });
});

test('a short partition that is too small grows when a worker’s long task ends', () => {
  const bench = new Bench({ shortPartition: 0.5 });
  bench.register(W1, [held]);
  bench.register(W2, [{ ...held, task: 1 }]);
  const { owner, job, task, attempt } = held;
  bench.receive(W1, { type: 'placementEnded', owner, job, task, attempt });
  expect(bench.partitions()).toEqual({ w11: 'short', w12: 'general' });
});

test('reports about a placed task count only from its worker', () => {
  const bench = new Bench({ shortPartition: 0 });
  bench.register(W1);
  bench.register(W2);
  bench.place(1);
  const of = { owner: OWNER, job: 1, task: 0, attempt: 1 };
  bench.receive(W2, { type: 'placementStarted', ...of });
  bench.receive(W2, { type: 'placementEnded', ...of });
  expect(bench.central.placedTasks).toBe(1);
  bench.receive(W1, { type: 'placementEnded', ...of });
  expect(bench.central.placedTasks).toBe(0);
});

test('a worker that starts a task without a free slot registers again, because the report of an end was lost', () => {
  const bench = new Bench({ shortPartition: 0 });
  bench.register(W1);
  bench.place(2);
  const of = { owner: OWNER, job: 1, attempt: 1 };
  bench.receive(W1, { type: 'placementStarted', ...of, task: 0 });
  bench.sent = [];
  bench.receive(W1, { type: 'placementStarted', ...of, task: 1 });
  expect(bench.sent).toEqual([{ to: W1, message: { type: 'notRegistered' } }]);
  bench.register(W1, [{ ...held, ...of, task: 1 }]);
  expect(bench.central.placedTasks).toBe(1);
});

test('a worker that reports an unknown run registers again at its next heartbeat, once', () => {
  const bench = new Bench({ preset: PRESETS.goshawk });
  bench.enlist(OWNER, 'first');
  bench.register(W1);
  bench.receive(W1, pull({ free: 0, runs: [5] }));
  bench.sent = [];
  const heartbeat = () => bench.receive(W1, { type: 'heartbeat', busy: 1, queued: 0, used: undefined });
  heartbeat();
  expect(bench.take('notRegistered')).toHaveLength(1);
  bench.register(W1, [{ ...held, match: 5 }]);
  bench.receive(W1, pull({ free: 0, runs: [5] }));
  bench.receive(CLIENT, { type: 'describeShares', request: 1 });
  expect(bench.take('shares')[0]!.value.jobs).toMatchObject([{ id: 'first-7', running: 1 }]);
  heartbeat();
  expect(bench.take('notRegistered')).toEqual([]);
});

test('repeated placements are answered again, with the same worker', () => {
  const bench = new Bench({ shortPartition: 0 });
  bench.register(W1);
  bench.register(W2);
  bench.place(3);
  const first = bench.take('placed');
  bench.now = 2_000;
  bench.place(3);
  expect(bench.take('placed')).toEqual(first);
  expect(bench.central.counters.tasksPlaced).toBe(3);
});

test('a registration overrides the state of a worker, except placements that may be in flight', () => {
  const bench = new Bench({ shortPartition: 0 });
  bench.register(W1, [{ ...held, queued: true }]);
  bench.now = 10_000;
  bench.place(1);
  expect(bench.central.placedTasks).toBe(2);
  bench.now = 10_100;
  bench.register(W1);
  expect(bench.central.placedTasks).toBe(1);
  bench.now += 2 * LIVE_TIMINGS.leaseMs;
  bench.register(W1);
  expect(bench.central.placedTasks).toBe(0);
});

test('a reassigned task is in flight again', () => {
  const bench = new Bench({ shortPartition: 0 });
  bench.register(W1);
  bench.place(1);
  bench.now += 2 * LIVE_TIMINGS.leaseMs;
  bench.receive(W1, { type: 'heartbeat', busy: 0, queued: 1, used: undefined });
  bench.place(1);
  bench.receive(W1, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
  expect(bench.central.placedTasks).toBe(1);
});

test('an idle worker has no tasks except those in flight to it', () => {
  const bench = new Bench({ shortPartition: 0 });
  bench.register(W1);
  bench.place(2);
  bench.receive(W1, { type: 'placementStarted', owner: OWNER, job: 1, task: 0, attempt: 1 });
  bench.now = 1_000;
  bench.receive(W1, { type: 'heartbeat', busy: 1, queued: 1, used: undefined });
  expect(bench.central.placedTasks).toBe(2);
  bench.receive(W1, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
  expect(bench.central.placedTasks).toBe(1);
  bench.now = 1_000 + LIVE_TIMINGS.leaseMs;
  bench.receive(W1, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
  expect(bench.central.placedTasks).toBe(0);
});

test('a policy without placement still places tasks named under an earlier policy', () => {
  for (const first of ['held', 'place'] as const) {
    const bench = new Bench({ preset: { ...PRESETS.sparrow } });
    bench.register(W1);
    bench.register(W2);
    bench.register(W3, first === 'held' ? [held] : []);
    bench.sent = [];
    bench.place(2);
    const to = bench.sent.filter(({ message }) => message.type === 'assign').map((sent) => sent.to);
    expect(to).toEqual([W1, W2]);
    if (first === 'place') bench.register(W3, [held]);
    expect(bench.central.placedTasks).toBe(3);
  }
});

test('a late report of an older attempt has no effect', () => {
  const bench = new Bench({ shortPartition: 0 });
  bench.register(W1);
  bench.enlist(OWNER, 'first');
  bench.haveAllJoined();
  const place = (attempt: number): void =>
    bench.receive(OWNER, {
      type: 'place',
      job: 1,
      stage: 0,
      long: true,
      tasks: [{ task: 0, attempt }],
      estimateMs: 20_000,
      demand: {},
      requires: undefined,
    });
  place(2);
  bench.take('placed');
  place(1);
  expect(bench.sent).toEqual([]);
  expect(bench.central.placedTasks).toBe(1);
});

test('a suspended central gives members time to report again', () => {
  const bench = new Bench();
  bench.register(W1);
  bench.now = 60_000;
  bench.central.wake('lease', 0, bench.now);
  expect(bench.central.status(bench.now).workers).toHaveLength(1);
  bench.now += LIVE_TIMINGS.heartbeatMs;
  for (; bench.now < 70_000; bench.now += LIVE_TIMINGS.heartbeatMs) bench.central.wake('lease', 0, bench.now);
  expect(bench.central.status(bench.now).workers).toHaveLength(0);
});

test('a suspended central does not count its suspension as absence of disconnected owners', () => {
  const bench = new Bench();
  const enlist: Message = {
    type: 'enlist',
    name: 's',
    tag: 's',
    endpoint: '',
    durable: true,
    draining: false,
    http: undefined,
    epoch: 0,
    adopted: false,
    previousIncarnations: [],
  };
  const lostOwners = (): unknown[] => {
    bench.central.wake('publish', 0, bench.now);
    return bench.take('peers').flatMap(({ ownersLost }) => ownersLost);
  };
  bench.receive(OWNER, enlist);
  bench.register(W1);
  const beatFor = (ms: number): void => {
    for (const until = bench.now + ms; bench.now < until; bench.now += LIVE_TIMINGS.heartbeatMs) {
      bench.receive(W1, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
      bench.central.wake('lease', 0, bench.now);
    }
  };
  beatFor(60_000);
  expect(bench.central.status(bench.now).schedulers).toBe(0);
  expect(lostOwners()).toEqual([]);
  bench.now += 3_600_000;
  beatFor(60_000);
  expect(lostOwners()).toEqual([]);
  beatFor(600_000);
  expect(lostOwners()).toEqual([OWNER]);
});

test('central reports an incomplete view for one lease after its start', () => {
  const bench = new Bench();
  expect(bench.isComplete()).toBe(false);
  bench.now = LIVE_TIMINGS.leaseMs;
  expect(bench.isComplete()).toBe(true);
});

test('pages of workers list each permanent member exactly once', () => {
  const bench = new Bench();
  const all = Array.from({ length: 2_500 }, (_, index) => (1_000 + index) as Address);
  for (const worker of all) bench.register(worker);
  const listed: string[] = [];
  for (let from: number | undefined = 0; from !== undefined; ) {
    bench.receive(CLIENT, { type: 'listWorkers', request: 1, from });
    const { workers, next }: MessageOf<'workerPage'>['value'] = bench.take('workerPage')[0]!.value;
    expect(workers.length).toBeLessThanOrEqual(WORKERS_PER_PAGE);
    listed.push(...workers.map(({ name }) => name));
    // Between any two pages, one listed worker leaves and one joins.
    bench.receive(all[listed.length - 1]!, { type: 'leave' });
    bench.register((10_000 + listed.length) as Address);
    from = next;
  }
  const stayed = all.map((worker) => `w${worker}`);
  expect(listed.filter((name) => stayed.includes(name)).sort()).toEqual(stayed.sort());
});

test('a heartbeat of an unknown party is answered with `notRegistered`', () => {
  const bench = new Bench();
  bench.receive(W1, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
  expect(bench.take('notRegistered')).toHaveLength(1);
});

describe('workers that may ask schedulers for tasks', () => {
  const owners = (bench: Bench) =>
    bench.take('peers').map(({ owners, ownersLost }) => ({ owners, ownersLost }));
  const enlist = (bench: Bench, scheduler: Address, name = `s${scheduler}`) =>
    bench.receive(scheduler, {
      type: 'enlist',
      name,
      tag: name,
      endpoint: '',
      durable: false,
      draining: false,
      http: undefined,
      epoch: 0,
      adopted: false,
      previousIncarnations: [],
    });
  const publish = (bench: Bench) => bench.central.wake('publish', 0, bench.now);

  test('receive current, new and departed members', () => {
    const bench = new Bench({ preset: { ...PRESETS['goshawk-peer'] } });
    enlist(bench, OWNER);
    bench.register(W1);
    publish(bench);
    expect(owners(bench)).toEqual([{ owners: [OWNER], ownersLost: [] }]);
    const [second, third] = [5, 6] as [Address, Address];
    enlist(bench, second, 's');
    publish(bench);
    expect(owners(bench)).toEqual([{ owners: [second], ownersLost: [] }]);
    enlist(bench, third, 's');
    publish(bench);
    expect(owners(bench)).toEqual([{ owners: [third], ownersLost: [second] }]);
    // Workers need no update when a scheduler registers again.
    enlist(bench, third, 's');
    publish(bench);
    expect(owners(bench)).toEqual([]);
  });

  test('do not exist under the policies of papers', () => {
    const bench = new Bench();
    bench.register(W1);
    publish(bench);
    bench.take('peers');
    enlist(bench, OWNER);
    publish(bench);
    expect(owners(bench)).toEqual([]);
  });
});

test('lists the HTTP address of each process once, including disconnected schedulers', () => {
  const bench = new Bench();
  const [worker, same, without] = [10, 11, 12] as [Address, Address, Address];
  const enlist = {
    type: 'enlist',
    endpoint: '',
    durable: true,
    draining: false,
    epoch: 0,
    adopted: false,
    previousIncarnations: [],
  } as const;
  bench.receive(worker, registration('w1', { http: '10.0.0.1:9090' }));
  bench.receive(same, registration('w2', { http: '10.0.0.1:9090' }));
  bench.receive(without, registration('w3'));
  bench.receive(OWNER, { ...enlist, name: 's1', tag: 's1', http: '10.0.0.2:9090' });
  const scrapeTargets = [
    { role: 'scheduler', at: '10.0.0.2:9090' },
    { role: 'worker', at: '10.0.0.1:9090' },
  ];
  expect(bench.central.scrapeTargets).toEqual(scrapeTargets);
  for (; bench.now < 60_000; bench.now += LIVE_TIMINGS.heartbeatMs) {
    for (const each of [worker, same])
      bench.receive(each, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
    bench.central.wake('lease', 0, bench.now);
  }
  expect(bench.central.status(bench.now).schedulers).toBe(0);
  expect(bench.central.scrapeTargets).toEqual(scrapeTargets);
});

test('a free row goes to the next worker', () => {
  const bench = new Bench();
  bench.receive(OWNER, {
    type: 'enlist',
    name: 's',
    tag: 's',
    endpoint: '',
    durable: false,
    draining: false,
    http: undefined,
    epoch: 0,
    adopted: false,
    previousIncarnations: [],
  });
  const places = () => {
    bench.central.wake('publish', 0, bench.now);
    return bench.take('members').flatMap(({ changed }) => changed.map(({ address, row }) => [address, row]));
  };
  bench.register(W1);
  bench.register(W2);
  expect(places()).toEqual([
    [W1, 0],
    [W2, 1],
  ]);
  bench.receive(W1, { type: 'leave' });
  bench.register(W3);
  expect(places()).toContainEqual([W3, 0]);
});

test('short work that schedulers report counts toward the reserve', () => {
  const policy = { preset: { ...PRESETS['goshawk-peer'] }, cutoffMs: 1_000 };
  const long = (arrivedMs: number) => {
    const bench = new Bench(policy);
    bench.enlist(OWNER, 'first');
    const workers = Array.from({ length: 100 }, (_, i) => (100 + i) as Address);
    for (const worker of workers) {
      bench.register(worker);
      bench.receive(worker, pull());
    }
    bench.receive(OWNER, { type: 'usage', shortMs: 0, longMs: 0, arrivedMs, arrivedTasks: 0, completed: [] });
    bench.receive(OWNER, need(1, { long: true, tasks: 200, jobTasks: 200, estimateMs: 9_000 }));
    return bench.take('matched').flatMap(({ workers }) => workers).length;
  };
  expect(long(0)).toBe(95);
  // 5 slots of work over a window of four cutoffs, and four square roots of that.
  expect(long(5 * 4_000)).toBe(86);
});

test('clients cannot see the place of another user’s job in the line', () => {
  const bench = new Bench({ preset: { ...PRESETS.goshawk } });
  let key: ClientKey | undefined;
  bench.clientKeyOf = () => key;
  bench.enlist(OWNER, 'first');
  bench.register(W1);
  bench.haveAllJoined();
  bench.receive(OWNER, twoTasks(1, { user: 'bob' }));
  const line = (job: number) => {
    bench.receive(CLIENT, { type: 'explainNeed', request: 1, owner: `party ${OWNER}`, job });
    return bench.take('centralLine').at(-1)!.value;
  };
  const of = (name: string, right: Right) => {
    key = { name, rights: [right] };
    return line(1);
  };
  const none = line(2);
  expect(none.needs).toEqual([]);
  expect(line(1).needs).toHaveLength(1);
  expect(of('bob', 'read-own').needs).toHaveLength(1);
  expect(of('ann', 'read-all').needs).toHaveLength(1);
  // The number of waiting tasks is no secret; the jobs are.
  expect(of('ann', 'read-own')).toEqual({ ...none, limited: undefined, onlyOwn: true });
});

test('central repeats a drain request, or its end, until the worker confirms it', () => {
  const bench = new Bench();
  const asked = (on: boolean) =>
    bench.receive(CLIENT, { type: 'drainWorker', request: 1, worker: `w${W1}`, on, deadlineMs: undefined });
  const repeated = () => {
    bench.take('drain');
    bench.receive(W1, { type: 'heartbeat', busy: 1, queued: 0, used: undefined });
    return bench.take('drain').map(({ on }) => on);
  };
  bench.register(W1);
  expect(repeated()).toEqual([]);
  asked(true);
  expect(repeated()).toEqual([true]);
  bench.register(W1, [], true);
  expect(repeated()).toEqual([]);
  asked(false);
  expect(repeated()).toEqual([false]);
  bench.register(W1, [], false);
  expect(repeated()).toEqual([]);
});

test('central repeats a drain whose deadline has passed while tasks still run', () => {
  const bench = new Bench();
  const asked = (on: boolean, deadlineMs?: number) => {
    bench.receive(CLIENT, { type: 'drainWorker', request: 1, worker: `w${W1}`, on, deadlineMs });
    return bench.take('drainState').at(-1)!.value.deadlineMs;
  };
  const repeated = (busy: number) => {
    bench.take('drain');
    bench.receive(W1, { type: 'heartbeat', busy, queued: 0, used: undefined });
    return bench.take('drain').map(({ deadlineMs }) => deadlineMs);
  };
  bench.register(W1);
  expect(asked(true, 500)).toBe(500);
  bench.register(W1, [], true);
  bench.now += 400;
  // A client that polls the state keeps the deadline.
  expect(asked(true)).toBe(100);
  expect(repeated(1)).toEqual([]);
  bench.now += 100;
  expect(repeated(1)).toEqual([0]);
  expect(repeated(0)).toEqual([]);
  expect(asked(false)).toBeUndefined();
});

test('a draining worker keeps draining under a new central', () => {
  const bench = new Bench();
  bench.register(W1, [], true);
  bench.receive(W1, { type: 'heartbeat', busy: 0, queued: 0, used: undefined });
  expect(bench.take('drain')).toEqual([]);
});

test('a new central shows the deadline that a draining worker keeps, which a later drain without one does not change', () => {
  const bench = new Bench();
  bench.receive(W1, registration(`w${W1}`, { draining: true, drainDeadlineMs: 500 }));
  bench.now += 100;
  const drained = (deadlineMs?: number) => {
    bench.receive(CLIENT, { type: 'drainWorker', request: 1, worker: `w${W1}`, on: true, deadlineMs });
    return bench.take('drainState').at(-1)!.value.deadlineMs;
  };
  expect(drained()).toBe(400);
  expect(drained(1_000)).toBe(1_000);
  // A registration that was sent before the worker heard of the new deadline.
  bench.receive(W1, registration(`w${W1}`, { draining: true, drainDeadlineMs: 300 }));
  expect(drained()).toBe(1_000);
});

test('a durable scheduler is lost if another one without its jobs takes its name', () => {
  const bench = new Bench();
  const notifiedOf = () => {
    bench.central.wake('publish', 0, bench.now);
    const [peers] = bench.take('peers');
    return { lost: peers!.ownersLost, away: peers!.ownersAway };
  };
  bench.register(W1);
  bench.enlist(OWNER, 'first');
  notifiedOf();
  // Restarted with its journal: its running tasks continue.
  bench.enlist(CLIENT, 'first');
  expect(notifiedOf()).toEqual({ lost: [], away: [OWNER] });
  // Restarted without its journal: the results will never be needed.
  bench.enlist(W3, 'second');
  expect(notifiedOf()).toEqual({ lost: [CLIENT], away: [] });
});

test('clients learn that the clock of a scheduler differs', () => {
  const bench = new Bench();
  bench.enlist(OWNER, 'first', 'one');
  bench.enlist(W1, 'second', 'two');
  for (; bench.now < 60_000; bench.now += LIVE_TIMINGS.heartbeatMs)
    for (const [from, aheadMs] of [
      [OWNER, -1],
      [W1, -95_001],
    ] as const) {
      const clock = WALL + bench.now + aheadMs;
      bench.receive(from, { type: 'heartbeat', busy: 0, queued: 0, used: undefined, clock });
    }
  bench.receive(CLIENT, { type: 'findSchedulers', request: 1 });
  expect(bench.take('schedulers')[0]!.value.warnings).toEqual([
    'the clock of scheduler two is 1 min 35 s behind the others: its times are shown accordingly',
  ]);
});

test('clients learn of a new scheduler after the other schedulers, and of a returning one immediately', () => {
  const bench = new Bench();
  const listed = () => {
    bench.receive(CLIENT, { type: 'findSchedulers', request: 1 });
    return bench.take('schedulers')[0]!.value.present.map(({ tag }) => tag);
  };
  bench.enlist(OWNER, 'first', 'one');
  bench.central.wake('publish', 0, bench.now);
  bench.enlist(W1, 'second', 'two');
  expect(listed()).toEqual(['first']);
  bench.central.wake('publish', 0, bench.now);
  expect(listed()).toEqual(['first', 'second']);
  bench.enlist(W2, 'second', 'two');
  expect(listed()).toEqual(['first', 'second']);
});

test('needs of a scheduler that is not a member are dropped, and it is asked to join', () => {
  const bench = new Bench({ preset: { ...PRESETS.goshawk } });
  bench.register(W1);
  bench.receive(OWNER, twoTasks(1));
  expect(bench.central.pendingTasks).toBe(0);
  expect(bench.take('notRegistered')).toHaveLength(1);
});

function twoTasks(job: number, more: Parameters<typeof need>[1] = {}): MessageOf<'need'> {
  return need(job, { tasks: 2, jobTasks: 2, estimateMs: 1, ...more });
}

test('a scheduler that enlists again resends its needs, and ended jobs are dropped', () => {
  const bench = new Bench({ preset: { ...PRESETS.goshawk } });
  bench.enlist(OWNER, 'first');
  bench.receive(OWNER, twoTasks(1));
  bench.receive(OWNER, twoTasks(2));
  expect(bench.central.pendingTasks).toBe(4);
  bench.enlist(OWNER, 'first');
  bench.receive(OWNER, twoTasks(2));
  expect(bench.central.pendingTasks).toBe(2);
});

test('a scheduler that reports that it drains keeps its waiting tasks', () => {
  const bench = new Bench({ preset: { ...PRESETS.goshawk } });
  bench.enlist(OWNER, 'first');
  bench.receive(OWNER, twoTasks(1));
  bench.enlist(OWNER, 'first', 's', true);
  expect(bench.central.pendingTasks).toBe(2);
});

test('a match includes the name of a worker that the owner does not know', () => {
  const bench = new Bench({ preset: { ...PRESETS.goshawk } });
  bench.enlist(OWNER, 'first');
  bench.central.wake('publish', 0, 0);
  bench.receive(OWNER, twoTasks(1));
  const newcomersAt = (worker: Address) => {
    bench.receive(worker, pull());
    return bench.take('matched').map(({ newcomers }) => newcomers);
  };
  bench.register(W1);
  expect(newcomersAt(W1)).toEqual([[{ worker: W1, name: 'w11' }]]);
  bench.register(W2);
  bench.central.wake('publish', 0, 0);
  expect(newcomersAt(W2)).toEqual([undefined]);
});
