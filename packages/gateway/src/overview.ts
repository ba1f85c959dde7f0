import type { ClusterCounters, ClusterView, ClusterWaiting, Jobs } from '@goshawk/client';
import {
  counted,
  counterGroup,
  formatCount,
  type GoshawkError,
  type JobSummary,
  type Millis,
  sumOf,
  WAITING_WORDS,
  type WaitingReason,
} from '@goshawk/core';
import type { z } from 'zod';
import { AttentionLog, actionOf, type Finding } from './attention.js';
import type { overview } from './schemas.js';
import type { WorkerTable } from './worker-table.js';

/** Result of one poll. Missing replies are undefined. */
export interface PollResult {
  readonly view: ClusterView | undefined;
  readonly waiting: ClusterWaiting | undefined;
  readonly counters: ClusterCounters | undefined;
  /** Failed jobs of the last `FAILURES_SHOWN_MS`, partly listed; `total` counts all. */
  readonly failed: Jobs | undefined;
  /** The error of the first missing reply. */
  readonly problem: GoshawkError | undefined;
}

export type Overview = z.infer<typeof overview>;
type WaitingRow = NonNullable<Overview['waiting']>[number];

/** Reasons for waiting that persist without intervention. */
const STUCK: ReadonlySet<WaitingReason> = new Set(['no-worker', 'drained', 'central-away', 'required']);
/** Time (ms) for which failures are shown. */
export const FAILURES_SHOWN_MS = 3_600_000;
export const NAMES_SHOWN = 3;

type Totals = Omit<NonNullable<Overview['lastSeen']>, 'secondsAgo'>;

/** The last reply of central, and its age. */
export interface LastSeen {
  readonly view: ClusterView;
  readonly agoMs: Millis;
}

/** Summarizes the state of the cluster. */
export function overviewOf({
  where,
  problem,
  seen,
  lastSeen,
  workers,
  found = [],
  missingOf = () => undefined,
  lackOf = () => undefined,
  causeOf = () => undefined,
  failedAt = () => ({ hint: '', actions: [] }),
  log = new AttentionLog(),
  now = 0,
}: {
  readonly where: string;
  readonly problem: GoshawkError | undefined;
  readonly seen: PollResult | undefined;
  readonly lastSeen?: LastSeen | undefined;
  readonly workers: WorkerTable;
  /** Problems that `Findings` has found in jobs. */
  readonly found?: readonly Finding[];
  /** Returns what a job lacks, if a poll has explained it. */
  readonly missingOf?: (job: string) => string | undefined;
  /** Returns which resource a waiting gang lacks, and who has it, if a poll has asked for it. */
  readonly lackOf?: (job: string) => string | undefined;
  /** Returns why most tasks of a failed job failed, if a poll has asked for it. */
  readonly causeOf?: (job: JobSummary) => string | undefined;
  /** Says what failed at a worker, see `failuresAt`. */
  readonly failedAt?: (worker: string) => Pick<Finding, 'hint' | 'actions'>;
  /** Remembers the conditions of earlier polls. */
  readonly log?: AttentionLog;
  /** Wall clock. */
  readonly now?: Millis;
}): Overview {
  const { view, waiting, failed } = seen ?? {};
  const groups = waiting?.waiting.map(({ exampleAgeMs, ...group }): WaitingRow => {
    const words = WAITING_WORDS[group.reason];
    const lack = group.reason === 'resources' ? lackOf(group.example) : undefined;
    const why = [group.why ?? words.why, ...(lack === undefined ? [] : [lack])].join('; ');
    return { ...group, exampleAgeSeconds: Math.round(exampleAgeMs) / 1_000, ...words, why };
  });
  return {
    schema: 'goshawk.overview/1' as const,
    cluster: where,
    policy: (view ?? lastSeen?.view)?.settings.policy.policy ?? null,
    reachable: view !== undefined,
    workers: workers.counts(),
    ...(view === undefined ? UNKNOWN : { ...totalsOf(view), cpusBusy: cpusBusy(view) }),
    // Central learns the number of jobs from heartbeats, and does not know it after its restart.
    ...(view === undefined || failed === undefined ? {} : { jobs: activeJobs(failed) }),
    silent: silentNames(seen),
    free: view === undefined ? null : (waiting?.central?.freeSlots ?? null),
    lastSeen:
      view !== undefined || lastSeen === undefined
        ? null
        : { secondsAgo: Math.round(lastSeen.agoMs / 1_000), ...totalsOf(lastSeen.view) },
    waiting: groups ?? null,
    failedJobs: failed?.total ?? null,
    attention: log.note(
      [
        ...(problem === undefined ? [] : [fromError(problem)]),
        ...silentSchedulers(seen),
        ...takenOverSchedulers(seen),
        ...journals(seen),
        ...workerProblems(seen, workers, failedAt),
        ...(groups ?? [])
          .filter(({ reason }) => STUCK.has(reason))
          .map((row) => stuck(row, missingOf(row.example))),
        ...failures(seen, causeOf),
        ...found,
      ],
      now,
    ),
  };
}

