import type { Cluster, ExplainedJob } from '@goshawk/client';
import { type ClusterShares, type JobDetail, type JobSummary, UnreachableError } from '@goshawk/core';
import { expect, it } from 'vitest';
import { AttentionLog } from './attention.js';
import { Findings, gangLack, lackOf, mayBeSlow, suspectOf } from './findings.js';

const NOW = 1_764_000_000_000;

function job(
  id: string,
  running: readonly [task: number, elapsedMs: number][],
  more: object = {},
): JobDetail {
  return {
    ...{ id, name: 'etl', state: 'running', tasks: { waiting: 0 } },
    classifiedBy: 'given',
    stages: [
      { tasks: 10, meanRunMs: 3_000, counts: { completed: 3 } },
      { tasks: 10, estimateMs: 20_000 },
      { tasks: 10 },
    ],
    running: running.map(([task, elapsedMs]) => ({ task, attempt: 1, worker: 'w1', elapsedMs })),
    ...more,
  } as unknown as JobDetail;
}

function waiting(user: string, tasks: number): JobSummary {
  return { user, tasks: { waiting: tasks } } as unknown as JobSummary;
}

it('finds a task that runs ten times longer than others of its stage, or than its estimate', () => {
  const findings = new Findings();
  findings.noteJob(job('a-1', [[3, 44_000]]), NOW);
  findings.noteJob(
    job('a-2', [
      [3, 61_000],
      [4, 70_000],
    ]),
    NOW,
  );
  findings.noteJob(job('a-3', [[12, 199_000]]), NOW);
  findings.noteJob(job('a-4', [[12, 201_000]]), NOW);
  // An estimate from other jobs of the user, or two completed tasks, say nothing about this job.
  findings.noteJob(job('a-6', [[12, 201_000]], { classifiedBy: 'history' }), NOW);
  const few = [{ tasks: 10, meanRunMs: 3_000, counts: { completed: 2 } }];
  findings.noteJob(job('a-7', [[3, 201_000]], { stages: few }), NOW);
  // No run times of its stage are known.
  findings.noteJob(job('a-5', [[25, 9_000_000]]), NOW);
  expect(findings.list(NOW).map(({ what }) => what)).toEqual([
    'etl (a-4): task 12 has run for 3 min 21 s on w1, where 20 s is estimated',
    'etl (a-2): task 4 has run for 1 min 10 s on w1, where 3 s is usual, and 1 more task like it',
  ]);
  findings.noteJob(job('a-2', [[3, 1_000]]), NOW);
  findings.noteJob(job('a-4', [[12, 201_000]], { state: 'failed', failures: [] }), NOW);
  expect(findings.list(NOW)).toEqual([]);
});

it('needs the spec of a job only if a task is slow against an estimate that may be predicted', () => {
  const predicted = { classifiedBy: 'history' };
  expect(mayBeSlow(job('a-1', [[12, 201_000]], predicted))).toBe(true);
  expect(mayBeSlow(job('a-1', [[12, 199_000]], predicted))).toBe(false);
  expect(mayBeSlow(job('a-1', [[12, 201_000]]))).toBe(false);
  expect(mayBeSlow(job('a-1', [[12, 201_000]], { ...predicted, state: 'failed' }))).toBe(false);
  const findings = new Findings();
  findings.noteJob(job('a-1', [[12, 201_000]], predicted), NOW, [undefined, 20_000]);
  expect(findings.list(NOW)).toMatchObject([{ what: expect.stringContaining('where 20 s is estimated') }]);
  findings.noteJob(job('a-1', [[12, 201_000]], predicted), NOW, [20_000, undefined]);
  expect(findings.list(NOW)).toEqual([]);
});

it('knows the most frequent cause of a failed job, until the job is retried', () => {
  const findings = new Findings();
  const failed = (id: string, failures: object[]) =>
    findings.noteJob(job(id, [], { state: 'failed', endedMs: 5, failures }), NOW);
  const exits = [2, 3, 3].map((exitCode) => ({ exitCode, message: `exit code ${exitCode}`, kind: 'failed' }));
  failed('a-1', exits);
  failed('a-2', [{ signal: 'SIGKILL', message: 'killed', kind: 'failed' }]);
  failed('a-3', [{ message: 'the program x does not exist', kind: 'failed' }]);
  failed('a-4', [{ message: '', kind: 'timeout' }]);
  failed('a-5', []);
  const ids = ['a-1', 'a-2', 'a-3', 'a-4', 'a-5', 'a-6'];
  expect(ids.map((id) => findings.causeOf({ id, endedMs: 5 }))).toEqual([
    ...['exit code 3', 'signal SIGKILL', 'the program x does not exist', 'timeout'],
    ...[undefined, undefined],
  ]);
  expect(findings.causeOf({ id: 'a-1', endedMs: 9 })).toBeUndefined();
  findings.noteJob(job('a-1', []), NOW);
  expect(findings.causeOf({ id: 'a-1', endedMs: 5 })).toBeUndefined();
});

