import type { ExplainedJob } from '@goshawk/client';
import { painter } from '@goshawk/command';
import { type LendingView, type NeedView, whyJson, withCentralLimits } from '@goshawk/core';
import { expect, it } from 'vitest';
import { jobDetail, jobSummary } from './jobs.fixture.js';
import { waitingPage, whyPage } from './why-page.js';

function waits(ahead: NeedView['ahead']): ExplainedJob {
  const job = jobSummary({ state: 'waiting', endedMs: undefined, classifiedBy: 'default (no estimate)' });
  const need = { stage: 0, kind: 'short', tasks: 3, demand: {}, waitedMs: 10, ahead, kept: 0 } as const;
  return {
    job,
    owner: 's0',
    number: 3,
    waiting: [{ stage: 'tasks', reason: 'matching', tasks: 3, waitedMs: 10 }],
    probes: [],
    probesOut: 0,
    probesMoved: 0,
    matches: 0,
    placed: [],
    wastedMs: 0,
    central: { needs: [need], slots: 4, freeSlots: 0, longRunning: 0, longLimit: 4, unmatched: 31 },
  };
}

const background = { cutoff: { cutoffMs: 10_000, cutoffJobs: null }, ended: undefined, now: 0 };
const page = (explained: ExplainedJob) => whyPage(explained, background, painter({ color: false }));

it('shows how many long tasks run, and their limit', () => {
  const central = { slots: 20, freeSlots: 20, longRunning: 0, longLimit: 18, unmatched: 0 };
  const text = waitingPage(
    { waiting: [], central: { needs: [], ...central }, silent: [] },
    painter({ color: false }),
  );
  expect(text).toContain('20 CPUs, 20 free, long tasks use 0 of at most 18 CPUs; 0 tasks without a worker');
  const over = { needs: [], ...central, longRunning: 12, longLimit: 11 };
  expect(waitingPage({ waiting: [], central: over, silent: [] }, painter({ color: false }))).toContain(
    'long tasks use 12 CPUs, and the limit is now 11',
  );
});

it('says that its numbers are those of the schedulers that answer', () => {
  const [waiting, silent] = [[], ['scheduler s0']];
  const text = waitingPage({ waiting, central: undefined, silent }, painter({ color: false }));
  expect(text).toContain('no task waits at the schedulers that answer');
  expect(text).toMatch(/no answer +scheduler s0/);
});

it('names the limit of a user that holds tasks, and that more workers do not help', () => {
  const why = '--users allows user ann 2 running tasks at a time; tasks that run or start first take 2';
  const age = { example: 'a-1', exampleAgeMs: 1_000 };
  const limited = [{ ...age, class: 'short', reason: 'user-limit', tasks: 5, why }] as const;
  const waiting = withCentralLimits([{ ...age, class: 'short', reason: 'matching', tasks: 3 }], limited);
  const text = waitingPage({ waiting, central: undefined, silent: [] }, painter({ color: false }));
  expect(text).toContain(`3 tasks of short jobs: ${why}`);
  expect(text).toContain('helps: no action needed: they start when other tasks of the user end');
  expect(text).not.toMatch(/matching|more workers/);
});

it('names as an example of tasks without a limit a job that no limit holds', () => {
  const gang = { example: 'gang-2', exampleAgeMs: 9_000, class: 'short' } as const;
  const explained = [
    { ...gang, reason: 'resources', tasks: 6, why: 'all 6 tasks of a gang start together' },
    { example: 'flood-3', exampleAgeMs: 7_000, class: 'short', reason: 'matching', tasks: 2_000 },
  ] as const;
  const waiting = withCentralLimits([{ ...gang, reason: 'matching', tasks: 2_006 }], explained);
  expect(
    waiting.map(({ reason, tasks, example, exampleAgeMs }) => [reason, tasks, example, exampleAgeMs]),
  ).toEqual([
    ['matching', 2_000, 'flood-3', 7_000],
    ['resources', 6, 'gang-2', 9_000],
  ]);
});

it('names the limit of tasks whose class central does not know yet', () => {
  const age = { example: 'a-1', exampleAgeMs: 1_000 };
  const limited = [
    { ...age, class: 'short', reason: 'user-limit', tasks: 2, why: 'first' },
    { ...age, class: 'long', reason: 'user-limit', tasks: 4, why: 'second' },
  ] as const;
  const matching = { ...age, reason: 'matching' } as const;
  const groups = [
    { ...matching, class: 'short', tasks: 5 },
    { ...matching, class: 'long', tasks: 1 },
  ] as const;
  const named = withCentralLimits(groups, limited).map((group) => [group.class, group.why, group.tasks]);
  expect(named).toEqual([
    ['short', 'second', 3],
    ['short', 'first', 2],
    ['long', 'second', 1],
  ]);
});

