import {
  type Environment,
  GPU,
  LIMITS,
  type MessageOf,
  type Millis,
  SLOT,
  sumOf,
  unitsFree,
} from '@goshawk/core';
import {
  type BookedRun,
  type BookedWorker,
  type ClusterBooks,
  canMakeRoom,
  type EndedRun,
} from '@goshawk/policies';

type ReportedRun = MessageOf<'register'>['runs'][number];

export interface ReportState {
  readonly env: Pick<Environment, 'send'>;
  readonly books: ClusterBooks;
  /**
   * Time in ms for which a match that starts immediately, and one that queues, may be in flight to its worker. 0 means
   * forever.
   */
  readonly inFlightMs: { readonly started: Millis; readonly queued: Millis };
}

// Applies the workers' reports about their runs to the books. A number per worker identifies a match that starts
// immediately. Job, task and attempt identify a placed task, because its owner requested a worker for this task. If the
// owner requested two, only the latest attempt counts.

/** Adds the runs and queued tasks that a registering worker reports. A previous central may have sent them. */
export function addReportedRuns(
  s: ReportState,
  worker: BookedWorker,
  held: readonly ReportedRun[],
  now: Millis,
): void {
  worker.hasUnknownRuns = false;
  updateQueue(s, worker, held, now);
  const paused = new Set(held.flatMap(({ lenders = [] }) => lenders));
  endLoans(s, worker, (run) => paused.has(run.match), now);
  const matched = new Map(worker.runs.map((run) => [run.match, run]));
  // Lenders first: their borrowers use their slots.
  for (const each of paused.size === 0 ? held : lendersFirst(held)) {
    const startedAt = now - each.elapsedMs;
    const known =
      each.match > 0 ? matched.get(each.match) : s.books.job(each.owner, each.job)?.runOf(each.task);
    if (known === undefined) add(s, worker, each, matched, startedAt, now);
    // A delayed registration yields a start time that is too late, so the earlier one stays.
    else if (known.named === undefined) known.startedAt = Math.min(known.startedAt, startedAt);
    else if (known.worker === worker && known.named.attempt === each.attempt) {
      if (!each.queued) s.books.begin(known, startedAt);
      s.books.confirm(known);
    }
  }
}

/** Ends placed tasks that the worker does not report, except those that may still be in flight to it. */
export function updateQueue(
  s: ReportState,
  worker: BookedWorker,
  held: readonly ReportedRun[],
  now: Millis,
): void {
  const there = new Set(held.map((each) => namedRun(s, each)));
  for (const run of [...worker.runs])
    if (run.named !== undefined && !there.has(run) && !isInFlight(s, run, now)) s.books.end(run, 'lost', now);
}

export function workerPulled(
  s: ReportState,
  worker: BookedWorker,
  message: MessageOf<'pull'>,
  now: Millis,
): void {
  const { heard, runs } = message;
  for (const match of heard) worker.numberFrom(match);
  const free = s.books.names.freeOf(message.free, message.spare);
  let inFlight: BookedRun[] | undefined;
  let unknown = runs.length;
  // Avoids a copy for the usual single run.
  for (const run of worker.runs.length > 1 ? [...worker.runs] : worker.runs) {
    if (run.named !== undefined) {
      if (!run.isConfirmed && !run.isQueued) inFlight = appended(inFlight, run);
      continue;
    }
    const isReported = runs.includes(run.match);
    if (isReported) {
      unknown--;
      s.books.confirm(run);
    } else if (run.isConfirmed || heard.includes(run.match)) endUnreported(s, run, now);
    else {
      inFlight = appended(inFlight, run);
      checkMatch(s, run, now);
    }
  }
  if (unknown > 0) for (const match of runs) restore(s, worker, match);
  const lent = worker.paused === 0 ? NO_RUNS : lentInFlight(s, worker, message, now);
  worker.hasUnknownRuns = unknown > 0 && runs.some((match) => worker.runOf(match) === undefined);
  const parts = message.gpuParts?.map((part) => unitsFree(GPU, part));
  const gpus = message.gpus?.map(({ match, gpu, amount }) => ({
    holder: match === 0 ? undefined : worker.runOf(match),
    index: gpu,
    amount: unitsFree(GPU, amount),
  }));
  s.books.setFree(worker, free, parts, inFlight, gpus, lent);
  s.books.shortWork(message.shortMs);
}

/**
 * Ends the loans that the worker has ended: it reports a lender as running, and the borrower too.
 *
 * @param isPaused whether the worker reports the run as paused
 */