it('forgets a slow task of a job that is no longer sampled', () => {
  const findings = new Findings();
  findings.noteJob(job('a-1', [[3, 61_000]]), NOW);
  findings.noteJob(job('a-2', []), NOW + 299_000);
  expect(findings.list(NOW + 299_000)).toHaveLength(1);
  // Even if no other job is sampled either.
  expect(findings.list(NOW + 300_000)).toEqual([]);
});

type Share = readonly [user: string, cpu: number, due?: number];

function shares(...users: readonly Share[]): ClusterShares {
  return {
    capacity: { cpu: 10, gpu: 8 },
    jobs: users.map(([user, cpu, due]) => ({
      ...{ id: `${user}-1`, user, weight: 1, running: cpu, waiting: 1, has: { cpu } },
      ...(due === undefined ? {} : { due: { cpu: due } }),
    })),
    total: users.length,
  };
}

it('suspects a user with most of the waiting tasks while others wait, without those on hold', () => {
  expect(suspectOf([waiting('bob', 5_000)])).toBeUndefined();
  expect(suspectOf([waiting('bob', 90), waiting('ann', 1)])).toBeUndefined();
  expect(suspectOf([waiting('bob', 500), waiting('ann', 500)])).toBeUndefined();
  expect(suspectOf([waiting('bob', 4_000), waiting('ann', 10), waiting('bob', 1_000)])).toEqual({
    ...{ user: 'bob', tasks: 5_000, total: 5_010, users: 2 },
  });
  const held = [{ held: true }, { beginAt: NOW }].map((more) => ({ ...waiting('bob', 5_000), ...more }));
  expect(suspectOf([...held, waiting('bob', 10), waiting('ann', 10)])).toBeUndefined();
});

it('calls a user a flood only above the fair share', () => {
  const findings = new Findings();
  const suspect = suspectOf([waiting('bob', 5_000), waiting('ann', 10)]);
  const whats = (...users: readonly Share[]) => {
    findings.noteFlood(suspect, shares(...users));
    return findings.list(NOW).map(({ what }) => what);
  };
  expect(whats(['bob', 6, 5], ['ann', 4, 5])).toEqual([
    'user bob has 5,000 of 5,010 waiting tasks, and uses 60.0% of the cpu where 50.0% is the fair share',
  ]);
  expect(whats(['bob', 5, 5], ['ann', 5, 5])).toEqual([]);
  // Without enforced shares, equal parts are fair.
  expect(whats(['bob', 6], ['ann', 4])).toHaveLength(1);
  expect(whats(['bob', 4], ['ann', 6])).toEqual([]);
  findings.noteFlood(suspect, undefined);
  expect(findings.list(NOW)).toEqual([]);
});

it('a gang is explained without its resources while central does not answer', async () => {
  const gang = { job: { id: 'a-1' }, waiting: [] } as unknown as ExplainedJob;
  const away = async () => {
    throw new UnreachableError('unreachable', 'nobody answers');
  };
  const cluster = { job: () => ({ describe: away }), shares: away } as unknown as Cluster;
  expect(await gangLack(cluster, gang, AbortSignal.timeout(60_000))).toBeUndefined();
});

it('says which resource a gang lacks, and who has it', () => {
  const stages = [{ name: 'tasks', tasks: 8, demand: { cpu: 1, gpu: 1 } }] as unknown as JobDetail['stages'];
  const gang = {
    waiting: [{ stage: 'tasks', reason: 'resources', tasks: 8, waitedMs: 1 }],
  } as unknown as ExplainedJob;
  const books = shares(['eve', 3], ['', 1]);
  const has = [{ cpu: 1, gpu: 3 }, { cpu: 9 }];
  const taken = { ...books, jobs: books.jobs.map((one, at) => ({ ...one, has: has[at]! })) };
  expect(lackOf(stages, gang, taken)).toBe('it needs 8 gpu, and 5 of 8 are free; eve has 3');
  expect(lackOf([{ ...stages[0]!, demand: { cpu: 2 } }], gang, books)).toBe(
    'it needs 16 cpu, and 6 of 10 are free; eve has 3, -1 has 1',
  );
  expect(lackOf([{ ...stages[0]!, tasks: 5 }], gang, books)).toBeUndefined();
});

function explained(
  id: string,
  more: { why?: string; missing?: string; waitedMs?: number; state?: string; reason?: string },
) {
  const { why, missing, waitedMs = 61_000, state = 'waiting', reason = 'resources' } = more;
  return {
    job: { id, name: 'train', state },
    waiting: [{ reason, tasks: 8, waitedMs, missing }],
    central: { needs: [{ why }] },
  } as unknown as ExplainedJob;
}