const UNKNOWN = { slots: null, busy: null, cpusBusy: null, queued: null, schedulers: null, jobs: null };

function totalsOf({ workers, schedulers }: ClusterView): Totals {
  const sum = (of: 'slots' | 'busy' | 'queued') => sumOf(workers, (worker) => worker[of]);
  return {
    ...{ slots: sum('slots'), busy: sum('busy'), queued: sum('queued') },
    schedulers: schedulers.length,
    jobs: sumOf(schedulers, ({ jobs }) => jobs),
  };
}

/** CPUs that running tasks request; null: a policy does not report them. */
function cpusBusy({ workers }: ClusterView): number | null {
  return workers.some(({ cpus, busy }) => cpus === undefined && busy > 0)
    ? null
    : Number(sumOf(workers, ({ cpus = 0 }) => cpus).toFixed(2));
}

function activeJobs({ counts }: Jobs): number {
  return counts.waiting + counts.running;
}

function fromError({ message, hint }: GoshawkError): Finding {
  return { key: 'cluster', isLasting: true, level: 'error', what: message, hint, link: null };
}

function silentNames(seen: PollResult | undefined): string[] {
  return [...new Set([...(seen?.waiting?.silent ?? []), ...(seen?.counters?.silent ?? [])])];
}

/** Returns the same key for `scheduler s1 at tcp://…`, `scheduler s1, lost 5 s ago with 2 jobs` and central's event. */
function silentKey(title: string): string {
  return `silent ${/^scheduler [^\s,]+/.exec(title)?.[0] ?? title}`;
}

function silentSchedulers(seen: PollResult | undefined): Finding[] {
  return silentNames(seen).map((name) => ({
    key: silentKey(name),
    isLasting: true,
    level: 'error',
    what: `no answer from ${name}`,
    hint: 'its jobs are not listed here; if it has stopped, its log says why, and they continue when it is back',
    link: null,
  }));
}

/** Returns a finding for each expected scheduler that is missing, but whose jobs others have taken over. */
function takenOverSchedulers(seen: PollResult | undefined): Finding[] {
  const missing = seen?.view?.schedulersMissing.filter(({ takenOver }) => takenOver) ?? [];
  return missing.map(({ name }) => ({
    key: `taken over ${name}`,
    isLasting: true,
    level: 'warning',
    what: `no answer from scheduler ${name}`,
    hint: 'other schedulers have its jobs; start it again, or remove its name from --expect-schedulers',
    link: null,
  }));
}

/**
 * Returns a finding for each journal state in which schedulers refuse jobs, with the names of the schedulers.
 */
