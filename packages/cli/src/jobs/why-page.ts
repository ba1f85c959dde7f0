import type { ClusterWaiting, ExplainedJob, WorkerView } from '@goshawk/client';
import { type Painter, page, plain, type Section, section } from '@goshawk/command';
import {
  type CentralLine,
  counted,
  cutoffOrigin,
  deadlineSentence,
  expectedWaitMs,
  formatAttributes,
  formatCount,
  formatDuration,
  isFinal,
  type JobDetail,
  lendingWords,
  type Millis,
  mayRun,
  type NeedView,
  type PolicySettings,
  type Predecessor,
  predecessorWords,
  requiresOf,
  type StageWait,
  sumOf,
  type TaskStory,
  WAIT_PHASE_WORDS,
  WAITING_WORDS,
  type WaitSum,
} from '@goshawk/core';
import { classWords, cutoffWords, heading, measures } from './words.js';

/** Maximum number of workers of a list that are shown. */
const SHOWN = 5;

/** Maximum number of stages that are shown. */
const STAGES_SHOWN = 10;

/** Renders the waiting tasks of the cluster and remedies. */
export function waitingPage({ waiting, central, silent }: ClusterWaiting, paint: Painter): string {
  const total = sumOf(waiting, ({ tasks }) => tasks);
  const waits = total === 0 ? 'no task waits' : `${counted(total, 'task')} ${total === 1 ? 'waits' : 'wait'}`;
  const title = silent.length === 0 ? waits : `${waits} at the schedulers that answer`;
  const groups = waiting.map(({ class: of, reason, tasks, example, exampleAgeMs, why }): Section => {
    const { why: words, helps } = WAITING_WORDS[reason];
    return [
      reason,
      [
        `${counted(tasks, 'task')} of ${of} jobs: ${plain(why ?? words)}`,
        paint.dim(
          `longest ${example}, accepted ${formatDuration(exampleAgeMs)} ago (goshawk why ${example})`,
        ),
        paint.dim(`helps: ${helps}`),
      ],
    ];
  });
  const missing = section('no answer', silent.join(', '));
  return page(paint.bold(title), [...groups, ['central', centralLine(central)], ...missing], paint);
}

function centralLine(central: CentralLine | undefined): string {
  if (central === undefined) return 'does not respond: schedulers probe for short jobs, and long jobs wait';
  const { slots, freeSlots, longLimit, unmatched } = central;
  const long = longLimit < slots ? `, ${longWords(central)}` : '';
  return `${counted(slots, 'CPU')}, ${formatCount(freeSlots)} free${long}; ${counted(unmatched, 'task')} without a worker`;
}

/** Context of a job: the cutoff, and its outcome. */
interface Background {
  readonly cutoff: Pick<PolicySettings, 'cutoffMs' | 'cutoffJobs'> | undefined;
  /** Workers of the cluster; undefined while central does not respond. */
  readonly workers?: readonly WorkerView[] | undefined;
  /** The job if it has ended. */
  readonly ended: JobDetail | undefined;
  /** Wall clock, ms since 1970. */
  readonly now: Millis;
}

/** Renders why a job waits, or its time breakdown. */
export function whyPage(
  explained: ExplainedJob,
  { cutoff, workers, ended, now }: Background,
  paint: Painter,
): string {
  const { job, waiting, task, last } = explained;
  const sections: Section[] = [
    ['class', classLines(explained, cutoff)],
    ...section('task', task === undefined ? [] : taskLines(task)),
    ...section('waiting', firstStages(mergedWaits(waiting).map((wait) => waitLine(wait, workers)))),
    ...section('after', (explained.after ?? []).map(afterLine)),
    ...section('deadline', deadlineSentence(explained, now)),
    ...section('queue', isFinal(job.state) ? [] : queueLines(explained)),
    ...section('probes', probeLines(explained)),
    ...section('placed', placedLines(explained)),
    ...section('waited', spreadLines(explained)),
    ...section(
      'last',
      last === undefined || task !== undefined ? undefined : lastLine(last, isFinal(job.state)),
    ),
    ...(ended === undefined ? [] : measures(ended)).filter(
      ([label]) => label === 'ran' || label === 'estimate',
    ),
    ...section(
      'lost',
      explained.wastedMs > 0 ? `${formatDuration(explained.wastedMs)} in unsuccessful attempts` : undefined,
    ),
  ];
  return page(heading(job, paint), sections, paint);
}