function endLoans(
  s: ReportState,
  worker: BookedWorker,
  isPaused: (run: BookedRun) => boolean,
  now: Millis,
): void {
  if (worker.paused === 0) return;
  for (const run of [...worker.runs])
    if (run.borrower?.isConfirmed === true && !isPaused(run)) s.books.resume(run, now);
}

/** Runs that still use their CPUs at the worker, because their borrowers are in flight to it. */
function lentInFlight(
  s: ReportState,
  worker: BookedWorker,
  { runs, paused = [] }: MessageOf<'pull'>,
  now: Millis,
): BookedRun[] {
  endLoans(s, worker, ({ match }) => paused.includes(match), now);
  return worker.runs.filter(
    ({ borrower, match }) => borrower !== undefined && runs.includes(match) && !paused.includes(match),
  );
}

/**
 * Records that a placed task has started.
 *
 * @returns whether the books show no free slot for it, so that the worker should register again: a report was lost
 */
export function placementBegan(
  s: ReportState,
  worker: BookedWorker,
  message: MessageOf<'placementStarted'>,
  now: Millis,
): boolean {
  const run = namedRun(s, message);
  if (run === undefined || run.worker !== worker) return false;
  if (run.isQueued) s.books.begin(run, now);
  else s.books.confirm(run);
  return run.isQueued;
}

/** Returns the run of exactly this attempt. */
export function namedRun(
  s: ReportState,
  { owner, job, task, attempt }: Pick<ReportedRun, 'owner' | 'job' | 'task' | 'attempt'>,
): BookedRun | undefined {
  const run = s.books.job(owner, job)?.runOf(task);
  return run?.named?.attempt === attempt ? run : undefined;
}

/**
 * Returns whether the books show more busy slots than the worker has, so that it should report again. They may show more than
 * there are slots: tasks that have outlasted their loans, or a declined task.
 */
export function isPullStale(s: ReportState, worker: BookedWorker, busy: number, now: Millis): boolean {
  if (!worker.open) return false;
  const { capacity, free, runs } = worker;
  if (capacity[SLOT]! - busy <= free[SLOT]! && busySlots(runs) <= busy) return false;
  return runs.every((run) => run.isConfirmed || now - run.queriedAt >= s.inFlightMs.started);
}

/** Number of slots that the runs use, including those in flight. */
function busySlots(runs: readonly BookedRun[]): number {
  return sumOf(runs, ({ stage, lent, isQueued }) => (isQueued ? 0 : stage.demand[SLOT]! - (lent[SLOT] ?? 0)));
}

/**
 * Returns whether the books lack a run of the worker, or show more placed tasks than it holds, so that it should
 * register again.
 */
export function areRunsOutdated(
  s: ReportState,
  { runs, hasUnknownRuns }: BookedWorker,
  held: number,
  now: Millis,
): boolean {
  if (hasUnknownRuns) return true;
  if (runs.length <= held) return false;
  let placed = 0;
  for (const run of runs) if (run.named !== undefined && !isInFlight(s, run, now)) placed++;
  return placed > held;
}

/** Asks the job's owner about a match that the worker has not confirmed for some time. */
export function checkMatch(s: ReportState, run: BookedRun, now: Millis): void {
  const { started } = s.inFlightMs;
  if (started === 0 || now - run.queriedAt < started) return;
  run.queriedAt = now;
  const { job } = run.stage;
  s.env.send(job.owner.address, {
    type: 'checkMatch',
    job: job.number,
    worker: run.worker.address,
    match: run.match,
  });
}

/**
 * Asks owners about borrowers that a full worker has not confirmed, because it need not report before a task ends.
 *
 * @returns whether the worker should report again, because the report of the end of a borrower may be lost
 */
export function checkLoansAt(s: ReportState, worker: BookedWorker, now: Millis): boolean {
  if (worker.paused === 0) return false;
  const { started } = s.inFlightMs;
  let isDue = false;
  for (const run of worker.runs) {
    if (run.lenders.length === 0) continue;
    if (!run.isConfirmed) checkMatch(s, run, now);
    else if (started > 0 && now - run.queriedAt >= started) {
      run.queriedAt = now;
      isDue = true;
    }
  }
  return isDue;
}

