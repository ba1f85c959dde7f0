import type { ClusterView, ClusterWaiting, Jobs } from '@goshawk/client';
import { type JobSummary, UnreachableError, WAITING_REASONS } from '@goshawk/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AttentionLog } from './attention.js';
import { overviewOf, type PollResult } from './overview.js';
import { pastFinding } from './past-findings.js';
import { WorkerTable } from './worker-table.js';

const PROBLEM = new UnreachableError('unreachable', 'central does not respond');

function viewOf(
  workers: readonly { slots: number; busy: number; queued: number }[],
  jobs: number,
): ClusterView {
  return {
    settings: { policy: { policy: 'goshawk' } },
    workers: workers.map((worker, index) => ({
      name: `w${index}`,
      state: 'active',
      partition: 'general',
      ...worker,
    })),
    schedulers: [{ jobs }],
    schedulersMissing: [],
  } as unknown as ClusterView;
}

function pollResult(seen: Partial<PollResult>): PollResult {
  return {
    view: undefined,
    waiting: undefined,
    counters: undefined,
    failed: undefined,
    problem: undefined,
    ...seen,
  };
}

function look(
  seen: PollResult | undefined,
  lastSeen?: { view: ClusterView; agoMs: number },
  causeOf: (job: JobSummary) => string | undefined = () => undefined,
) {
  const workers = new WorkerTable();
  const view = seen?.view ?? lastSeen?.view;
  if (view !== undefined) workers.update(view.workers, 0);
  return overviewOf({ where: 'tcp://h:1', problem: seen?.problem, seen, lastSeen, workers, causeOf });
}

const workers = fc.array(fc.record({ slots: fc.nat(64), busy: fc.nat(64), queued: fc.nat(9) }), {
  maxLength: 20,
});

it('shows the values of central while it responds, and otherwise unknown with the last values and their age', () => {
  fc.assert(
    fc.property(workers, fc.nat(1_000), fc.nat(100_000), (all, jobs, agoMs) => {
      const view = viewOf(all, jobs);
      const sum = (of: 'slots' | 'busy' | 'queued') => all.reduce((total, each) => total + each[of], 0);
      const truth = { slots: sum('slots'), busy: sum('busy'), queued: sum('queued'), schedulers: 1, jobs };
      expect(look(pollResult({ view }))).toMatchObject({ ...truth, reachable: true, lastSeen: null });
      const central = { freeSlots: agoMs };
      const waiting = { waiting: [], central, silent: [] } as unknown as ClusterWaiting;
      expect(look(pollResult({ view, waiting })).free).toBe(agoMs);
      const lost = look(pollResult({ problem: PROBLEM }), { view, agoMs });
      expect(lost).toMatchObject({
        ...{ slots: null, busy: null, queued: null, schedulers: null, jobs: null, waiting: null },
        ...{ reachable: false, failedJobs: null },
        lastSeen: { secondsAgo: Math.round(agoMs / 1_000), ...truth },
      });
    }),
  );
});

it('is unknown before the first answer', () => {
  expect(look(undefined)).toMatchObject({ slots: null, jobs: null, waiting: null, lastSeen: null });
});

it('lists jobs that no worker can run, and everything else that needs attention', () => {
  const waiting = {
    waiting: WAITING_REASONS.map((reason) => ({
      ...{ class: 'long', reason, tasks: 2, example: 'a-1', exampleAgeMs: 1_000 },
    })),
    silent: [],
  } as unknown as ClusterWaiting;
  const { attention } = look(pollResult({ waiting }));
  for (const words of ['no worker', 'is drained', 'central does not respond', 'the attributes they require'])
    expect(attention).toContainEqual(expect.objectContaining({ what: expect.stringContaining(words) }));
  expect(attention).toHaveLength(4);
  expect(attention.every(({ link }) => link === '#/jobs/a-1')).toBe(true);
});

it('counts a silent scheduler once, whatever its title says', () => {
  const log = new AttentionLog();
  const past = pastFinding({
    kind: 'scheduler-lost',
    at: 0,
    number: 1,
    text: '',
    scheduler: 's1',
    worker: undefined,
    by: undefined,
  })!;
  log.recall(past.keys[0]!, past.finding, 0);
  const titles = [
    'scheduler s1 at tcp://h:1',
    'scheduler s1, lost 5 s ago with 2 jobs',
    'scheduler s1, lost 7 s ago',
  ];
  for (const [at, title] of titles.entries()) {
    const seen = pollResult({ waiting: { waiting: [], silent: [title] } as unknown as ClusterWaiting });
    const workers = new WorkerTable();
    const { attention } = overviewOf({ where: '', problem: undefined, seen, workers, log, now: 1_000 * at });
    expect(attention).toMatchObject([{ what: `no answer from ${title}`, times: 1, over: null }]);
  }
});