it('has a line each for the first ten of many stages', () => {
  const waiting = waits({ jobs: 0, tasks: 0, workMs: 0 });
  const stages = Array.from({ length: 1_000 }, (_, stage) => ({
    ...waiting.waiting[0]!,
    stage: `s${stage}`,
  }));
  const text = page({ ...waiting, waiting: stages });
  expect(text).toMatch(/of s9, .*\n.*and 990 more lines \(--json has all\)\n/);
  expect(text).not.toContain('of s10,');
});

it('shows no time if it is unknown', () => {
  const unknown = waits({ jobs: 1, tasks: 28, workMs: 0 });
  expect(page(unknown)).toContain('after 28 tasks of 1 job, whose run times are unknown');
  expect(page(unknown)).not.toMatch(/about|\b0 ms/);
  expect(whyJson(unknown, { now: 0, cutoff: background.cutoff })).toMatchObject({
    line: { needs: [{ expectedSeconds: null }] },
  });
  expect(
    whyJson(waits({ jobs: 0, tasks: 0, workMs: 0 }), { now: 0, cutoff: background.cutoff }),
  ).toMatchObject({
    line: { needs: [{ expectedSeconds: null }] },
  });
});

it('shows the estimated wait if there are estimates', () => {
  const known = waits({ jobs: 1, tasks: 28, workMs: 28_000 });
  expect(page(known)).toContain('after 28 tasks of 1 job, in about 7 s');
  expect(whyJson(known, { now: 0, cutoff: background.cutoff })).toMatchObject({
    line: { needs: [{ expectedSeconds: 7 }] },
  });
});

it('shows bounds of the next start, from earlier waits', () => {
  const explained = waits({ jobs: 1, tasks: 28, workMs: 28_000 });
  const [need] = explained.central!.needs;
  const starts = { p10: 2_000, p50: 5_000, p90: 20_000, waits: 256 };
  const answered = { ...explained, central: { ...explained.central!, needs: [{ ...need!, starts }] } };
  expect(page(answered)).toContain(
    'the next starts in 5 s, 2 s to 20 s in 8 of 10 cases (256 earlier waits)',
  );
  expect(whyJson(answered, { now: 0, cutoff: background.cutoff })).toMatchObject({
    line: { needs: [{ startsInSeconds: { p10: 2, p50: 5, p90: 20, waits: 256 } }] },
  });
});

it('shows the explanation of the policy, if it has one', () => {
  const explained = waits({ jobs: 1, tasks: 28, workMs: 0 });
  const [need] = explained.central!.needs;
  const why = 'each task needs cpu 2; the largest room left at a worker is cpu 1';
  const answered = { ...explained, central: { ...explained.central!, needs: [{ ...need!, why }] } };
  expect(page(answered)).toContain(`at central: ${why}`);
  expect(whyJson(answered, { now: 0, cutoff: background.cutoff })).toMatchObject({
    line: { needs: [{ why }] },
  });
});

it('shows where the policy plans to start the job, and in JSON when', () => {
  const explained = waits({ jobs: 1, tasks: 28, workMs: 28_000 });
  const [need] = explained.central!.needs;
  const plan = { why: 'its gang fits at the next slot', expected: { inMs: 12_000, where: 'rack-1' } };
  const answered = { ...explained, central: { ...explained.central!, needs: [{ ...need!, ...plan }] } };
  expect(page(answered)).toContain('its gang fits at the next slot; planned for rack-1');
  expect(whyJson(answered, { now: 0, cutoff: background.cutoff })).toMatchObject({
    line: { needs: [{ expectedSeconds: 12 }] },
  });
});

it('shows missing attributes of eligible workers, where they exist, and what to do', () => {
  const missing =
    'only workers of the short partition have zone=eu (w1), but the job uses the general partition';
  const explained = waits({ jobs: 0, tasks: 0, workMs: 0 });
  const requires = [{ name: 'zone', value: 'eu' }];
  const waiting = [{ ...explained.waiting[0]!, reason: 'placing' as const, requires, missing }];
  const text = whyPage({ ...explained, waiting }, { ...background, workers: [] }, painter({ color: false }));
  expect(text).toContain(`(placing); ${missing}`);
  expect(text).not.toContain('no worker has zone=eu');
  expect(whyJson({ ...explained, waiting }, { now: 0, cutoff: undefined })).toMatchObject({
    cutoffSeconds: null,
    cutoffFrom: null,
    waiting: [{ requires: { zone: 'eu' }, missing }],
  });
});

it('shows the cutoff between short and long', () => {
  const known = waits({ jobs: 0, tasks: 0, workMs: 0 });
  expect(page(known)).toContain('a job whose tasks take 10 s or more on average is long (set by --cutoff)');
  expect(whyJson(known, { now: 0, cutoff: background.cutoff })).toMatchObject({
    cutoffSeconds: 10,
    cutoffFrom: 'said',
  });
});

it('shows everything about an ended job that `job` shows', () => {
  const job = jobDetail({ estimateMs: 1_000 });
  const ended = { ...waits({ jobs: 0, tasks: 0, workMs: 0 }), job, waiting: [] };
  const text = whyPage(ended, { ...background, ended: job }, painter({ color: false }));
  expect(text).toMatch(/ran +500 ms per task/);
  expect(text).toMatch(/estimate +1 s per task, which was 100% too high/);
});