function classLines({ job, sampling }: ExplainedJob, cutoff: Background['cutoff']): string[] {
  const estimate = !job.estimateMs ? '' : `, estimated at ${formatDuration(job.estimateMs)} per task`;
  const divide = cutoff === undefined ? [] : [cutoffWords(cutoff.cutoffMs, cutoffOrigin(cutoff))];
  const head = `${classWords(job)}${estimate}`;
  if (sampling === undefined) return [head, ...divide];
  const { pilotTasks, decidedMs } = sampling;
  const decided = decidedMs === undefined ? '' : `, decided after ${formatDuration(decidedMs)}`;
  return [`${head}; ${counted(pilotTasks, 'pilot')}${decided}`, ...divide];
}

function firstStages(lines: readonly string[]): string[] {
  const more = lines.length - STAGES_SHOWN;
  return more <= 0
    ? [...lines]
    : [...lines.slice(0, STAGES_SHOWN), `and ${counted(more, 'more line')} (--json has all)`];
}

/** Returns the name of a stage for a sentence; a job without explicit stages has one called `tasks`. */
function inStage(name: string): string {
  return name === 'tasks' ? '' : ` of ${plain(name)}`;
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
  workers: readonly WorkerView[] | undefined,
): string {
  const { why } = WAITING_WORDS[reason];
  const known = requires === undefined || workers === undefined ? undefined : whoHas(requires, workers);
  const who = missing === undefined ? known : plain(missing);
  return `${counted(tasks, 'task')}${inStage(stage)}, waiting for ${formatDuration(waitedMs)}; now: ${why} (${reason})${who === undefined ? '' : `; ${who}`}`;
}

