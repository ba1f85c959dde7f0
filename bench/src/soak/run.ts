import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from '@goshawk/client';
import { type Millis, meanOf, Random, sumOf } from '@goshawk/core';
import { percentile } from '../bench-report.js';
import { readSharedJournals } from '../takeover/results.js';
import type { Written } from '../written.js';
import { type FaultCounts, Faults } from './faults.js';
import { beginHarm, isHostileAt } from './hostile.js';
import { readJournals } from './journals.js';
import { Load, type Submitted } from './load.js';
import { byThird, type MemoryTrend, MemoryWatch } from './memory.js';
import { openReaders } from './page-readers.js';
import { SoakCluster } from './processes.js';

interface SoakOptions {
  readonly folder: string;
  readonly seed: number;
  readonly minutes: number;
  readonly workers: number;
  readonly workersPerProcess: number;
  readonly schedulers: number;
  /** How many of the schedulers share a journal in PostgreSQL, which is then killed and stopped, too. */
  readonly inPostgres: number;
  readonly jobsPerSecond: number;
  /** Mean time between two faults; 0: no faults. */
  readonly faultEveryMs: Millis;
  /** A container image with /bin/sh, in which some programs run; undefined: none. */
  readonly image?: string | undefined;
  readonly note: (line: string) => void;
}

export interface SoakReport extends FaultCounts {
  readonly accepted: number;
  readonly tasks: number;
  /** Submissions without an answer, and refused ones with keys. */
  readonly unanswered: number;
  readonly refused: number;
  /** Jobs by kind of failure; all lists should be empty. */
  readonly lost: readonly string[];
  readonly notCompleted: readonly string[];
  readonly wrong: readonly string[];
  readonly doubled: readonly string[];
  /** Keys of submissions that were answered as refused, and accepted. */
  readonly falselyRefused: readonly string[];
  /** Roles whose memory grew, in the last third of a run of at least half an hour. */
  readonly growing: readonly string[];
  /** Processes that exited or failed to start without having been killed. */
  readonly unexpectedExits: readonly string[];
  readonly reruns: number;
  /** The longest time in which no job ended although some were active. */
  readonly longestStallMs: Millis;
  readonly slowestJobMs: Millis;
  /** Runtimes of short jobs submitted while central was up, and while it was down, in ms. */
  readonly shortMs: readonly Millis[];
  readonly shortWithoutCentralMs: readonly Millis[];
  /** Runtimes of short jobs submitted in each third of the run, in ms, and the mean load of the machine. */
  readonly shortByThirdMs: readonly (readonly Millis[])[];
  readonly machineLoads: readonly number[];
  /** Runtimes of short jobs submitted in minutes in which the hostile user acted, and in the others, in ms. */
  readonly shortBesideHostileMs: readonly Millis[];
  readonly shortInPeaceMs: readonly Millis[];
  /** Resident memory of a process by role. */
  readonly memory: Readonly<Record<string, MemoryTrend>>;
}

const SAMPLE_MS = 2_000;
/** Pages that are open all the time. */
const PAGES = 5;
/** Maximum time for all jobs to end after the last fault. */
const LIVENESS_MS = 120_000;
const PATIENCE = { requestTimeoutMs: 60_000, renewMs: 2_000 };
const HASTE = { requestTimeoutMs: 4_000, renewMs: 2_000 };
/** The memory of a role in the last third of a run, against the second, which is no growth; and the run's duration. */
const GROWTH_MAX = 1.25;
const JUDGED_MS = 1_800_000;
const ECHO = fileURLToPath(new URL('../../dist/soak/echo.fixture.js', import.meta.url));

