import type { Millis } from '../ids.js';
import { type Attributes, formatAttributes, mayRun, requiresOf } from '../needs/attributes.js';
import { sumOf } from '../numbers/sums.js';
import { type Cutoff, cutoffOrigin } from '../policy/settings.js';
import type { WorkerState } from '../states.js';
import { counted, formatCount } from '../text/counts.js';
import { formatDuration } from '../text/durations.js';
import { deadlineSentence } from './deadline-words.js';
import {
  type CentralLine,
  expectedWaitMs,
  type JobExplanation,
  type NeedView,
  needOf,
  type StageWait,
  type StartWait,
  type TaskExplanation,
  type WaitSum,
} from './explanation.js';
import { classWords, cutoffWords, measures } from './job-words.js';
import { isFinal, type JobDetail, type Predecessor } from './view.js';
import { lendingWords, predecessorWords, WAIT_PHASE_WORDS, WAITING_WORDS } from './waiting-words.js';

/** What an owner and central know about why a job waits. */
export type Explained = JobExplanation & { readonly central: CentralLine | undefined };

/** A worker, as central lists it. */
interface KnownWorker {
  readonly attributes: Attributes;
  readonly state: WorkerState;
  readonly slots: number;
  readonly busy: number;
}

/** What is known besides. */
export interface Background {
  /** Wall clock, ms since 1970. */
  readonly now: Millis;
  /** Undefined while central does not respond, as for the workers. */
  readonly cutoff: Cutoff | undefined;
  readonly workers?: readonly KnownWorker[] | undefined;
  /** The job if it has ended. */
  readonly ended?: JobDetail | undefined;
  /** What a gang lacks in total. */
  readonly lack?: string | undefined;
}

/** Why a job waits, or how its time was spent, as the command, `top`, HTTP and the page show it. */
export interface Explanation {
  /** The main reason. */
  readonly sentence: string;
  /** Everything known, by topic. Texts of users in it are not checked for control characters. */
  readonly parts: readonly ExplanationPart[];
}

export interface ExplanationPart {
  readonly label: string;
  readonly lines: readonly string[];
}

/** Maximum number of workers of a list that are shown, and of stages. */
const SHOWN = 5;
const STAGES_SHOWN = 10;

export function explanationOf(explained: Explained, background: Background): Explanation {
  const { job, waiting, task, last } = explained;
  const { cutoff, workers, ended, now } = background;
  const hasEnded = isFinal(job.state);
  const lost =
    explained.wastedMs > 0 ? [`${formatDuration(explained.wastedMs)} in unsuccessful attempts`] : [];
  const deadline = deadlineSentence(explained, now);
  const all: readonly (readonly [label: string, lines: readonly string[]])[] = [
    ['class', classLines(explained, cutoff)],
    ['task', task === undefined ? [] : taskLines(task)],
    ['waiting', firstStages(mergedWaits(waiting).map((wait) => waitLine(wait, workers)))],
    ['after', (explained.after ?? []).map(afterLine)],
    ['deadline', deadline === undefined ? [] : [deadline]],
    ['queue', hasEnded ? [] : queueLines(explained)],
    ['probes', probeLines(explained)],
    ['placed', placedLines(explained)],
    ['waited', spreadLines(explained)],
    ['last', last === undefined || task !== undefined ? [] : [lastLine(last, hasEnded)]],
    ...(ended === undefined ? [] : measures(ended))
      .filter(([label]) => label === 'ran' || label === 'estimate')
      .map(([label, value]) => [label, [value]] as const),
    ['lost', lost],
    ['skipped', skippedLines(explained)],
  ];
  const parts = all.flatMap(([label, lines]) => (lines.length === 0 ? [] : [{ label, lines }]));
  return { sentence: sentenceOf(explained, background), parts };
}

function sentenceOf(explained: Explained, { now, lack }: Background): string {
  const { job, task } = explained;
  const main = isFinal(job.state) ? ended(explained) : waits(explained, now);
  const lending = task === undefined ? '' : lendingWords(task, task.ranMs);
  return [
    main,
    ...(lending === '' ? [] : [`Task ${task!.task} ${lending}.`]),
    ...(lack === undefined ? [] : [`In total, ${lack}.`]),
  ].join(' ');
}