it('finds a gang that has waited for 45 s, until it starts', () => {
  const why = 'all 8 tasks of a gang start together, and 0 of them would fit now';
  const findings = new Findings();
  findings.noteWaiting(explained('a-1', { why }), NOW);
  findings.noteWaiting(explained('a-2', { why, waitedMs: 44_000 }), NOW);
  findings.noteWaiting(explained('a-3', { why: 'user ann has 4 CPUs of the 4' }), NOW);
  // More workers would not help.
  const limit = 'user ann has 1 CPU of the 8, and the 8 tasks of a gang start together';
  findings.noteWaiting(explained('a-4', { why: limit, reason: 'user-limit' }), NOW);
  expect(findings.list(NOW)).toMatchObject([
    { what: `gang train (a-1) has waited for 1 min 1 s: ${why}`, link: '#/jobs/a-1' },
  ]);
  findings.noteWaiting(explained('a-1', { why, state: 'completed' }), NOW);
  expect(findings.list(NOW)).toEqual([]);
});

it('no longer shows what a job lacks once nothing of it waits', () => {
  const why = 'all 8 tasks of a gang start together, and 0 of them would fit now';
  const findings = new Findings();
  findings.noteWaiting(explained('a-1', { why }), NOW);
  findings.noteJob(job('a-1', [], { tasks: { waiting: 8 } }), NOW);
  expect(findings.list(NOW)).toHaveLength(1);
  findings.noteJob(job('a-1', [[0, 1]], { tasks: { waiting: 0 } }), NOW);
  expect(findings.list(NOW)).toEqual([]);
  expect(findings.missingOf('a-1', NOW)).toBeUndefined();
});

it('remembers for a while what an explained job lacks', () => {
  const findings = new Findings();
  findings.noteWaiting(explained('a-1', { missing: 'no worker has rack=r9' }), NOW);
  expect(findings.missingOf('a-1', NOW)).toBe('no worker has rack=r9');
  expect(findings.missingOf('a-2', NOW)).toBeUndefined();
  expect(findings.missingOf('a-1', NOW + 300_000)).toBeUndefined();
  const why = 'all 4 tasks of a gang start together, and 2 of them would fit now';
  findings.noteWaiting(explained('a-3', { why }), NOW, 'it needs 4 gpu');
  expect(findings.lackOf('a-3', NOW)).toBe('it needs 4 gpu');
  expect(findings.lackOf('a-1', NOW)).toBeUndefined();
  expect(findings.lackOf('a-3', NOW + 30_000)).toBeUndefined();
});

it('names a job that will probably miss its deadline, once, and then the miss for an hour', () => {
  const MINUTE = 60_000;
  const findings = new Findings();
  const log = new AttentionLog();
  const summary = (more: Partial<JobSummary>) =>
    ({
      ...{ id: 'a-1', name: 'report', state: 'running', tasks: { waiting: 3, running: 1 } },
      ...{ submittedAt: NOW, deadlineMs: 10 * MINUTE },
      ...more,
    }) as JobSummary;
  const ends = (at: number, now: number) => ({
    expectedEnd: { at, earliest: at - MINUTE, latest: at + MINUTE, computedAt: now },
  });
  const seen = (job: JobSummary, now: number) => {
    findings.noteDeadlines([job], now);
    return log.note(findings.list(now), now).map(({ level, what, times }) => ({ level, what, times }));
  };
  expect(seen(summary({}), NOW)).toEqual([]);
  expect(seen(summary(ends(NOW + 9 * MINUTE, NOW)), NOW)).toEqual([]);
  const risk = seen(summary(ends(NOW + 13 * MINUTE, NOW)), NOW + MINUTE);
  expect(risk).toEqual([
    {
      level: 'warning',
      what: 'report (a-1) will probably miss its deadline in 9 min 0 s: it is expected to end 3 min 0 s after it',
      times: 1,
    },
  ]);
  expect(seen(summary(ends(NOW + 14 * MINUTE, NOW)), NOW + 2 * MINUTE)).toMatchObject([{ times: 1 }]);
  const missed = seen(summary({}), NOW + 11 * MINUTE);
  expect(missed).toEqual([
    { level: 'error', what: 'report (a-1) missed its deadline 1 min 0 s ago and still runs', times: 1 },
  ]);
  const late = summary({ state: 'completed', endedMs: 12 * MINUTE });
  expect(seen(late, NOW + 20 * MINUTE)[0]!.what).toBe('report (a-1) missed its deadline 10 min 0 s ago');
  // Later polls do not list the ended job.
  findings.noteDeadlines([], NOW + 30 * MINUTE);
  expect(findings.list(NOW + 30 * MINUTE)).toHaveLength(1);
  findings.noteDeadlines([], NOW + 71 * MINUTE);
  expect(findings.list(NOW + 71 * MINUTE)).toEqual([]);
  expect(seen(summary({ state: 'failed', endedMs: MINUTE }), NOW + 2 * MINUTE)).toEqual([]);
});