it('shows what the tasks of an ended job waited for', () => {
  const job = jobSummary({ state: 'completed' });
  const spread = { tasks: 8, p50: 4_000, p90: 6_000, max: 6_000 };
  const ended = { ...waits({ jobs: 0, tasks: 0, workMs: 0 }), job, waiting: [], waits: spread };
  const worker = { phase: 'worker', tasks: 8, meanMs: 3_500, maxMs: 6_000 } as const;
  expect(page({ ...ended, waitSums: [worker] })).toContain(
    'max 6 s (8 tasks that have started), for a worker',
  );
  const stage = { phase: 'stage', tasks: 7, meanMs: 3_830, maxMs: 3_830 } as const;
  const text = page({ ...ended, waitSums: [stage, worker] });
  expect(text).toContain('3.83 s for the stages before theirs (7 tasks)');
  expect(text).toContain('3.5 s on average, 6 s at most, for a worker (8 tasks)');
  expect(whyJson({ ...ended, waitSums: [stage] }, { now: 0, cutoff: background.cutoff })).toMatchObject({
    waited: [{ phase: 'stage', tasks: 7, meanSeconds: 3.83, maxSeconds: 3.83 }],
  });
});

it('says until when a job must start to meet its deadline', () => {
  const explained = waits({ jobs: 0, tasks: 0, workMs: 0 });
  const need = { ...explained.central!.needs[0]!, latestStart: { inMs: 480_000, isTooLate: false } };
  const job = { ...explained.job, deadlineMs: 600_000 };
  const now = job.submittedAt;
  const late = { ...explained, job, central: { ...explained.central!, needs: [need] } };
  expect(whyPage(late, { ...background, now }, painter({ color: false }))).toMatch(
    /deadline +in 10 min 0 s; its waiting tasks must start within 8 min 0 s,/,
  );
  expect(page(explained)).not.toContain('deadline');
});

it('counts pilots on hold with the other tasks of their stage', () => {
  const wait = { stage: 'tasks', index: 0, reason: 'held', waitedMs: 66_000 } as const;
  const waiting = [
    { ...wait, tasks: 1 },
    { ...wait, tasks: 4 },
  ];
  expect(page({ ...waits({ jobs: 0, tasks: 0, workMs: 0 }), waiting })).toMatch(
    /waiting +5 tasks, waiting for 1 min 6 s; now: their job is on hold .*\n +queue/,
  );
});

it('says what a task lends and borrows', () => {
  const of = {
    task: 3,
    stage: 'tasks',
    state: 'running',
    isPilot: false,
    attempts: 1,
    waitedMs: 0,
    ranMs: 5,
  };
  const shown = (lending: LendingView) => {
    const explained = { ...waits({ jobs: 0, tasks: 0, workMs: 0 }), task: { ...of, ...lending } };
    return { text: page(explained), json: whyJson(explained, { now: 0, cutoff: undefined }).task };
  };
  const lent = shown({ lentTo: { job: 'b2-7', task: 4 }, pausedMs: 2_000 });
  expect(lent.text).toContain('is paused for 2 s while task b2-7/4 uses its CPU\n');
  expect(lent.json).toMatchObject({ pausedSeconds: 2, lentTo: 'b2-7/4', borrows: false });
  const borrowedFrom = [{ job: 'train-17', task: 3 }];
  const borrows = shown({ borrows: true, borrowedFrom });
  expect(borrows.text).toMatch(/borrows the CPU of task train-17\/3, which has paused for it for 5 ms\n/);
  expect(shown({ borrowedFrom }).text).toContain('ran beside task train-17/3, which paused for it\n');
  expect(borrows.json).toMatchObject({
    pausedSeconds: 0,
    lentTo: null,
    borrowedFrom: ['train-17/3'],
    borrows: true,
  });
  expect(shown({ borrows: true }).text).toContain('borrows the CPU of a task, which has paused for it');
  expect(shown({ pausedMs: 3_000 }).text).toContain('was paused for 3 s while others used its CPU\n');
  const parent = shown({ lentTo: { job: 'b2-7', task: 4 }, toChild: true });
  expect(parent.text).toContain('shares its CPU with task b2-7/4, whose job it has submitted\n');
  expect(parent.json).toMatchObject({ lentTo: 'b2-7/4', toChild: true, fromParent: false });
  const child = { borrowedFrom, fromParent: true };
  const words = 'the CPU of its parent, task train-17/3, which has submitted the job';
  expect(shown({ ...child, borrows: true }).text).toContain(`uses ${words}\n`);
  expect(shown(child).text).toContain(`used ${words}\n`);
  const lentTo = { job: 'b2-7', task: 4 };
  expect(shown({ ...child, borrows: true, lentTo, toChild: true }).text).toContain(
    `uses ${words}, and shares its CPU with task b2-7/4`,
  );
  expect(shown({}).text).not.toMatch(/CPU of|paused/);
});