it('says in the reasons for waiting which resource a gang lacks', () => {
  const group = { class: 'long', tasks: 4, example: 'a-1', exampleAgeMs: 1_000, why: 'a gang of 4 waits' };
  const waiting = [
    { ...group, reason: 'resources' },
    { ...group, reason: 'drained' },
  ];
  const seen = pollResult({ waiting: { waiting, silent: [] } as unknown as ClusterWaiting });
  const lackOf = () => 'it needs 4 gpu, and 2 of 4 are free; ann has 2';
  const shown = overviewOf({ where: '', problem: undefined, seen, workers: new WorkerTable(), lackOf });
  expect(shown.waiting!.map(({ why }) => why)).toEqual([`${group.why}; ${lackOf()}`, group.why]);
});

it('counts all failures, with causes, and links to their list', () => {
  const failed = {
    jobs: [1, 2, 3].map((n) => ({ id: `a-${n}`, name: 'etl', tasks: { total: 9, failed: n } })),
    total: 419,
  } as unknown as Jobs;
  const causeOf = ({ id }: { id: string }) => (id === 'a-2' ? 'exit code 3' : undefined);
  const { attention, failedJobs } = look(pollResult({ failed }), undefined, causeOf);
  expect(failedJobs).toBe(419);
  expect(attention).toMatchObject([
    {
      what: '419 jobs failed within the last hour: etl (a-1: 1 of 9 tasks), etl (a-2: 2 of 9 tasks, exit code 3), etl (a-3: 3 of 9 tasks), …',
      link: '#/jobs?q=state:failed+since:1h',
    },
  ]);
});

it('lists each of a few quarantined workers with its reason and a button, and many together', () => {
  const itemsOf = (...reasons: string[]) => {
    const view = viewOf([], 0);
    const workers = reasons.map((quarantine, index) => ({
      ...{ name: `w${index}`, state: 'quarantined', partition: 'general', slots: 1, busy: 0, queued: 0 },
      quarantine,
    }));
    return look(pollResult({ view: { ...view, workers } as unknown as ClusterView })).attention;
  };
  expect(itemsOf('its disk is full', 'tasks fail to start')).toMatchObject([
    {
      ...{ key: 'quarantined w0', what: '1 worker quarantined: w0', hint: 'its disk is full' },
      actions: [
        { verb: 'drain', worker: 'w0' },
        { verb: 'release', worker: 'w0' },
      ],
    },
    { key: 'quarantined w1', what: '1 worker quarantined: w1', hint: 'tasks fail to start' },
  ]);
  expect(itemsOf('its disk is full', 'tasks fail to start', 'x', 'x')).toMatchObject([
    {
      what: '4 workers quarantined: w0, w1, w2, …',
      hint: 'w0: its disk is full; w1: tasks fail to start; w2: x; …',
      actions: [],
    },
  ]);
});

it('knows the CPUs in use, unless the policy does not', () => {
  const cpusOf = (...workers: object[]) => look(pollResult({ view: viewOf(workers as never, 0) })).cpusBusy;
  expect(cpusOf({ slots: 4, busy: 3, queued: 0, cpus: 3.5 }, { slots: 4, busy: 0, queued: 0 })).toBe(3.5);
  expect(cpusOf({ slots: 4, busy: 3, queued: 0 })).toBeNull();
});

it('says at least how many jobs failed while a scheduler does not answer', () => {
  const failed = { jobs: [], total: 69 } as unknown as Jobs;
  const waiting = { waiting: [], silent: ['scheduler s0'] } as unknown as ClusterWaiting;
  const whats = look(pollResult({ failed, waiting })).attention.map(({ what }) => what);
  expect(whats.at(-1)).toMatch(/^at least 69 jobs failed/);
});

it('names the schedulers whose jobs are missing in its numbers', () => {
  const view = viewOf([], 3);
  const waiting = { waiting: [], central: undefined, silent: ['scheduler s0'] } as unknown as ClusterWaiting;
  expect(look(pollResult({ view, waiting })).silent).toEqual(['scheduler s0']);
  expect(look(pollResult({ view })).silent).toEqual([]);
});

it('counts the active jobs of schedulers that central does not know yet after its restart', () => {
  const counts = { total: 9, waiting: 2, running: 3, completed: 4, failed: 0, cancelled: 0 };
  const failed = { jobs: [], total: 0, counts } as unknown as Jobs;
  expect(look(pollResult({ view: viewOf([], 0), failed })).jobs).toBe(5);
});

it('tells a missing scheduler whose jobs others list from one whose jobs nobody lists', () => {
  const lost = { name: 's1', jobs: 0, shared: false, missingMs: 5_000 };
  const view = (takenOver: boolean) => ({ ...viewOf([], 3), schedulersMissing: [{ ...lost, takenOver }] });
  const what = 'no answer from scheduler s1';
  expect(look(pollResult({ view: view(true) })).attention).toMatchObject([
    { what, level: 'warning', hint: expect.stringMatching(/^other schedulers have its jobs/) },
  ]);
  const waiting = { waiting: [], silent: [what.slice(15)] } as unknown as ClusterWaiting;
  expect(look(pollResult({ view: view(false), waiting })).attention).toMatchObject([
    { what, level: 'error', hint: expect.stringMatching(/^its jobs are not listed/) },
  ]);
});