/** Runs a steady load on a cluster whose processes are killed or stopped one after another, and checks its jobs. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { folder, seed, minutes, faultEveryMs, note } = options;
  mkdirSync(folder, { recursive: true });
  const unexpectedExits: string[] = [];
  const cluster = new SoakCluster({
    ...options,
    centralArgs: ['--cutoff', '1'],
    onUnexpectedExit: ({ name }, how) => {
      note(`${name} exited unexpectedly: ${how}`);
      unexpectedExits.push(`${name} (${how})`);
    },
  });
  try {
    await cluster.start();
    await using client = await connect(cluster.url, PATIENCE);
    await using hasty = await connect(cluster.url, HASTE);
    await using hostile = await connect(cluster.url, HASTE);
    const random = Random.seeded(seed);
    const isCentralAway = (): boolean => !cluster.central.isAwake;
    const load = new Load({
      ...options,
      client,
      hasty,
      random: random.fork('load'),
      module: ECHO,
      isCentralAway,
    });
    const faults = new Faults(cluster, random.fork('faults'), note);
    const memory = new MemoryWatch();
    const beganAt = performance.now();
    const loads: [Millis, number][] = [];
    const sampling = setInterval(() => {
      const atMs = performance.now() - beganAt;
      memory.sample(atMs, alive(cluster));
      loads.push([atMs, loadavg()[0]!]);
    }, SAMPLE_MS);
    await using _ = await openReaders(cluster.page, PAGES);
    load.begin();
    await using harm = beginHarm(cluster, hostile, seed);
    if (faultEveryMs > 0) await injectFaults(minutes * 60_000, faultEveryMs, faults, random.fork('times'));
    else await pause(minutes * 60_000);
    load.end();
    await harm[Symbol.asyncDispose]();
    await faults.healed();
    note(`no more processes are killed; ${load.openCount} jobs are open`);
    const inTime = await Promise.race([
      load.ended().then(() => true),
      unrefDelay(LIVENESS_MS).then(() => false),
    ]);
    if (!inTime) note(`${load.openCount} jobs have not ended in time`);
    clearInterval(sampling);
    writeFileSync(
      join(folder, 'jobs.jsonl'),
      load.submitted.map((job) => `${JSON.stringify(job)}\n`).join(''),
    );
    const folders = cluster.posts
      .filter((post) => post.role === 'scheduler' && !cluster.isShared(post))
      .map(({ name }) => join(folder, name));
    const journals = await readJournals(folders);
    if (cluster.journal !== undefined) await readSharedJournals(cluster.journal, journals);
    const ms = minutes * 60_000;
    const trends = memory.trends(ms);
    const short = load.submitted.filter(({ isShort, endedAtMs }) => isShort && endedAtMs !== undefined);
    const isBeside = ({ submittedAtMs }: Submitted): boolean => isHostileAt(submittedAtMs - beganAt);
    return {
      ...faults.counts,
      ...checked(load.submitted, journals),
      shortByThirdMs: byThird(short, ms, (job) => job.submittedAtMs - beganAt).map((jobs) =>
        jobs.map(tookMs),
      ),
      machineLoads: byThird(loads, ms, ([atMs]) => atMs).map((third) => meanOf(third, ([, each]) => each)),
      shortBesideHostileMs: short.filter(isBeside).map(tookMs),
      shortInPeaceMs: short.filter((job) => !isBeside(job)).map(tookMs),
      falselyRefused: load.refused.filter((key) => journals.keys.has(key)),
      unanswered: load.unanswered,
      refused: load.refused.length,
      unexpectedExits,
      memory: trends,
      growing: ms < JUDGED_MS ? [] : Object.keys(trends).filter((role) => isGrowing(trends[role]!)),
    };
  } finally {
    await cluster.close();
  }
}

async function injectFaults(ms: Millis, everyMs: Millis, faults: Faults, random: Random): Promise<void> {
  const until = performance.now() + ms;
  for (;;) {
    await pause(everyMs * (0.5 + random.next()));
    if (performance.now() >= until) return;
    faults.inject();
  }
}

function* alive({ posts }: SoakCluster): Iterable<{ group: string; pid: number }> {
  for (const { role, daemon } of posts) if (daemon !== undefined) yield { group: role, pid: daemon.pid };
}

function checked(
  submitted: readonly Submitted[],
  journals: Written,
): Pick<
  SoakReport,
  | 'accepted'
  | 'tasks'
  | 'lost'
  | 'notCompleted'
  | 'wrong'
  | 'doubled'
  | 'reruns'
  | 'longestStallMs'
  | 'slowestJobMs'
  | 'shortMs'
  | 'shortWithoutCentralMs'
> {
  const idsOf = (isBad: (job: Submitted) => boolean): string[] => submitted.filter(isBad).map(({ id }) => id);
  const ended = submitted.filter(({ endedAtMs }) => endedAtMs !== undefined);
  const short = ended.filter(({ isShort }) => isShort);
  const sum = (count: (job: Submitted) => number): number => sumOf(submitted, count);
  return {
    accepted: submitted.length,
    tasks: sum(({ tasks }) => tasks),
    lost: idsOf(({ id }) => !journals.accepted.has(id)),
    notCompleted: idsOf(
      ({ id, state, ends, tasks }) =>
        state === undefined ||
        !ends.includes(state) ||
        !journals.ended.has(id) ||
        (state === 'completed' && journals.results.get(id) !== tasks),
    ),
    wrong: idsOf(({ isWrong }) => isWrong),
    doubled: journals.doubled,
    reruns: sum(({ reruns }) => reruns),
    longestStallMs: longestStall(ended),
    slowestJobMs: Math.max(0, ...ended.map(tookMs)),
    shortMs: short.filter((job) => !job.isWithoutCentral).map(tookMs),
    shortWithoutCentralMs: short.filter((job) => job.isWithoutCentral).map(tookMs),
  };
}

/** Returns the longest time in which no job ended. At a steady rate some jobs are always active. */
function longestStall(ended: readonly Submitted[]): Millis {
  const ends = ended.map(({ endedAtMs }) => endedAtMs!).sort((a, b) => a - b);
  let longest = 0;
  for (let i = 1; i < ends.length; i++) longest = Math.max(longest, ends[i]! - ends[i - 1]!);
  return longest;
}

function isGrowing({ thirds: [, second, last] }: MemoryTrend): boolean {
  return last! > GROWTH_MAX * second!;
}

function tookMs({ submittedAtMs, endedAtMs }: Submitted): Millis {
  return endedAtMs! - submittedAtMs;
}

/** Whether no job failed, no answer was false, no process exited unexpectedly, and memory is bounded. */
export function isSound(report: SoakReport): boolean {
  return FAILURES.every((failure) => report[failure].length === 0);
}

/** Lists of a report that should be empty. */
export const FAILURES = [
  'lost',
  'notCompleted',
  'wrong',
  'doubled',
  'falselyRefused',
  'unexpectedExits',
  'growing',
] as const;

/** The median of short jobs without central, as a multiple of the normal one. */
export function slowdownWithoutCentral({ shortMs, shortWithoutCentralMs }: SoakReport): number {
  return percentile(shortWithoutCentralMs, 0.5) / percentile(shortMs, 0.5);
}

/** Waits without keeping the process alive. */
function unrefDelay(ms: Millis): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