function waits(explained: Explained, now: Millis): string {
  const { job, waiting, central } = explained;
  const most = mainWait(waiting);
  const running = `${counted(job.tasks.running, 'task')} ${job.tasks.running === 1 ? 'runs' : 'run'}`;
  if (most === undefined || most.reason === 'stage') {
    const later = sumOf(waiting, ({ tasks }) => tasks);
    if (later === 0) return `${running}, and none waits.`;
    return `${running}; ${counted(later, 'task')} ${later === 1 ? 'waits' : 'wait'} for earlier stages to complete.`;
  }
  const { waitedMs, reason, missing } = most;
  const need = central === undefined ? undefined : needOf(most, central.needs);
  // Pilots and other tasks are separate groups, which matters only to central.
  const tasks =
    need === undefined
      ? sumOf(waiting, (group) => (group.reason === reason && group.missing === missing ? group.tasks : 0))
      : most.tasks;
  const head = `${counted(tasks, 'task')} ${tasks === 1 ? 'has' : 'have'} waited ${formatDuration(waitedMs)}: ${WAITING_WORDS[reason].why}`;
  if (reason === 'other-job') return `${head}: ${(explained.after ?? []).map(predecessorWords).join('; ')}.`;
  if (reason === 'begin' && job.beginAt !== undefined)
    return `${head}: in ${formatDuration(Math.max(0, job.beginAt - now))}.`;
  if (missing !== undefined) return `${head}: ${missing}.`;
  if (need === undefined || central === undefined) return `${head}.`;
  if (need.why !== undefined) return `${head}; ${need.why}.`;
  const expected = need.starts?.p50 ?? expectedWaitMs(need, central);
  const range = need.starts === undefined ? '' : ` (${rangeWords(need.starts)})`;
  const when = expected === undefined ? '' : `, in about ${formatDuration(expected)}${range}`;
  return `${head}; ${orderWords(need)}${when}.`;
}

/** Returns the largest group of waiting tasks. Tasks of later stages wait as planned, so others come first. */
export function mainWait(waiting: readonly StageWait[]): StageWait | undefined {
  const isLater = ({ reason }: StageWait) => (reason === 'stage' ? 1 : 0);
  return waiting.toSorted((one, other) => isLater(one) - isLater(other) || other.tasks - one.tasks)[0];
}

function orderWords({ ahead }: NeedView): string {
  return ahead.jobs === 0
    ? 'next in order'
    : `after ${counted(ahead.tasks, 'task')} of ${counted(ahead.jobs, 'job')}`;
}

function rangeWords({ p10, p90 }: StartWait): string {
  return `${formatDuration(p10)} to ${formatDuration(p90)} in 8 of 10 cases`;
}

/** The spread of waits begins when a task is ready; earlier stages end before. */
function readyWords(waitSums: readonly WaitSum[]): string {
  return waitSums.some(({ phase }) => phase !== 'worker' && phase !== 'retry') ? ' once ready' : '';
}

function ended({ job, waits, waitSums = [], wastedMs }: Explained): string {
  const { startedMs, endedMs = 0, state } = job;
  if (startedMs === undefined)
    return `It ${state === 'cancelled' ? 'was cancelled' : 'ended'} before anything started.`;
  const after = `${state === 'cancelled' ? 'Cancelled' : state === 'failed' ? 'Failed' : 'Completed'} after ${formatDuration(endedMs)}`;
  const isOne = waits?.tasks === 1;
  const first = `${formatDuration(startedMs)} until ${isOne ? 'it' : 'the first task'} started`;
  const last =
    waits === undefined || isOne
      ? ''
      : `, and 90% of the tasks waited ${formatDuration(waits.p90)} or less${readyWords(waitSums)}`;
  const longest = waitSums.toSorted((one, other) => other.tasks * other.meanMs - one.tasks * one.meanMs)[0];
  const most = longest === undefined ? '' : `; most of the waiting was ${WAIT_PHASE_WORDS[longest.phase]}`;
  const lost = wastedMs > 0 ? `; ${formatDuration(wastedMs)} were spent in unsuccessful attempts` : '';
  return `${after}: ${first}${last}${most}${lost}.`;
}

function firstStages(lines: readonly string[]): string[] {
  const more = lines.length - STAGES_SHOWN;
  return more <= 0
    ? [...lines]
    : [...lines.slice(0, STAGES_SHOWN), `and ${counted(more, 'more line')} (--json has all)`];
}

/** Returns the name of a stage for a sentence; a job without explicit stages has one called `tasks`. */
function inStage(name: string): string {
  return name === 'tasks' ? '' : ` of ${name}`;
}

/** Merges waits of a stage that differ only in the number of tasks, such as those of pilots and of the rest. */
function mergedWaits(waiting: readonly StageWait[]): StageWait[] {
  const merged = new Map<string, StageWait>();
  for (const wait of waiting) {
    const { tasks, waitedMs, index: _, ...same } = wait;
    const key = JSON.stringify([same, formatDuration(waitedMs)]);
    const known = merged.get(key);
    merged.set(key, known === undefined ? wait : { ...known, tasks: known.tasks + tasks });
  }
  return [...merged.values()];
}