function journals(seen: PollResult | undefined): Finding[] {
  const schedulers = Object.entries(seen?.counters?.schedulers ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return (['full', 'away'] as const).flatMap((state) => {
    const names = schedulers.flatMap(([name, counters]) =>
      counterGroup(counters, 'takesNoJobs')[state] ? [name] : [],
    );
    if (names.length === 0) return [];
    const what = `${listNames(names)} ${names.length === 1 ? 'takes' : 'take'} no new jobs: ${JOURNALS[state].what}`;
    const places = names.flatMap((name) => hostOf(seen, name) ?? []);
    const where =
      places.length === 0
        ? ''
        : ` (on ${listNames(places)}; the log of the scheduler names the folder and its free space)`;
    const hint = `${JOURNALS[state].hint}${state === 'full' ? where : ''}`;
    return [{ key: `journal ${state}`, isLasting: true, level: 'error', what, hint, link: null }];
  });
}

const JOURNALS = {
  full: {
    what: 'the disk of the journal is full',
    hint: 'free space there; accepted jobs continue meanwhile',
  },
  away: {
    what: 'the journal database does not respond',
    hint: 'accepted jobs continue meanwhile',
  },
} as const;

/** Returns the host of a scheduler, of which `tcp://host:port!…` is the address; undefined: unknown. */
function hostOf(seen: PollResult | undefined, name: string): string | undefined {
  const address = seen?.view?.schedulers.find((one) => one.name === name)?.address ?? '';
  return /^tcp:\/\/(.+):\d+/.exec(address)?.[1];
}

function listNames(names: readonly string[], total = names.length, separator = ', '): string {
  return [...names.slice(0, NAMES_SHOWN), ...(total > NAMES_SHOWN ? ['…'] : [])].join(separator);
}

function workerProblems(
  seen: PollResult | undefined,
  workers: WorkerTable,
  failedAt: (worker: string) => Pick<Finding, 'hint' | 'actions'>,
): Finding[] {
  const quarantined = (seen?.view?.workers ?? []).filter(({ state }) => state === 'quarantined');
  return [
    ...separately(workers.lost(), 'lost', 'error', (lost) => {
      const [{ cause, at }] = lost as [(typeof lost)[number]];
      const [its, log] = lost.length === 1 ? ['its', 'its log'] : ['their', 'their logs'];
      const why = cause === undefined || lost.length > 1 ? '' : `${cause}; `;
      const actions = lost.length === 1 ? [actionOf('remove', { worker: lost[0]!.name })] : [];
      return { hint: `${why}${its} tasks restart on other workers; see ${log}`, since: at, actions };
    }),
    ...separately(quarantined, 'quarantined', 'warning', (all) => ({
      hint: quarantineWords(all),
      actions:
        all.length === 1
          ? (['drain', 'release'] as const).map((verb) => actionOf(verb, { worker: all[0]!.name }))
          : [],
      more: all.length === 1 ? () => failedAt(all[0]!.name) : undefined,
    })),
  ];
}

/** Returns a finding for each of a few workers, or one for many. */
function separately<W extends { readonly name: string }>(
  workers: readonly W[],
  how: string,
  level: Finding['level'],
  more: (workers: readonly W[]) => Pick<Finding, 'hint' | 'since' | 'actions' | 'more'>,
): Finding[] {
  const groups = workers.length <= NAMES_SHOWN ? workers.map((worker) => [worker]) : [workers];
  return groups.map((group): Finding => {
    const names = group.map(({ name }) => name);
    return {
      key: `${how}${names.length === 1 ? ` ${names[0]}` : ''}`,
      covers: names.map((name) => `${how} ${name}`),
      isLasting: true,
      level,
      what: `${counted(names.length, 'worker')} ${how}: ${listNames(names)}`,
      link: names.length === 1 ? `#/workers/${encodeURIComponent(names[0]!)}` : '#/workers',
      ...more(group),
    };
  });
}

/** Returns the reason of a quarantine, or of each worker if they differ. */
function quarantineWords(
  workers: readonly { readonly name: string; readonly quarantine?: string | undefined }[],
): string {
  const [first = '', ...others] = new Set(workers.map(({ quarantine = '' }) => quarantine));
  if (others.length === 0) return first;
  const reasons = workers.map(({ name, quarantine = 'reason unknown' }) => `${name}: ${quarantine}`);
  return listNames(reasons, reasons.length, '; ');
}

function stuck(row: WaitingRow, missing: string | undefined): Finding {
  const { tasks, why, helps, example } = row;
  const detail = missing === undefined ? '' : `; ${example}: ${missing}`;
  const what = `${counted(tasks, 'task')} cannot start: ${why}${detail}`;
  return {
    key: `stuck ${row.class} ${row.reason}`,
    level: 'error',
    what,
    hint: helps,
    link: `#/jobs/${example}`,
  };
}

/** Returns one finding about all failed jobs, with the names and causes of the latest ones. */
function failures(seen: PollResult | undefined, causeOf: (job: JobSummary) => string | undefined): Finding[] {
  const { jobs = [], total = 0 } = seen?.failed ?? {};
  if (total === 0) return [];
  const names = jobs.map((job) => {
    const { id, name, tasks } = job;
    const failed =
      tasks.total === 1 ? [] : [`${formatCount(tasks.failed)} of ${counted(tasks.total, 'task')}`];
    const cause = causeOf(job);
    const words = [...failed, ...(cause === undefined ? [] : [cause])].join(', ');
    return `${name} (${id}${words === '' ? '' : `: ${words}`})`;
  });
  const least = silentNames(seen).length > 0 ? 'at least ' : '';
  const what = `${least}${counted(total, 'job')} failed within the last hour: ${listNames(names, total)}`;
  const link = total === 1 ? `#/jobs/${jobs[0]!.id}` : '#/jobs?q=state:failed+since:1h';
  const hint = `\`goshawk logs ID --failed\` shows their output; \`goshawk retry ID --failed\` runs the failed tasks again`;
  const actions = jobs.flatMap(({ id }) => [actionOf('log', { job: id }), actionOf('retry', { job: id })]);
  return [
    { key: 'failed', level: 'warning', what, hint, link, actions: total <= NAMES_SHOWN ? actions : [] },
  ];
}
