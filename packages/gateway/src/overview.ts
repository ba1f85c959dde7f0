import type { ClusterCounters, ClusterView, ClusterWaiting, Jobs } from '@goshawk/client';
import {
  counted,
  formatCount,
  type GoshawkError,
  sumOf,
  WAITING_WORDS,
  type WaitingReason,
} from '@goshawk/core';
import type { z } from 'zod';
import { groupOf } from './history.js';
import type { overview } from './schemas.js';
import type { WorkerTable } from './worker-table.js';

/** What one look has seen; what did not answer is undefined. */
export interface Seen {
  readonly view: ClusterView | undefined;
  readonly waiting: ClusterWaiting | undefined;
  readonly counters: ClusterCounters | undefined;
  /** Jobs that failed lately. */
  readonly failed: Jobs | undefined;
  /** The first of what did not answer. */
  readonly problem: GoshawkError | undefined;
}

export type Overview = z.infer<typeof overview>;
type Attention = Overview['attention'][number];
type WaitingRow = Overview['waiting'][number];

/** Tasks wait for these until somebody does something. */
const STUCK: ReadonlySet<WaitingReason> = new Set(['no-worker', 'drained', 'central-away']);
/** A job that failed is news for so long. ms */
const FAILED_NEWS_MS = 3_600_000;
const NAMES_SHOWN = 3;

/** A look at the cluster in one piece. */
export function overviewOf({
  where,
  problem,
  seen,
  workers,
}: {
  readonly where: string;
  readonly problem: GoshawkError | undefined;
  readonly seen: Seen | undefined;
  readonly workers: WorkerTable;
}): Overview {
  const { view, waiting } = seen ?? {};
  const sum = (of: 'slots' | 'busy' | 'queued') => sumOf(view?.workers ?? [], (worker) => worker[of]);
  const groups = (waiting?.waiting ?? []).map(
    ({ exampleAgeMs, ...group }): WaitingRow => ({
      ...group,
      exampleAgeSeconds: Math.round(exampleAgeMs) / 1_000,
      ...WAITING_WORDS[group.reason],
    }),
  );
  return {
    schema: 'goshawk.overview/1',
    cluster: where,
    policy: view?.settings.policy.policy ?? null,
    reachable: view !== undefined,
    workers: workers.counts(),
    slots: sum('slots'),
    busy: sum('busy'),
    queued: sum('queued'),
    schedulers: view?.schedulers.length ?? 0,
    jobs: sumOf(view?.schedulers ?? [], ({ jobs }) => jobs),
    waiting: groups,
    attention: [
      ...(problem === undefined ? [] : [fromError(problem)]),
      ...silent(seen),
      ...journals(seen),
      ...atWorkers(seen, workers),
      ...groups.filter(({ reason }) => STUCK.has(reason)).map(stuck),
      ...failures(seen),
    ],
  };
}

function fromError({ message, hint }: GoshawkError): Attention {
  return { level: 'error', what: message, hint, link: null };
}

function silent(seen: Seen | undefined): Attention[] {
  const names = new Set([...(seen?.waiting?.silent ?? []), ...(seen?.counters?.silent ?? [])]);
  return [...names].map((name) => ({
    level: 'error',
    what: `no answer from ${name}`,
    hint: 'its jobs go on when it is back; its log says why it went',
    link: null,
  }));
}

/** Schedulers that take no jobs until somebody does something. */
function journals(seen: Seen | undefined): Attention[] {
  const schedulers = Object.entries(seen?.counters?.schedulers ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return (['full', 'away'] as const).flatMap((state) => {
    const names = schedulers.flatMap(([name, counters]) =>
      groupOf(counters, 'takesNoJobs')[state] ? [name] : [],
    );
    if (names.length === 0) return [];
    const what = `${someOf(names)} ${names.length === 1 ? 'takes' : 'take'} no new jobs: ${JOURNALS[state].what}`;
    return [{ level: 'error', what, hint: JOURNALS[state].hint, link: null }];
  });
}

const JOURNALS = {
  full: {
    what: 'the disk of the journal is full',
    hint: 'make room there; the jobs that were accepted go on meanwhile',
  },
  away: {
    what: 'the database of the journal does not answer',
    hint: 'the jobs that were accepted go on meanwhile',
  },
} as const;

function someOf(names: readonly string[]): string {
  return `${names.slice(0, NAMES_SHOWN).join(', ')}${names.length > NAMES_SHOWN ? ', …' : ''}`;
}

function atWorkers(seen: Seen | undefined, workers: WorkerTable): Attention[] {
  const quarantined = (seen?.view?.workers ?? []).filter(({ state }) => state === 'quarantined');
  const out = [
    {
      level: 'error',
      names: workers.lost(),
      how: 'lost',
      hint: 'what ran there is started again elsewhere; its log says why it went',
    },
    {
      level: 'warning',
      names: quarantined.map(({ name }) => name),
      how: 'quarantined',
      hint: quarantined[0]?.quarantine ?? '',
    },
  ] as const;
  return out.flatMap(({ level, names, how, hint }) => {
    if (names.length === 0) return [];
    const what = `${counted(names.length, 'worker')} ${how}: ${someOf(names)}`;
    return [{ level, what, hint, link: '#/workers' }];
  });
}

function stuck({ tasks, why, helps, example }: WaitingRow): Attention {
  const what = `${counted(tasks, 'task')} cannot start: ${why}`;
  return { level: 'error', what, hint: helps, link: `#/jobs/${example}` };
}

function failures(seen: Seen | undefined): Attention[] {
  const now = Date.now();
  const recent = (seen?.failed?.jobs ?? []).filter(
    ({ submittedAt, endedMs = 0 }) => now - submittedAt - endedMs < FAILED_NEWS_MS,
  );
  return recent.slice(0, NAMES_SHOWN).map(({ id, name, tasks }) => ({
    level: 'warning',
    what: `${name} (${id}) failed: ${formatCount(tasks.failed)} of ${counted(tasks.total, 'task')}`,
    hint: 'its log says what they printed; `goshawk retry` runs them again',
    link: `#/jobs/${id}`,
  }));
}