function waitLine(
  { stage, reason, tasks, waitedMs, requires, missing }: StageWait,
  workers: readonly KnownWorker[] | undefined,
): string {
  const { why } = WAITING_WORDS[reason];
  const known = requires === undefined || workers === undefined ? undefined : whoHas(requires, workers);
  const who = missing === undefined ? known : missing;
  return `${counted(tasks, 'task')}${inStage(stage)}, waiting for ${formatDuration(waitedMs)}; now: ${why} (${reason})${who === undefined ? '' : `; ${who}`}`;
}

/** Describes the workers with the required attributes: `2 workers have zone=eu, both are busy` */
function whoHas(required: NonNullable<StageWait['requires']>, workers: readonly KnownWorker[]): string {
  const requires = requiresOf(required)!;
  const able = workers.filter((worker) => mayRun(worker, { requires }));
  const what = formatAttributes(requires);
  if (able.length === 0) return `no worker has ${what}`;
  const head = `${counted(able.length, 'worker')} ${able.length === 1 ? 'has' : 'have'} ${what}`;
  const away = able.filter(({ state }) => state !== 'active').length;
  const full = able.filter(({ state, slots, busy }) => state === 'active' && busy >= slots).length;
  const parts = [
    ...(full > 0 ? [`${partOf(full, able.length)} busy`] : []),
    ...(away > 0 ? [`${partOf(away, able.length)} drained or quarantined`] : []),
  ];
  return parts.length === 0 ? head : `${head}, ${parts.join(', ')}`;
}

function partOf(some: number, all: number): string {
  if (some < all) return `${formatCount(some)} ${some === 1 ? 'is' : 'are'}`;
  if (all === 1) return 'and is';
  return all === 2 ? 'both are' : 'all are';
}

function afterLine(before: Predecessor): string {
  return `waits for job ${predecessorWords(before)}`;
}

function taskLines(explained: TaskExplanation): string[] {
  const { task, stage, state, reason, isPilot, attempts, worker, waitedMs, ranMs, error } = explained;
  const pilot = isPilot ? ', a pilot' : '';
  const where = worker === undefined ? '' : ` on ${worker}`;
  const again = attempts > 1 ? `, attempt ${attempts}` : '';
  const head = `${task}${inStage(stage)}${pilot}: ${state}${where}${again}`;
  const why = error === undefined ? [] : [error];
  if (reason !== undefined) {
    const now = `waiting for ${formatDuration(waitedMs)}; now: ${WAITING_WORDS[reason].why} (${reason})`;
    return [head, now, ...why.map((text) => `last failure: ${text}`)];
  }
  const times = `waited ${formatDuration(waitedMs)}, ran ${formatDuration(ranMs ?? 0)}`;
  const lending = lendingWords(explained, ranMs);
  const lent = lending === '' ? [] : [lending];
  return [head, ...lent, ...why, ...(ranMs === undefined ? [] : [times])];
}

function queueLines({ central, matches }: Explained): string[] {
  if (central === undefined) return ['central does not answer'];
  const found = matches === 0 ? [] : [`${counted(matches, 'worker')} found for it so far`];
  return [...firstStages(central.needs.map((need) => needLine(need, central))), ...found];
}

function needLine(need: NeedView, central: CentralLine): string {
  const { kind, tasks, ahead, kept, why, expected } = need;
  if (why !== undefined) {
    // The reason of the policy already includes the expected time.
    const where = expected?.where === undefined ? '' : `; planned for ${expected.where}`;
    return `${counted(tasks, 'task')} at central: ${why}${where}${startWords(need)}`;
  }
  const isDecided = kind === 'short' || kind === 'long';
  const head = isDecided
    ? `${counted(tasks, `${kind} task`)} at central`
    : `${counted(tasks, 'task')} of unknown class at central`;
  const expectedMs = expectedWaitMs(need, central);
  const howLong =
    expectedMs === undefined ? 'whose run times are unknown' : `in about ${formatDuration(expectedMs)}`;
  const before =
    ahead.jobs === 0 && expectedMs === undefined ? orderWords(need) : `${orderWords(need)}, ${howLong}`;
  const isLimited = kind !== 'short' && kind !== 'small' && central.longRunning >= central.longLimit;
  const limited = isLimited ? `; ${longWords(central)}` : '';
  const demands =
    Object.keys(need.demand).length > 0 && central.freeSlots > 0
      ? '; no free worker has room for its demand'
      : '';
  const held = kept > 0 ? `; ${counted(kept, 'worker')} reserved for it` : '';
  return `${head}, ${before}${limited}${demands}${held}${startWords(need)}`;
}

