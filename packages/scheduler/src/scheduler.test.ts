import {
  type Address,
  COMPLETED,
  type JobInput,
  LIVE_TIMINGS,
  type Member,
  type Message,
  type MessageOf,
  type Outcome,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
  type Right,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import type { LoadLimits } from './contract.js';
import type { Job } from './job/job.js';
import { TaskState } from './job/task-state.js';
import {
  CENTRAL,
  CLIENT,
  joined,
  loneScheduler,
  NO_LIMITS,
  W1,
  W2,
  welcome,
} from './lone-scheduler.fixture.js';
import type { Scheduler } from './scheduler.js';

const { heartbeatMs, leaseMs } = LIVE_TIMINGS;

/** A scheduler; the test plays all other parties. */
class Bench {
  readonly scheduler: Scheduler;
  readonly ended: Job[] = [];
  drained = 0;
  now = 0;
  /** The client's rights; undefined: all rights. */
  rights: Right[] | undefined;
  #sent: { to: Address; message: Message }[] = [];
  #ask = 0;
  #version = 0;

  constructor(policy: Partial<PolicySettings> = {}, load: Partial<LoadLimits> = {}) {
    this.scheduler = loneScheduler(
      { endedJobsMax: 2, load },
      {
        send: (to: Address, message: Message) => this.#sent.push({ to, message }),
        jobEnded: (job: Job) => this.ended.push(job),
        drained: () => this.drained++,
        clientKeyOf: (party) =>
          party === CLIENT && this.rights !== undefined ? { name: 'ci', rights: this.rights } : undefined,
      },
    );
    this.scheduler.start(0);
    this.receive(CENTRAL, welcome(policy));
    this.#sent = [];
  }

  receive(from: Address, message: Message): void {
    this.scheduler.receive(from, message, this.now);
    this.scheduler.checkInvariants();
  }

  members(...addresses: Address[]): void {
    this.receive(CENTRAL, joined(++this.#version, addresses));
  }

  submit(job: JobInput): Job {
    return this.scheduler.submit(parseJobSpec(job), undefined, this.now);
  }

  /** The worker serves a probe. */
  ask(worker: Address, job: Job, stage = 0): number {
    const ask = ++this.#ask;
    this.receive(worker, { type: 'ask', ask, again: false, job: job.number, stage, placed: undefined });
    return ask;
  }

  /** Central matches the job with a worker. */
  match(worker: Address, job: Job): void {
    this.receive(CENTRAL, {
      type: 'matched',
      job: job.number,
      stage: 0,
      workers: [{ worker, match: 1 }],
      noneWaiting: undefined,
      newcomers: undefined,
    });
  }

  end(worker: Address, job: Job, task: number, outcome: Outcome = COMPLETED): void {
    this.receive(worker, {
      type: 'ended',
      report: 1,
      job: job.number,
      task,
      attempt: job.tasks.attemptOf(task),
      outcome,
      runMs: 5,
      output: [],
      outputBytes: 0,
      ask: 0,
    });
  }

  /** Advances the time, answering heartbeats. */
  pass(ms: number): void {
    for (const until = this.now + ms; this.now < until; ) {
      this.now += heartbeatMs;
      this.scheduler.wake('heartbeat', 0, this.now);
      this.receive(CENTRAL, {
        type: 'heartbeatAck',
        version: this.#version,
        ownersVersion: 0,
        matching: true,
        waiting: undefined,
      });
    }
  }

  /** Returns the answer to a client's request. */
  request<T extends Message>(message: T): Message {
    this.#sent = [];
    this.receive(CLIENT, message);
    return this.#sent.find(({ to }) => to === CLIENT)!.message;
  }

  sentTo(party: Address): Message['type'][] {
    return this.#sent.filter(({ to }) => to === party).map(({ message }) => message.type);
  }

  take<T extends Message['type']>(type: T): Extract<Message, { type: T }>[] {
    const taken = this.#sent.filter(({ message }) => message.type === type).map(({ message }) => message);
    this.#sent = [];
    return taken as Extract<Message, { type: T }>[];
  }
}

test('a task that a worker declines before it starts does not count as an attempt', () => {
  const bench = new Bench();
  bench.members(W1, W2);
  const job = bench.submit({ tasks: [{ sleep: 1 }] });
  bench.ask(W1, job);
  const placed = { task: 0, attempt: job.tasks.attemptOf(0) };
  bench.receive(W1, { type: 'declined', job: job.number, stage: 0, probes: 0, placed });
  bench.ask(W2, job);
  bench.end(W2, job, 0);
  expect(bench.ended).toEqual([job]);
  expect(job.history.total).toBe(1);
  expect(job.history.lostCount).toBe(0);
});

test('duplicates do not return more probes than the worker had', () => {
  const bench = new Bench();
  bench.members(W1);
  const job = bench.submit({ tasks: [{ sleep: 1 }] });
  const sent = bench.take('probe').length;
  const back = { type: 'declined', job: job.number, stage: 0, placed: undefined } as const;
  bench.receive(W1, { ...back, probes: sent });
  expect(bench.take('probe')).toHaveLength(sent);
  bench.receive(W1, { ...back, probes: 10 * sent });
  expect(bench.take('probe')).toHaveLength(sent);
  bench.receive(W2, { ...back, probes: sent });
  expect(bench.take('probe')).toEqual([]);
});

describe('a worker that central has not reported', () => {
  const holding = (job: Job) => ({
    type: 'holding' as const,
    tasks: [{ job: job.number, task: 0, attempt: 1, elapsedMs: 1, match: undefined }],
    audit: 0,
  });

  test('gets no task, however it asks, and cannot claim or return one', () => {
    const bench = new Bench();
    bench.members(W1);
    const job = bench.submit({ tasks: [{ sleep: 1 }], estimate: 1 });
    const placed = { task: 0, attempt: 1 };
    bench.ask(W2, job);
    bench.receive(W2, { type: 'seek', ask: 2, again: false, spare: { cpu: 8 } });
    const ask = { type: 'ask', ask: 3, again: false, job: job.number, stage: 0, placed } as const;
    bench.receive(W2, ask);
    bench.receive(W2, holding(job));
    bench.receive(W2, { type: 'declined', job: job.number, stage: 0, probes: 0, placed });
    expect(bench.sentTo(W2)).toEqual(['none', 'none']);
    expect(bench.take('run')).toEqual([]);
    expect(job.tasks.stateOf(0)).toBe(TaskState.waiting);
    expect(job.tasks.attemptOf(0)).toBe(0);
    bench.ask(W1, job);
    expect(bench.take('run')).toHaveLength(1);
  });

  test('gets tasks once central has reported it', () => {
    const bench = new Bench();
    bench.members(W1);
    const job = bench.submit({ tasks: [{ sleep: 1 }] });
    bench.ask(W2, job);
    expect(bench.take('run')).toEqual([]);
    bench.members(W1, W2);
    bench.ask(W2, job);
    expect(bench.take('run')).toHaveLength(1);
  });

  test('gets a task if central has matched it, and is lost if central does not report it within a lease', () => {
    const bench = new Bench();
    bench.members(W1);
    bench.pass(2 * leaseMs);
    const job = bench.submit({ tasks: [{ sleep: 1 }] });
    bench.match(W2, job);
    expect(bench.take('run')).toHaveLength(1);
    bench.pass(leaseMs - heartbeatMs);
    expect(job.history.lostCount).toBe(0);
    bench.pass(2 * heartbeatMs);
    expect(job.history.lostCount).toBe(1);
    expect(bench.take('probe').length).toBeGreaterThan(0);
    bench.ask(W2, job);
    expect(bench.take('none')).toHaveLength(1);
  });
});

test('jobs that wait for a partition without workers start once the last other worker has left', () => {
  const bench = new Bench({ preset: { ...PRESETS.split } });
  const both = joined(1, [W1, W2]) as MessageOf<'members'>;
  const [first, second] = both.changed as [Member, Member];
  bench.receive(CENTRAL, { ...both, changed: [first, { ...second, draining: true }] });
  bench.submit({ tasks: [{ sleep: 1 }], estimate: 1 });
  expect(bench.take('probe')).toEqual([]);
  bench.receive(CENTRAL, { ...both, version: 2, since: 1, changed: [], left: [W2] });
  expect(bench.take('probe').length).toBeGreaterThan(0);
});

test('an update of another central is accepted even if its version is lower', () => {
  const bench = new Bench();
  const other = 9 as Address;
  const settings = { policy: bench.scheduler.policy!, timings: LIVE_TIMINGS };
  for (let i = 0; i < 5; i++) bench.members(W1);
  bench.receive(other, { type: 'welcome', settings });
  const joined: Member = {
    address: W2,
    name: 'w2',
    slots: 1,
    capacity: {},
    partition: 'general',
    draining: false,
    row: 0,
    attributes: [],
  };
  bench.receive(other, {
    type: 'members',
    version: 2,
    since: 0,
    changed: [joined],
    left: [],
    owners: [],
    ownersVersion: 0,
    silentMs: undefined,
  });
  bench.receive(other, {
    type: 'members',
    version: 3,
    since: 2,
    changed: [],
    left: [W1],
    owners: [],
    ownersVersion: 0,
    silentMs: undefined,
  });
  bench.submit({ tasks: [{ sleep: 1 }] });
  expect(bench.sentTo(W2)).toContain('probe');
  expect(bench.sentTo(W1)).not.toContain('probe');
});

test('a silent central causes no losses', () => {
  const bench = new Bench();
  bench.members(W1);
  const job = bench.submit({ tasks: [{ sleep: 1 }] });
  bench.match(W2, job);
  for (let i = 0; i < 10; i++) {
    bench.now += heartbeatMs;
    bench.scheduler.wake('heartbeat', 0, bench.now);
  }
  expect(job.history.lostCount).toBe(0);
});

describe('clients', () => {
  test('a draining scheduler accepts no job, not even a retry', () => {
    const bench = new Bench();
    bench.members(W1);
    const job = bench.submit({ tasks: [{ sleep: 1 }] });
    bench.ask(W1, job);
    bench.end(W1, job, 0, { ...COMPLETED, kind: 'failed' });
    expect(job.state).toBe('failed');
    bench.scheduler.drain();
    const submit = { type: 'submit', request: 1, key: 'a', spec: { tasks: [{ sleep: 1 }] } } as const;
    expect(bench.request(submit)).toMatchObject({ type: 'refused', code: 'draining' });
    const retry = {
      type: 'retryJob',
      request: 2,
      key: 'b',
      id: job.id,
      failedOnly: undefined,
      tasks: undefined,
      asNew: undefined,
    } as const;
    expect(bench.request(retry)).toMatchObject({ type: 'refused', code: 'draining' });
  });

  test('a job that no worker can ever run is refused, even if each lacks a resource completely', () => {
    const bench = new Bench();
    bench.members(W1);
    const spec = { demand: { memory: '8000TiB' }, tasks: [{ sleep: 1 }] };
    const submit = { type: 'submit', request: 1, key: 'a', spec } as const;
    expect(bench.request(submit)).toMatchObject({ type: 'refused', code: 'impossible-demand' });
    // Central may not have reported the worker that has it yet.
    expect(bench.request(submit)).toMatchObject({ retryMs: 500 });
    bench.pass(leaseMs);
    expect(bench.request(submit)).toMatchObject({ code: 'impossible-demand', retryMs: undefined });
    const endless = { ...spec, demand: { memory: '1e400' } };
    expect(bench.request({ ...submit, request: 2, spec: endless })).toMatchObject({
      type: 'refused',
      code: 'bad-job',
    });
  });

  test('a repeated submission is refused again, even if a worker for it has joined meanwhile', () => {
    const bench = new Bench();
    bench.members(W1);
    bench.pass(leaseMs);
    const spec = { demand: { memory: 8 }, tasks: [{ sleep: 1 }] };
    const submit = { type: 'submit', request: 1, key: 'a', spec } as const;
    const refusal = bench.request(submit);
    expect(refusal).toMatchObject({ type: 'refused', code: 'impossible-demand', retryMs: undefined });
    const both = joined(2, [W1, W2]) as MessageOf<'members'>;
    const changed = both.changed.map((member) => ({ ...member, capacity: { cpu: 1, memory: 16 } }));
    bench.receive(CENTRAL, { ...both, changed });
    // The client may have received the refusal, and then ignores an acceptance.
    expect(bench.request(submit)).toEqual(refusal);
    expect(bench.scheduler.activeJobs).toBe(0);
    expect(bench.request({ ...submit, request: 2 })).toMatchObject({ type: 'accepted' });
  });

  test('a client with a personal key submits in its name, and sees and cancels only its jobs', () => {
    const bench = new Bench();
    bench.members(W1);
    const others = bench.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
    bench.rights = ['submit', 'read-own'];
    const tasks = [{ sleep: 1 }];
    const refused = bench.request({ type: 'submit', request: 0, key: 'a', spec: { user: 'ann', tasks } });
    expect(refused).toMatchObject({ code: 'not-allowed', message: expect.stringContaining('not of "ann"') });
    const answer = bench.request({ type: 'submit', request: 1, key: 'a', spec: { tasks } });
    const { job: id } = (answer as MessageOf<'accepted'>).value;
    const describe = { type: 'describeJob', request: 2, spec: false } as const;
    expect(bench.request({ ...describe, id })).toMatchObject({ value: { id, user: 'ci' } });
    const cancel = { type: 'cancelJob', request: 3 } as const;
    for (const ask of [describe, cancel])
      expect(bench.request({ ...ask, id: others.id })).toEqual({
        ...bench.request({ ...ask, id: 's-999' }),
        message: `there is no job ${others.id}`,
      });
    expect(bench.request({ ...cancel, id })).toMatchObject({ type: 'jobSummary' });
    const list = {
      type: 'listJobs',
      request: 4,
      states: [],
      user: undefined,
      where: undefined,
      endedMax: 9,
      jobsMax: 9,
    } as const;
    expect(bench.request(list)).toMatchObject({ value: { total: 1, jobs: [{ id }] } });
    bench.rights = ['read-all', 'operate'];
    expect(bench.request(list)).toMatchObject({ value: { total: 2 } });
    const inHerName = { type: 'submit', request: 5, key: 'b', spec: { user: 'ann', tasks } } as const;
    expect(bench.request(inHerName)).toMatchObject({ type: 'accepted' });
    expect(bench.request({ ...list, user: 'ann' })).toMatchObject({ value: { total: 2 } });
    expect(bench.request({ ...cancel, id: others.id })).toMatchObject({ type: 'jobSummary' });
  });

  test('a repeated submission is recognized by its number, and not parsed again', () => {
    const bench = new Bench();
    bench.members(W1);
    const spec = { tasks: [{ sleep: 1 }] };
    const submit = { type: 'submit', request: 1, key: 'a', spec } as const;
    const taken = bench.request(submit);
    let reads = 0;
    const get = () => {
      reads++;
      return spec.tasks;
    };
    const again = Object.defineProperty({}, 'tasks', { enumerable: true, get });
    expect(bench.request({ ...submit, spec: again })).toEqual(taken);
    expect(reads).toBe(0);
    expect(bench.request({ ...submit, request: 2, spec: again })).toMatchObject({ type: 'accepted' });
    expect(reads).toBeGreaterThan(0);
    const other = { tasks: [{ sleep: 2 }] };
    expect(bench.request({ ...submit, request: 3, spec: other })).toMatchObject({ code: 'key-conflict' });
  });

  test('requests about all jobs have a time budget, and excess requests get a retry time', () => {
    const bench = new Bench();
    bench.members(W1);
    for (let i = 0; i < 1_000; i++) bench.submit({ tasks: [{ sleep: 1 }] });
    const ask = (request: number) => bench.request({ type: 'explainWaiting', request });
    const answers = Array.from({ length: 101 }, (_, request) => ask(request).type);
    const served = answers.indexOf('refused');
    expect(served).toBeGreaterThan(1);
    expect(answers.slice(served)).toEqual(new Array(101 - served).fill('refused'));
    const list = {
      type: 'listJobs',
      request: 1,
      states: [],
      user: undefined,
      where: undefined,
      endedMax: 1,
      jobsMax: 1,
    } as const;
    const refused = bench.request(list) as { readonly retryMs: number };
    expect(refused).toMatchObject({ type: 'refused', code: 'overloaded' });
    bench.now += refused.retryMs;
    expect(bench.request(list)).toMatchObject({ type: 'jobList' });
  });

  test('an empty key is refused, because all such clients would share one job', () => {
    const bench = new Bench();
    bench.members(W1);
    const submit = { type: 'submit', request: 1, key: '', spec: { tasks: [{ sleep: 1 }] } } as const;
    expect(bench.request(submit)).toMatchObject({ type: 'refused', code: 'bad-key' });
  });

  test.each([
    ['jobs', { activeJobsMax: 1 }],
    ['user-jobs', { activeJobsPerUserMax: 1 }],
    ['user', { userWaitingTasksMax: 1 }],
    ['memory', { activeBytesMax: 5_000 }],
  ] as const)('refusals are counted by cause: %s, with %j', (reason, limits) => {
    const bench = new Bench({}, limits);
    bench.members(W1);
    const spec = { user: 'ada', tasks: [{ sleep: 1 }] };
    for (const key of ['a', 'b']) bench.request({ type: 'submit', request: 1, key, spec });
    const none = { jobs: 0, memory: 0, user: 0, journal: 0, 'user-jobs': 0 };
    expect(bench.scheduler.tallies.jobsRefused).toEqual({ ...none, [reason]: 1 });
  });

  test('names the users with the most active jobs, so that a log of refused jobs shows who floods', () => {
    const bench = new Bench({}, {});
    bench.members(W1);
    const jobs = [...Array(3).fill('ada'), ...Array(5).fill('bob'), 'cy', 'dee'];
    for (const [at, user] of jobs.entries())
      bench.request({ type: 'submit', request: at, key: `k${at}`, spec: { user, tasks: [{ sleep: 1 }] } });
    expect(bench.scheduler.largestUsers(2)).toMatchObject([
      { user: 'bob', jobs: 5 },
      { user: 'ada', jobs: 3 },
    ]);
  });

  test('a full scheduler says when to retry, and still recognizes accepted jobs', () => {
    const bench = new Bench({}, { activeJobsMax: 1, activeJobsPerUserMax: 1 });
    bench.members(W1);
    const spec = { user: 'ada', tasks: [{ sleep: 1 }] };
    const submit = (key: string) => bench.request({ type: 'submit', request: 1, key, spec });
    expect(submit('a')).toMatchObject({ type: 'accepted' });
    const refused = submit('b');
    expect(refused).toMatchObject({ type: 'refused', code: 'overloaded', hint: 'try again in 1 s' });
    expect((refused as { retryMs?: number }).retryMs).toBeGreaterThan(0);
    expect(submit('a')).toMatchObject({ type: 'accepted', value: { job: 's-1' } });
    expect(bench.scheduler.counters).toMatchObject({ jobsAccepted: 1 });
    expect(bench.scheduler.tallies.jobsRefused).toMatchObject({ jobs: 1, 'user-jobs': 0 });
  });

  test('a retry does not exceed the limit of a user', () => {
    const bench = new Bench({}, { activeJobsPerUserMax: 1 });
    bench.members(W1);
    const failed = bench.submit({ user: 'ada', tasks: [{ sleep: 1 }] });
    bench.ask(W1, failed);
    bench.end(W1, failed, 0, { ...COMPLETED, kind: 'failed' });
    bench.submit({ user: 'ada', tasks: [{ sleep: 1 }] });
    const retry = {
      type: 'retryJob',
      request: 2,
      key: 'b',
      id: failed.id,
      failedOnly: undefined,
      tasks: undefined,
      asNew: undefined,
    } as const;
    expect(bench.request(retry)).toMatchObject({ type: 'refused', code: 'overloaded' });
  });

  test('limits of users and projects from central apply, with the usage at other schedulers', () => {
    const bench = new Bench();
    bench.members(W1);
    let request = 0;
    const submit = (user: string, tasks: number, more = {}) =>
      bench.request({
        type: 'submit',
        request: ++request,
        key: `k${request}`,
        spec: { user, tasks: { count: tasks, run: { sleep: 1 } }, ...more },
      });
    bench.receive(CENTRAL, {
      type: 'limits',
      holders: [
        { ...NO_LIMITS, holder: 'ada', project: 'physics', waiting: 5, cpus: 2 },
        { ...NO_LIMITS, holder: '@physics', waiting: 7 },
        { ...NO_LIMITS, holder: 'bob', project: 'physics' },
        { ...NO_LIMITS, holder: '*', journal: 20_000 },
      ],
      elsewhere: [{ user: 'ada', waiting: 1, journal: 0 }],
      projectsElsewhere: [],
      part: undefined,
    });
    expect(submit('ada', 6)).toMatchObject({
      code: 'over-limit',
      message: 'user ada may have 5 waiting tasks and has 1; this request adds 6',
      hint: 'submit fewer tasks',
      retryMs: undefined,
    });
    expect(submit('ada', 1, { demand: { cpu: 3 } })).toMatchObject({
      message: 'user ada may use 2 CPUs at a time, and a task of this job requests 3 CPUs',
    });
    // They may have to run on one worker each.
    expect(submit('ada', 4, { gang: true, demand: { cpu: 0.25, memory: 1 } })).toMatchObject({
      message: 'user ada may use 2 CPUs at a time, and this gang counts as 4 CPUs',
    });
    expect(submit('ada', 3)).toMatchObject({ type: 'accepted' });
    expect(submit('ada', 2)).toMatchObject({
      message: 'user ada may have 5 waiting tasks and has 4; this request adds 2',
      hint: 'wait until some have started, or submit fewer tasks',
    });
    expect(submit('bob', 5)).toMatchObject({
      message: 'project physics may have 7 waiting tasks and has 3; this request adds 5',
    });
    expect(submit('bob', 4)).toMatchObject({ type: 'accepted' });
    expect(submit('cleo', 1)).toMatchObject({ type: 'accepted' });
    expect(submit('cleo', 1, { tasks: [{ exec: ['true', 'x'.repeat(50_000)] }] })).toMatchObject({
      code: 'over-limit',
      message: expect.stringMatching(
        /^user cleo may have 19.53 KiB in journals and has .*; this request adds /,
      ),
    });
    bench.receive(CENTRAL, {
      type: 'limits',
      holders: [],
      elsewhere: [],
      projectsElsewhere: [],
      part: undefined,
    });
    expect(submit('ada', 60)).toMatchObject({ type: 'accepted' });
  });

  test('after a long suspension, only submissions that clients repeat are accepted', () => {
    const bench = new Bench();
    bench.members(W1);
    const submit = (key: string) =>
      bench.request({ type: 'submit', request: 1, key, spec: { tasks: [{ sleep: 1 }] } });
    const beat = (at: number) => {
      bench.now = at;
      bench.scheduler.wake('heartbeat', 0, at);
    };
    beat(heartbeatMs);
    expect(submit('before')).toMatchObject({ type: 'accepted' });
    // Its client may have asked another scheduler, which central has recommended since.
    const resumedAt = heartbeatMs + leaseMs;
    bench.now = resumedAt;
    const refused = {
      code: 'not-ready',
      message: 'this scheduler has just continued after a suspension',
      retryMs: undefined,
    };
    expect(submit('stale')).toMatchObject(refused);
    expect(submit('before')).toMatchObject({ type: 'accepted' });
    bench.receive(CENTRAL, welcome());
    expect(submit('stale')).toMatchObject(refused);
    beat(resumedAt);
    expect(submit('stale')).toMatchObject(refused);
    bench.now = resumedAt + heartbeatMs;
    expect(submit('stale')).toMatchObject({ type: 'accepted' });
    beat(resumedAt + heartbeatMs);
    // Short delays, of a busy machine, refuse nothing.
    bench.now += heartbeatMs + leaseMs / 2;
    expect(submit('later')).toMatchObject({ type: 'accepted' });
  });

  test('while central is silent, a user has this scheduler’s part of a limit, and all of it once central is back', () => {
    const bench = new Bench();
    bench.members(W1);
    let request = 0;
    const submit = (tasks: number) =>
      bench.request({
        type: 'submit',
        request: ++request,
        key: `k${request}`,
        spec: { user: 'ada', tasks: { count: tasks, run: { sleep: 1 } } },
      });
    const limits = {
      type: 'limits',
      holders: [{ ...NO_LIMITS, holder: '*', waiting: 10, journal: 1e5 }],
      elsewhere: [{ user: 'ada', waiting: 2, journal: 0 }],
      projectsElsewhere: [],
      part: { index: 2, of: 3 },
    } as const;
    bench.receive(CENTRAL, limits);
    bench.now = 2 * heartbeatMs;
    expect(submit(3)).toMatchObject({
      code: 'over-limit',
      message:
        'user ada may have 2 waiting tasks at this scheduler, its part of 10 while central is away or has just started, and has 0; this request adds 3',
      hint: 'wait until central is back and counts for all schedulers, or submit less',
    });
    expect(submit(11)).toMatchObject({
      message: 'user ada may have 10 waiting tasks and has 2; this request adds 11',
    });
    expect(submit(2)).toMatchObject({ type: 'accepted' });
    expect(submit(1)).toMatchObject({ code: 'over-limit' });
    expect(
      bench.request({
        type: 'submit',
        request: ++request,
        key: 'large',
        spec: { user: 'eve', tasks: [{ exec: ['true', 'x'.repeat(50_000)] }] },
      }),
    ).toMatchObject({
      message: expect.stringMatching(/^user eve may have 32.55 KiB of journal at .*, its part of 97.66 KiB/),
    });
    bench.receive(CENTRAL, welcome());
    bench.receive(CENTRAL, limits);
    expect(submit(6)).toMatchObject({ type: 'accepted' });
  });

  test('a user at the limit of waiting tasks is refused, and the list of jobs has the count', () => {
    const bench = new Bench({}, { userWaitingTasksMax: 3 });
    bench.members(W1);
    const submit = (key: string, user: string, tasks: number) =>
      bench.request({
        type: 'submit',
        request: 1,
        key,
        spec: { user, tasks: { count: tasks, run: { sleep: 1 } } },
      });
    expect(submit('a', 'ada', 2)).toMatchObject({ type: 'accepted' });
    expect(submit('b', 'ada', 2)).toMatchObject({ type: 'refused', code: 'overloaded' });
    expect(submit('c', 'ada', 4)).toMatchObject({
      type: 'refused',
      code: 'job-too-large',
      retryMs: undefined,
    });
    expect(submit('d', 'bob', 3)).toMatchObject({ type: 'accepted' });
    expect(submit('a', 'ada', 2)).toMatchObject({ type: 'accepted', value: { job: 's-1' } });
    const list = {
      type: 'listJobs',
      request: 2,
      states: [],
      where: undefined,
      endedMax: 10,
      jobsMax: 10,
    } as const;
    expect(bench.request({ ...list, user: undefined })).toMatchObject({
      value: {
        quotas: [
          { user: 'bob', waiting: 3, max: 3, scheduler: 's' },
          { user: 'ada', waiting: 2, max: 3 },
        ],
      },
    });
    bench.now += 60_000;
    expect(bench.request({ ...list, user: 'ada' })).toMatchObject({ value: { quotas: [{ user: 'ada' }] } });
  });

  test.each([0, 3, 100])('may give %o as a cursor', (cursor) => {
    const bench = new Bench();
    bench.members(W1);
    const job = bench.submit({ tasks: [{ sleep: 1 }] });
    bench.ask(W1, job);
    const chunk = { stream: 'stdout', bytes: new Uint8Array([1]) } as const;
    for (const offset of [0, 1, 2]) {
      bench.receive(W1, {
        type: 'output',
        job: job.number,
        task: 0,
        attempt: 1,
        offset,
        chunk,
        keptFrom: 0,
      });
    }
    const answer = bench.request({
      type: 'readLogs',
      request: 1,
      id: job.id,
      task: undefined,
      failedOnly: false,
      cursor,
      attempt: undefined,
    });
    expect(answer).toMatchObject({ type: 'logPage', value: { next: Math.max(3, cursor) } });
  });

  test.each([
    [undefined, 2, undefined],
    [0, 1, true],
    [1, 1, undefined],
    [2, 1, undefined],
    [3, 0, undefined],
  ])('get output of attempt %o', (attempt, chunks, hasEarlier) => {
    const bench = new Bench();
    bench.members(W1);
    const job = bench.submit({ tasks: [{ sleep: 1 }] });
    bench.ask(W1, job);
    const chunk = { stream: 'stdout', bytes: new Uint8Array([1]) } as const;
    const output = { type: 'output', task: 0, attempt: 1, offset: 0, chunk, keptFrom: 0 } as const;
    bench.receive(W1, { ...output, job: job.number });
    job.tasks.setExecutions(0, 2);
    bench.receive(W1, { ...output, job: job.number });
    const ask = { id: job.id, task: undefined, failedOnly: false, cursor: 0, attempt } as const;
    const { value } = bench.request({ type: 'readLogs', request: 1, ...ask }) as MessageOf<'logPage'>;
    expect([value.chunks.length, value.hasEarlier]).toEqual([chunks, hasEarlier]);
  });

  test('get output that is acknowledged, and refused after a gap that the worker can fill', () => {
    const bench = new Bench();
    bench.members(W1);
    const job = bench.submit({ tasks: [{ sleep: 1 }] });
    bench.ask(W1, job);
    const chunk = { stream: 'stdout', bytes: new Uint8Array(4) } as const;
    const ref = { job: job.number, task: 0, attempt: 1 };
    const acknowledged = (offset: number, keptFrom: number) => {
      bench.receive(W1, { type: 'output', ...ref, offset, chunk, keptFrom });
      return bench.take('outputReceived').map(({ bytes, gap }) => [bytes, gap]);
    };
    expect(acknowledged(0, 0)).toEqual([[4, false]]);
    expect(acknowledged(8, 0)).toEqual([[4, true]]);
    expect(acknowledged(4, 0)).toEqual([[8, false]]);
    expect(acknowledged(0, 0)).toEqual([[8, false]]);
    expect(acknowledged(20, 20)).toEqual([[24, false]]);
  });

  test('acknowledge output of attempts that do not count, whose worker then reports their end', () => {
    const bench = new Bench();
    bench.members(W1);
    const job = bench.submit({ tasks: [{ sleep: 1 }] });
    const chunk = { stream: 'stdout', bytes: new Uint8Array(4) } as const;
    const late = { type: 'output', job: job.number, task: 0, attempt: 7, offset: 8, chunk } as const;
    bench.receive(W1, { ...late, keptFrom: 0 });
    expect(bench.take('outputReceived')).toMatchObject([{ attempt: 7, bytes: 12, gap: false }]);
    bench.receive(W1, { ...late, offset: Number.MAX_SAFE_INTEGER, keptFrom: 0 });
    expect(bench.take('outputReceived')).toMatchObject([{ bytes: Number.MAX_SAFE_INTEGER }]);
  });

  test('get no empty output of a task that does not exist, except of an open job', () => {
    const bench = new Bench();
    bench.members(W1);
    const ofTask = {
      type: 'readLogs',
      request: 1,
      task: 7,
      failedOnly: false,
      cursor: 0,
      attempt: undefined,
    } as const;
    const { id } = bench.submit({ tasks: [{ sleep: 1 }] });
    expect(bench.request({ ...ofTask, id })).toMatchObject({ type: 'refused', code: 'unknown-task' });
    const open = bench.submit({ open: '1h' });
    expect(bench.request({ ...ofTask, id: open.id })).toMatchObject({ type: 'logPage' });
  });
});

test('placements of a job cancelled meanwhile are withdrawn', () => {
  const bench = new Bench({ preset: { ...PRESETS.central } });
  bench.members(W1);
  const job = bench.submit({ tasks: [{ sleep: 1 }] });
  bench.scheduler.cancel(job, bench.now);
  expect(job.state).toBe('cancelled');
  bench.take('withdraw');
  bench.receive(CENTRAL, {
    type: 'placed',
    job: job.number,
    at: [{ task: 0, attempt: 1, worker: W1 }],
  });
  expect(bench.take('cancelTask')).toEqual([{ type: 'cancelTask', job: job.number, task: 0, attempt: 1 }]);
});

describe('a task that central has placed', () => {
  const placedOn = (bench: Bench, job: Job, worker: Address, attempt: number): void => {
    bench.receive(CENTRAL, { type: 'placed', job: job.number, at: [{ task: 0, attempt, worker }] });
  };
  const asks = (bench: Bench, job: Job, worker: Address, attempt: number): void => {
    const placed = { task: 0, attempt };
    bench.receive(worker, { type: 'ask', ask: 1, again: false, job: job.number, stage: 0, placed });
  };

  test('is placed again if its worker is lost, running or not', () => {
    const bench = new Bench({ preset: { ...PRESETS.central } });
    bench.members(W1, W2);
    const job = bench.submit({ tasks: [{ sleep: 1 }] });
    placedOn(bench, job, W1, 1);
    bench.take('place');
    bench.members(W2);
    expect(bench.take('place')).toMatchObject([{ tasks: [{ task: 0, attempt: 2 }] }]);
    expect(job.history).toMatchObject({ total: 0, lostCount: 0 });
    placedOn(bench, job, W2, 2);
    asks(bench, job, W2, 2);
    expect(bench.take('run')).toMatchObject([{ task: 0, attempt: 2 }]);
    bench.members(W1);
    expect(bench.take('place')).toMatchObject([{ tasks: [{ task: 0, attempt: 3 }] }]);
    expect(job.history).toMatchObject({ total: 1, lostCount: 1 });
    placedOn(bench, job, W1, 3);
    asks(bench, job, W1, 3);
    bench.end(W1, job, 0);
    expect(job.state).toBe('completed');
  });
});

describe('the need of tasks that central places', () => {
  const SECOND_MS = LIVE_TIMINGS.retryMs;
  const sweepFor = (bench: Bench, seconds: number): void => {
    for (let i = 0; i < seconds; i++) {
      bench.now += SECOND_MS;
      bench.scheduler.wake('sweep', 0, bench.now);
    }
  };
  const placedTasks = (bench: Bench): string[] =>
    bench.take('place').map(({ tasks }) => tasks.map((of) => `${of.task}/${of.attempt}`).join(' '));

  test('is repeated at growing intervals while central has no answer', () => {
    const bench = new Bench({ preset: { ...PRESETS.central } });
    bench.members(W1);
    bench.submit({ tasks: { count: 3, run: { sleep: 1 } } });
    expect(placedTasks(bench)).toEqual(['0/1 1/1 2/1']);
    sweepFor(bench, 4);
    expect(placedTasks(bench)).toEqual([]);
    sweepFor(bench, 1);
    expect(placedTasks(bench)).toEqual(['0/1 1/1 2/1']);
    sweepFor(bench, 9);
    expect(placedTasks(bench)).toEqual([]);
    sweepFor(bench, 1);
    expect(placedTasks(bench)).toEqual(['0/1 1/1 2/1']);
  });

  test('names as many tasks as may run, and after a restart of central those that it does not know', () => {
    const bench = new Bench({ preset: { ...PRESETS.central } });
    bench.members(W1, W2);
    const job = bench.submit({ maxRunning: 3, retries: 1, tasks: { count: 6, run: { sleep: 1 } } });
    expect(placedTasks(bench)).toEqual(['0/1 1/1 2/1']);
    const asks = (task: number, ask: number, attempt = 1): void => {
      const placed = { task, attempt };
      bench.receive(W1, { type: 'ask', ask, again: false, job: job.number, stage: 0, placed });
    };
    asks(0, 1);
    asks(2, 2);
    bench.end(W1, job, 2);
    expect(placedTasks(bench)).toEqual(['3/1']);
    bench.receive(W2, {
      type: 'declined',
      job: job.number,
      stage: 0,
      probes: 0,
      placed: { task: 1, attempt: 1 },
    });
    expect(placedTasks(bench)).toEqual(['1/2']);
    bench.receive(7 as Address, welcome({ preset: { ...PRESETS.central } }));
    expect(placedTasks(bench)).toEqual(['1/2 3/1']);
    asks(1, 3, 2);
    asks(3, 4);
    for (const task of [0, 1, 3]) bench.end(W1, job, task);
    expect(placedTasks(bench)).toEqual(['4/1', '5/1']);
  });

  test('names queued tasks again, and not those of a stage that must wait', () => {
    const bench = new Bench({ preset: { ...PRESETS.central } });
    bench.members(W1, W2);
    const run = { sleep: 1 };
    const job = bench.submit({
      stages: [
        { name: 'first', tasks: { count: 1, run } },
        { name: 'second', after: ['first'], tasks: { count: 2, run } },
      ],
    });
    bench.receive(CENTRAL, { type: 'placed', job: job.number, at: [{ task: 0, attempt: 1, worker: W1 }] });
    bench.take('place');
    sweepFor(bench, 5);
    expect(placedTasks(bench)).toEqual(['0/1']);
    // The first worker that asks gets the task.
    const placed = { task: 0, attempt: 1 };
    bench.receive(W2, { type: 'ask', ask: 1, again: false, job: job.number, stage: 0, placed });
    bench.end(W2, job, 0);
    expect(placedTasks(bench)).toEqual(['1/1 2/1']);
  });

  test('is answered by a worker that asks or returns the task before central', () => {
    const bench = new Bench({ preset: { ...PRESETS.central } });
    bench.members(W1, W2);
    const job = bench.submit({ tasks: { count: 2, run: { sleep: 1 } } });
    bench.take('place');
    const of = { job: job.number, stage: 0 };
    const placed = (task: number) => ({ task, attempt: 1 });
    bench.receive(W1, { type: 'ask', ask: 1, again: false, ...of, placed: placed(0) });
    expect(bench.take('run')).toMatchObject([{ task: 0, attempt: 1 }]);
    bench.receive(W2, { type: 'declined', ...of, probes: 0, placed: placed(1) });
    expect(placedTasks(bench)).toEqual(['1/2']);
    const late = [0, 1].map((task) => ({ ...placed(task), worker: W1 }));
    bench.receive(CENTRAL, { type: 'placed', job: job.number, at: late });
    bench.receive(W1, { type: 'ask', ask: 2, again: false, ...of, placed: placed(1) });
    expect(bench.take('none')).toHaveLength(1);
  });
});

test('a central that sends an update with every heartbeat is not silent', () => {
  const bench = new Bench();
  for (let i = 0; i < 10; i++) {
    bench.now += heartbeatMs;
    bench.members(W1);
    bench.scheduler.wake('heartbeat', 0, bench.now);
  }
  expect(bench.take('enlist')).toEqual([]);
});

test("the key of another user's job is taken, even after that job was evicted", () => {
  const sent: Message[] = [];
  let isOwn = false;
  const scheduler = loneScheduler(
    { memoryBytes: 40_000 },
    {
      send: (to, message) => void (to === CLIENT && sent.push(message)),
      clientKeyOf: () => (isOwn ? { name: 'ci', rights: ['submit'] } : undefined),
    },
  );
  scheduler.start(0);
  scheduler.receive(CENTRAL, welcome(), 0);
  scheduler.receive(CENTRAL, joined(1, [W1]), 0);
  const submit = (key: string, user: string): Message => {
    const spec = { user, tasks: [{ sleep: 1 }] };
    scheduler.receive(CLIENT, { type: 'submit', request: sent.length, key, spec }, 0);
    return sent.at(-1)!;
  };
  for (let i = 1; i <= 20; i++) {
    submit(`k${i}`, 'eve');
    scheduler.receive(W1, { type: 'ask', ask: i, again: false, job: i, stage: 0, placed: undefined }, 0);
    const rest = { runMs: 1, output: [], outputBytes: 0, ask: 0, attempt: 1, task: 0, outcome: COMPLETED };
    scheduler.receive(W1, { type: 'ended', report: i, job: i, ...rest }, 0);
  }
  expect(submit('k1', 'eve')).toMatchObject({ value: { job: 's-1', state: 'completed' } });
  expect(scheduler.tombstoneBytes).toBeGreaterThan(0);
  // Keys are separate per user: another user's key is a new job.
  isOwn = true;
  expect(submit('k1', 'ci')).toMatchObject({ type: 'accepted', value: { state: 'waiting' } });
});

test.each([
  [true, 2],
  [false, 1],
])(
  'with private names (%s) estimators see %i names in the jobs “etl” of two users',
  (hasPrivateNames, count) => {
    const scheduler = loneScheduler({ hasPrivateNames }, { send: () => {} });
    scheduler.start(0);
    scheduler.receive(CENTRAL, welcome(), 0);
    const names = ['ann', 'bob', 'ann'].map((user) => {
      const spec = { name: 'etl', logicalName: 'daily', user, tasks: [{ sleep: 1 }] };
      const { name, logicalName } = scheduler.submit(parseJobSpec(spec), undefined, 0).arriving;
      return `${name} ${logicalName}`;
    });
    expect(new Set(names).size).toBe(count);
    expect(names[0]).toBe(names[2]);
  },
);

test('matches of a previous central do not count once another one has welcomed the owner', () => {
  const [former, present] = [CENTRAL, 77 as Address];
  const goshawk = { preset: { ...PRESETS.goshawk } };
  const bench = new Bench(goshawk);
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }] });
  bench.receive(present, welcome(goshawk));
  bench.take('need');
  const matched = {
    type: 'matched',
    noneWaiting: undefined,
    newcomers: undefined,
    job: 1,
    stage: 0,
    workers: [{ worker: W1, match: 1 }],
  } as const;
  bench.receive(former, matched);
  expect(bench.take('run')).toEqual([]);
  bench.receive(present, matched);
  expect(bench.take('run')).toHaveLength(1);
});

test('a worker that is matched before central reports it has its name', () => {
  const bench = new Bench({ preset: { ...PRESETS.goshawk } });
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }] });
  bench.receive(CENTRAL, {
    type: 'matched',
    noneWaiting: undefined,
    newcomers: [{ worker: W2, name: 'new' }],
    job: 1,
    stage: 0,
    workers: [{ worker: W2, match: 1 }],
  });
  expect(bench.take('run')).toHaveLength(1);
  bench.receive(CLIENT, { type: 'describeJob', request: 1, id: 's-1', spec: false });
  expect(bench.take('jobDetail')[0]).toMatchObject({ value: { running: [{ worker: 'new' }] } });
});
