import { type JobInput, LIMITS, parseJobSpec } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jobOf, startTasks } from '../job/job.fixture.js';
import type { Job } from '../job/job.js';
import { NO_LIMITS } from '../lone-scheduler.fixture.js';
import { JobStore } from './job-store.js';
import { sharesOf } from './memory-shares.js';
import { Quotas } from './quotas.js';

const USERS = ['ann', 'bob'] as const;
type User = (typeof USERS)[number];

/** The jobs of one scheduler, and what it admits. */
class Member {
  readonly jobs: JobStore;
  readonly quotas: Quotas;
  readonly active: { readonly job: Job; readonly user: User }[] = [];

  constructor(tag: string, isCentralSilent: () => boolean) {
    this.jobs = new JobStore({
      config: { tag, endedJobsMax: 100, endedJobsKeepMs: 1e9, logBytesMax: 1_000, wallOffsetMs: 0 },
      lastJob: 0,
      shares: sharesOf(1e9),
      records: { recordsDeleted() {} },
      random: () => 0.5,
    });
    this.quotas = new Quotas(this.jobs, isCentralSilent);
  }

  /** @returns whether the job was admitted */
  submit(user: User, tasks: number, parent?: Job): boolean {
    const of = parent && { job: this.jobs.idOf(parent.number), task: 0, worker: 'w', match: 0 };
    const input: JobInput = {
      user,
      tasks: Array.from({ length: tasks }, () => ({ sleep: 1 })),
      ...(of === undefined ? {} : { parent: of }),
    };
    if (this.quotas.refusalOf(parseJobSpec(input), tasks, 0, 0) !== undefined) return false;
    const job = jobOf(input, { number: this.jobs.allocateId().number });
    this.jobs.add(job);
    this.active.push({ job, user });
    return true;
  }

  end(at: number): void {
    const ended = this.active.splice(at % Math.max(1, this.active.length), 1)[0];
    if (ended === undefined) return;
    ended.job.end(0);
    this.jobs.ended(ended.job, 0);
  }
}

/** Schedulers of which each knows the usage of all others as of the last round. */
class Group {
  isCentralAway = false;
  readonly members: readonly Member[];
  /** The limit of ann, and that of the project that she shares with bob. */
  limit: number;

  constructor(size: number, limit: number) {
    this.limit = limit;
    this.members = Array.from({ length: size }, (_, at) => new Member(`s${at}`, () => this.isCentralAway));
    this.exchange();
  }

  exchange(isComplete = true): void {
    const reports = this.members.map(({ quotas }) => quotas.usageReport());
    const holders = [
      { ...NO_LIMITS, holder: 'ann', project: 'p', waiting: this.limit },
      { ...NO_LIMITS, holder: 'bob', project: 'p' },
      { ...NO_LIMITS, holder: '@p', waiting: this.limit },
    ];
    for (const [at, { quotas }] of this.members.entries()) {
      const elsewhere = reports.flatMap((report, of) => (of === at ? [] : report));
      const sumOf = (users: readonly string[]): number =>
        elsewhere.reduce((sum, { user, waiting }) => sum + (users.includes(user) ? waiting : 0), 0);
      quotas.setLimits({
        type: 'limits',
        holders,
        elsewhere: isComplete ? USERS.map((user) => ({ user, waiting: sumOf([user]), journal: 0 })) : [],
        projectsElsewhere: isComplete ? [{ user: 'p', waiting: sumOf(USERS), journal: 0 }] : [],
        part: isComplete ? { index: at, of: this.members.length } : undefined,
      });
    }
  }

  waiting(): number {
    let sum = 0;
    for (const { jobs } of this.members) for (const user of USERS) sum += jobs.activeOf(user).waiting;
    return sum;
  }

  /** Submits jobs of one task to all schedulers until they admit no more. @returns the number admitted */
  fill(user: User): number {
    let count = 0;
    for (const member of this.members) while (member.submit(user, 1)) count++;
    return count;
  }
}

const event = fc.record({
  at: fc.nat({ max: 4 }),
  kind: fc.constantFrom('submit', 'submit', 'nested', 'start', 'end'),
  user: fc.constantFrom(...USERS),
  tasks: fc.integer({ min: 1, max: 12 }),
});
type Event = typeof event extends fc.Arbitrary<infer E> ? E : never;

function apply(group: Group, { at, kind, user, tasks }: Event): void {
  const member = group.members[at % group.members.length]!;
  const any = member.active[tasks % Math.max(1, member.active.length)];
  if (kind === 'submit') member.submit(user, tasks);
  else if (kind === 'end') member.end(tasks);
  else if (any === undefined) return;
  else if (kind === 'nested') member.submit(any.user, tasks, any.job);
  else if (any.job.counts.running === 0) startTasks(any.job, 0);
}

describe('the waiting tasks of all schedulers while central is away', () => {
  const setup = {
    size: fc.integer({ min: 1, max: 5 }),
    limit: fc.integer({ min: 1, max: 40 }),
    before: fc.array(event, { maxLength: 40 }),
    during: fc.array(event, { maxLength: 40 }),
    isRestarting: fc.boolean(),
  };

  function outage(size: number, limit: number, before: readonly Event[], isRestarting: boolean): Group {
    const group = new Group(size, limit);
    for (const each of before) {
      apply(group, each);
      group.exchange();
    }
    group.exchange();
    // A central that restarts answers, but has not heard all schedulers.
    if (isRestarting) {
      for (const { quotas } of group.members) quotas.centralReplaced();
      group.exchange(false);
    } else group.isCentralAway = true;
    return group;
  }

  test('never exceed a limit', () => {
    fc.assert(
      fc.property(fc.record(setup), ({ size, limit, before, during, isRestarting }) => {
        const flat = (events: Event[]) => events.filter(({ kind }) => kind !== 'nested');
        const group = outage(size, limit, flat(before), isRestarting);
        for (const each of flat(during)) {
          apply(group, each);
          expect(group.waiting()).toBeLessThanOrEqual(limit);
        }
        for (const user of USERS) group.fill(user);
        expect(group.waiting()).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test('do not return to a limit that was lowered', () => {
    fc.assert(
      fc.property(fc.record(setup), fc.integer({ min: 0, max: 40 }), ({ size, limit, before }, lowered) => {
        const group = new Group(size, limit);
        for (const each of before) apply(group, each);
        group.limit = Math.min(limit, lowered);
        group.exchange();
        group.exchange();
        group.isCentralAway = true;
        for (const member of group.members) while (member.active.length > 0) member.end(0);
        group.fill('bob');
        expect(group.waiting()).toBeLessThanOrEqual(group.limit);
      }),
    );
  });

  test('exceed a limit only by the levels of nested jobs of each scheduler', () => {
    fc.assert(
      fc.property(fc.record(setup), ({ size, limit, before, during, isRestarting }) => {
        const group = outage(size, limit, before, isRestarting);
        for (const each of during) {
          apply(group, each);
          expect(group.waiting()).toBeLessThanOrEqual(limit * (1 + size * LIMITS.nestedMax));
        }
      }),
    );
  });

  test('reach a limit, also one that is smaller than the number of schedulers', () => {
    fc.assert(
      fc.property(fc.record(setup), ({ size, limit, before, isRestarting }) => {
        const flat = before.filter(({ kind }) => kind !== 'nested');
        const group = outage(size, limit, flat, isRestarting);
        group.fill('bob');
        expect(group.waiting()).toBe(limit);
        // A job that ends makes room where it was.
        group.members.find(({ active }) => active.length > 0)!.end(0);
        group.fill('bob');
        expect(group.waiting()).toBe(limit);
      }),
    );
  });
});