/** The limit shrinks when short work arrives, and does not stop tasks that run. */
export function longWords({ longRunning, longLimit }: CentralLine): string {
  return longRunning > longLimit
    ? `long tasks use ${longRunning} CPUs, and the limit is now ${longLimit}`
    : `long tasks use ${longRunning} of at most ${longLimit} CPUs`;
}

/**
 * Describes the expected start from the durations of earlier waits, regardless of the estimates of jobs
 * ahead.
 */
function startWords({ starts }: NeedView): string {
  if (starts === undefined) return '';
  return `; the next starts in ${formatDuration(starts.p50)}, ${rangeWords(starts)} (${counted(starts.waits, 'earlier wait')})`;
}

function probeLines({ probes, probesOut, probesMoved }: Explained): string[] {
  const moved = probesMoved > 0 ? [`${counted(probesMoved, 'probe')} stolen by idle workers`] : [];
  if (probesOut <= 0) return moved;
  const shown = probes
    .slice(0, SHOWN)
    .map(({ worker, probes: many }) => `${worker}${many > 1 ? ` (${many})` : ''}`);
  const hidden = probes.length > SHOWN ? ', …' : '';
  return [`${formatCount(probesOut)} in queues of workers: ${shown.join(', ')}${hidden}`, ...moved];
}

function placedLines({ placed }: Explained): string[] {
  const shown = placed.slice(0, SHOWN).map(({ task, worker }) => `task ${task} at ${worker}`);
  return shown.length === 0 ? [] : [`${shown.join(', ')}${placed.length > SHOWN ? ', …' : ''}`];
}

function spreadLines({ waits, waitSums = [] }: Explained): string[] {
  if (waits === undefined) return [];
  const { tasks, p50, p90, max } = waits;
  const spread =
    tasks === 1
      ? `${formatDuration(max)} until it started`
      : `p50 ${formatDuration(p50)}, p90 ${formatDuration(p90)}, max ${formatDuration(max)} (${formatCount(tasks)} tasks that have started)`;
  const isPlain = waitSums.every(({ phase }) => phase === 'worker');
  return isPlain
    ? [`${spread}, ${WAIT_PHASE_WORDS.worker}`]
    : [`${spread}${readyWords(waitSums)}`, ...waitSums.map((sum) => sumLine(sum, tasks))];
}

/** Summarizes waits: `3.83 s on average, 6 s at most, for a worker (8 tasks)` */
function sumLine({ phase, tasks, meanMs, maxMs }: WaitSum, started: number): string {
  const mean = formatDuration(meanMs);
  const max = formatDuration(maxMs);
  const time = mean === max ? mean : `${mean} on average, ${max} at most,`;
  const of = started === 1 ? '' : ` (${counted(tasks, 'task')})`;
  return `${time} ${WAIT_PHASE_WORDS[phase]}${of}`;
}

function lastLine(
  { task, state, waitedMs, ranMs, worker, endedMs, attempts, error }: TaskExplanation,
  hasEnded: boolean,
): string {
  const failed = state === 'failed' && error !== undefined ? `; it failed: ${error}` : '';
  const where = worker === undefined ? '' : ` on ${worker}`;
  const again = attempts > 1 ? ` in attempt ${attempts}` : '';
  const when = endedMs === undefined ? '' : `, at ${formatDuration(endedMs)}`;
  const so = hasEnded ? '' : ' so far';
  return `task ${task} ended last${so}${when}: waited ${formatDuration(waitedMs)}, ran ${formatDuration(ranMs ?? 0)}${where}${again}${failed}`;
}

function skippedLines({ skippedNumbers }: Explained): string[] {
  if (skippedNumbers === undefined) return [];
  const [were, them] = skippedNumbers === 1 ? ['was', 'it'] : ['were', 'them'];
  return [
    `${counted(skippedNumbers, 'attempt number')} ${were} not used after a restart of the scheduler, because unrecorded runs may have had ${them}`,
  ];
}

function classLines({ job, sampling }: Explained, cutoff: Cutoff | undefined): string[] {
  const estimate = !job.estimateMs ? '' : `, estimated at ${formatDuration(job.estimateMs)} per task`;
  const divide = cutoff === undefined ? [] : [cutoffWords(cutoff.cutoffMs, cutoffOrigin(cutoff))];
  const head = `${classWords(job)}${estimate}`;
  if (sampling === undefined) return [head, ...divide];
  const { pilotTasks, decidedMs } = sampling;
  const decided = decidedMs === undefined ? '' : `, decided after ${formatDuration(decidedMs)}`;
  return [`${head}; ${counted(pilotTasks, 'pilot')}${decided}`, ...divide];
}