/** Ends a run that its worker no longer reports: it has ended, or its slot was announced as free too early. */
function endUnreported(s: ReportState, run: BookedRun, now: Millis): void {
  const { worker } = run;
  worker.endedUnreported = withLatest(worker.endedUnreported, { run, endedAt: now }, worker.capacity[SLOT]!);
  s.books.end(run, 'done', now);
}

/** Restores a run that its worker reports again, because the task has not ended when its slot was announced. */
function restore(s: ReportState, worker: BookedWorker, match: number): void {
  const latest = worker.endedUnreported;
  const index = latest.findIndex(({ run }) => run.match === match);
  if (index < 0 || worker.runOf(match) !== undefined) return;
  const [{ run, endedAt }] = latest.splice(index, 1) as [EndedRun];
  s.books.restore(run, endedAt);
}

/** @param matched runs of the worker by match, to which it adds the run */
function add(
  s: ReportState,
  worker: BookedWorker,
  held: ReportedRun,
  matched: Map<number, BookedRun>,
  startedAt: Millis,
  now: Millis,
): void {
  const { match, owner, job: number, stage: index, task, attempt, long, queued } = held;
  const named = match === 0 ? { task, attempt } : undefined;
  const job = s.books.declareAdopted(owner, number, startedAt, long);
  const stage = s.books.stage(job, index, {
    demand: s.books.names.reportedDemandOf(held.demand),
    // For other runs, the owner's need contains the estimate.
    ...(named && { estimateMs: held.estimateMs }),
  });
  if (named === undefined) {
    worker.numberFrom(match);
    // A wrong report may name a lender twice.
    const lenders = [...new Set((held.lenders ?? []).flatMap((lender) => matched.get(lender) ?? []))];
    const isShared = held.shares === true;
    const run =
      lenders.length > 0 && canMakeRoom(lenders, isShared, worker)
        ? s.books.adoptBorrower(stage, worker, startedAt, match, lenders, isShared, now)
        : s.books.adoptRun(stage, worker, startedAt, { match, isExtra: held.lenders !== undefined });
    if (run !== undefined) {
      matched.set(match, run);
      run.pausedBeforeMs = held.pausedMs ?? 0;
      run.task = task;
    }
    return s.books.deleteIfOver(job);
  }
  const waiting = stage.waitingAttempt(task);
  if (waiting !== undefined && waiting > attempt) return s.books.deleteIfOver(job);
  s.books.unnameWaiting(stage, task);
  const isRunning = !queued && s.books.adoptRun(stage, worker, startedAt, { named }) !== undefined;
  if (!isRunning) s.books.adoptQueued(stage, worker, now, named);
  // The owner still waits for the placement of a task that the worker already has.
  const at = [{ task, attempt, worker: worker.address }];
  if (waiting !== undefined) s.env.send(owner, { type: 'placed', job: number, at });
}

/** Returns whether the task was placed so recently that the worker may not have it yet. */
function isInFlight(s: ReportState, { isQueued, isConfirmed, queriedAt }: BookedRun, now: Millis): boolean {
  const { queued } = s.inFlightMs;
  return isQueued && !isConfirmed && (queued === 0 || now - queriedAt < queued);
}

/** Adds a run to the latest ones, of which it keeps at most this number. */
function withLatest(latest: EndedRun[], ended: EndedRun, most: number): EndedRun[] {
  if (latest.length === 0) return [ended];
  if (latest.length >= most) latest.shift();
  latest.push(ended);
  return latest;
}

/** Adds a run to a list that most reports do not need. */
function appended(runs: BookedRun[] | undefined, run: BookedRun): BookedRun[] {
  if (runs === undefined) return [run];
  runs.push(run);
  return runs;
}

/** Sorts runs that borrow behind their lenders, which may borrow from others. */
function lendersFirst(held: readonly ReportedRun[]): ReportedRun[] {
  const sorted: ReportedRun[] = [];
  let left = [...held];
  for (let before = -1, level = 0; left.length > 0 && sorted.length > before && level < LEVELS_MAX; level++) {
    before = sorted.length;
    const waiting = new Set(left.map(({ match }) => match));
    const waits = ({ lenders = [] }: ReportedRun): boolean => lenders.some((match) => waiting.has(match));
    sorted.push(...left.filter((run) => !waits(run)));
    left = left.filter(waits);
  }
  // Only a wrong report has lenders in a circle, or more levels.
  return [...sorted, ...left];
}

/** A lender, its borrower, and the children of the borrower. */
const LEVELS_MAX = 2 + LIMITS.nestedMax;

const NO_RUNS: readonly BookedRun[] = [];