/** Describes the workers with the required attributes: `2 workers have zone=eu, both are busy` */
function whoHas(required: NonNullable<StageWait['requires']>, workers: readonly WorkerView[]): string {
  const requires = requiresOf(required)!;
  const able = workers.filter((worker) => mayRun(worker, { requires }));
  const what = plain(formatAttributes(requires));
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

function taskLines(story: TaskStory): string[] {
  const { task, stage, state, reason, isPilot, attempts, worker, waitedMs, ranMs, error } = story;
  const pilot = isPilot ? ', a pilot' : '';
  const where = worker === undefined ? '' : ` on ${plain(worker)}`;
  const again = attempts > 1 ? `, attempt ${attempts}` : '';
  const head = `${task}${inStage(stage)}${pilot}: ${state}${where}${again}`;
  const why = error === undefined ? [] : [plain(error)];
  if (reason !== undefined) {
    const now = `waiting for ${formatDuration(waitedMs)}; now: ${WAITING_WORDS[reason].why} (${reason})`;
    return [head, now, ...why.map((text) => `last failure: ${text}`)];
  }
  const times = `waited ${formatDuration(waitedMs)}, ran ${formatDuration(ranMs ?? 0)}`;
  const lending = lendingWords(story, ranMs);
  const lent = lending === '' ? [] : [plain(lending)];
  return [head, ...lent, ...why, ...(ranMs === undefined ? [] : [times])];
}

function queueLines({ central, matches }: ExplainedJob): string[] {
  if (central === undefined) return ['central does not answer'];
  const found = matches === 0 ? [] : [`${counted(matches, 'worker')} found for it so far`];
  return [...firstStages(central.needs.map((need) => needLine(need, central))), ...found];
}

function needLine(need: NeedView, central: CentralLine): string {
  const { kind, tasks, ahead, kept, why, expected } = need;
  if (why !== undefined) {
    // The reason of the policy already includes the expected time.
    const where = expected?.where === undefined ? '' : `; planned for ${plain(expected.where)}`;
    return `${counted(tasks, 'task')} at central: ${plain(why)}${where}${startWords(need)}`;
  }
  const isDecided = kind === 'short' || kind === 'long';
  const head = isDecided
    ? `${counted(tasks, `${kind} task`)} at central`
    : `${counted(tasks, 'task')} of unknown class at central`;
  const expectedMs = expectedWaitMs(need, central);
  const howLong =
    expectedMs === undefined ? 'whose run times are unknown' : `in about ${formatDuration(expectedMs)}`;
  const before =
    ahead.jobs === 0
      ? `next in order${expectedMs === undefined ? '' : `, ${howLong}`}`
      : `after ${counted(ahead.tasks, 'task')} of ${counted(ahead.jobs, 'job')}, ${howLong}`;
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
function longWords({ longRunning, longLimit }: CentralLine): string {
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
  const { p10, p50, p90, waits } = starts;
  return `; the next starts in ${formatDuration(p50)}, ${formatDuration(p10)} to ${formatDuration(p90)} in 8 of 10 cases (${counted(waits, 'earlier wait')})`;
}

function probeLines({ probes, probesOut, probesMoved }: ExplainedJob): string[] {
  const moved = probesMoved > 0 ? [`${counted(probesMoved, 'probe')} stolen by idle workers`] : [];
  if (probesOut <= 0) return moved;
  const shown = probes
    .slice(0, SHOWN)
    .map(({ worker, probes: many }) => `${plain(worker)}${many > 1 ? ` (${many})` : ''}`);
  const hidden = probes.length > SHOWN ? ', …' : '';
  return [`${formatCount(probesOut)} in queues of workers: ${shown.join(', ')}${hidden}`, ...moved];
}

function placedLines({ placed }: ExplainedJob): string[] {
  const shown = placed.slice(0, SHOWN).map(({ task, worker }) => `task ${task} at ${plain(worker)}`);
  return shown.length === 0 ? [] : [`${shown.join(', ')}${placed.length > SHOWN ? ', …' : ''}`];
}

function spreadLines({ waits, waitSums = [] }: ExplainedJob): string[] {
  if (waits === undefined) return [];
  const { tasks, p50, p90, max } = waits;
  const spread =
    tasks === 1
      ? `${formatDuration(max)} until it started`
      : `p50 ${formatDuration(p50)}, p90 ${formatDuration(p90)}, max ${formatDuration(max)} (${formatCount(tasks)} tasks that have started)`;
  const isPlain = waitSums.every(({ phase }) => phase === 'worker');
  // The spread begins when a task is ready; earlier stages and pilots end before.
  const ready = waitSums.some(({ phase }) => phase !== 'worker' && phase !== 'retry') ? ' once ready' : '';
  return isPlain
    ? [`${spread}, ${WAIT_PHASE_WORDS.worker}`]
    : [`${spread}${ready}`, ...waitSums.map((sum) => sumLine(sum, tasks))];
}

/** Summarizes waits: `3.83 s on average, 6 s at most, for a free worker (8 tasks)` */
function sumLine({ phase, tasks, meanMs, maxMs }: WaitSum, started: number): string {
  const mean = formatDuration(meanMs);
  const max = formatDuration(maxMs);
  const time = mean === max ? mean : `${mean} on average, ${max} at most,`;
  const of = started === 1 ? '' : ` (${counted(tasks, 'task')})`;
  return `${time} ${WAIT_PHASE_WORDS[phase]}${of}`;
}

function lastLine(
  { task, waitedMs, ranMs, worker, endedMs, attempts }: TaskStory,
  hasEnded: boolean,
): string {
  const where = worker === undefined ? '' : ` on ${plain(worker)}`;
  const again = attempts > 1 ? ` in attempt ${attempts}` : '';
  const when = endedMs === undefined ? '' : `, at ${formatDuration(endedMs)}`;
  const so = hasEnded ? '' : ' so far';
  return `task ${task} ended last${so}${when}: waited ${formatDuration(waitedMs)}, ran ${formatDuration(ranMs ?? 0)}${where}${again}`;
}
