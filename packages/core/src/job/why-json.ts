import { doc } from '../fields/fields.js';
import type { Millis } from '../ids.js';
import { attributesByName } from '../needs/attributes.js';
import * as json from '../output.js';
import { type Cutoff, cutoffOrigin } from '../policy/settings.js';
import { DEADLINE_STATES, deadlineSentence, deadlineState, latestStartOf } from './deadline-words.js';
import {
  type Background,
  type Explained,
  type Explanation,
  type ExplanationPart,
  explanationOf,
} from './explain.js';
import {
  type CentralLine,
  centralLine,
  expectedWaitMs,
  type JobExplanation,
  jobExplanation,
  type NeedView,
  needView,
  type StageWait,
  stageWait,
  type TaskExplanation,
  taskExplanation,
  type WaitingGroup,
  type WaitSpread,
  type WaitSum,
  waitingGroup,
  waitSum,
} from './explanation.js';
import { lendingEntries, predecessorTable, summaryTable } from './json.js';
import { isFinal } from './view.js';
import { WAITING_REASONS, type WaitingReason } from './waiting.js';

const { byName, count, flag, list, literal, or, orNull, omitted, same, table, text } = json;

const startTable = table<NonNullable<NeedView['starts']>>()(() => ({
  p10: json.seconds,
  p50: json.seconds,
  p90: json.seconds,
  waits: count,
}));

const aheadTable = table<NeedView['ahead']>()((of) => ({
  jobs: count,
  tasks: count,
  workSeconds: of(json.seconds, ({ workMs }) => workMs),
}));

const needTable = table<NeedView & { readonly line: CentralLine }>()((of) => ({
  stage: count,
  ...same(needView, 'kind', 'tasks'),
  waitedSeconds: of(json.seconds, ({ waitedMs }) => waitedMs),
  ahead: aheadTable,
  expectedSeconds: of(orNull(json.seconds), ({ line, ...need }) => expectedWaitMs(need, line)),
  startsInSeconds: of(orNull(startTable), ({ starts }) => starts),
  ...same(needView, 'kept', 'why'),
}));

const lineTable = table<CentralLine>()((of) => ({
  ...same(centralLine, 'slots', 'freeSlots', 'longRunning', 'longLimit'),
  lendable: doc('CPUs that a typical short task could borrow now; absent: none.', omitted(count)),
  ...same(centralLine, 'unmatched'),
  needs: of(list(needTable), (line) => line.needs.map((need) => ({ ...need, line }))),
}));

const groupTable = table<WaitingGroup>()((of) => ({
  ...same(waitingGroup, 'class', 'reason', 'tasks', 'example'),
  why: doc('Limit of the user or project that delays the tasks.', omitted(text)),
  exampleAgeSeconds: of(json.seconds, ({ exampleAgeMs }) => exampleAgeMs),
}));

interface Waiting {
  readonly waiting: readonly WaitingGroup[];
  readonly central: CentralLine | undefined;
  readonly silent: readonly string[];
}

export const waitingTable = table<Waiting>()((of) => ({
  schema: of(literal('goshawk.waiting/1'), () => 'goshawk.waiting/1' as const),
  waiting: list(groupTable),
  central: doc("Central's queue; null: central does not answer.", orNull(lineTable)),
  silent: list(text),
}));

/** `goshawk.waiting/1`: waiting tasks by reason. */
export function waitingJson(waiting: Waiting): json.JsonOf<typeof waitingTable> {
  return waitingTable.json(waiting, undefined);
}

/** The cutoff between short and long jobs. */
const cutoffTable = table<{ readonly cutoff: Cutoff | undefined }>()((of) => ({
  cutoffSeconds: doc(
    'Cutoff between short and long jobs; null while central does not answer.',
    of(orNull(json.seconds), ({ cutoff }) => cutoff?.cutoffMs),
  ),
  cutoffFrom: doc(
    'Origin of the cutoff: how it was learned, or `said`.',
    of(orNull(text), ({ cutoff }) => (cutoff === undefined ? undefined : cutoffOrigin(cutoff))),
  ),
}));

const pilotsTable = table<NonNullable<JobExplanation['sampling']>>()((of) => ({
  tasks: of(count, ({ pilotTasks }) => pilotTasks),
  decidedSeconds: of(orNull(json.seconds), ({ decidedMs }) => decidedMs),
}));

const probesTable = table<JobExplanation>()((of) => ({
  out: of(count, ({ probesOut }) => probesOut),
  moved: of(count, ({ probesMoved }) => probesMoved),
  workers: of(same(jobExplanation, 'probes').probes, ({ probes }) => probes),
}));

const spreadTable = table<WaitSpread>()(() => ({
  tasks: count,
  p50: json.seconds,
  p90: json.seconds,
  max: json.seconds,
}));

const sumTable = table<WaitSum>()((of) => ({
  ...same(waitSum, 'phase', 'tasks'),
  meanSeconds: of(json.seconds, ({ meanMs }) => meanMs),
  maxSeconds: of(json.seconds, ({ maxMs }) => maxMs),
}));

const waitTable = table<StageWait>()((of) => ({
  ...same(stageWait, 'stage', 'reason', 'tasks'),
  missing: doc('Unmet requirements, and a remedy.', omitted(text)),
  requires: of(omitted(byName(text)), ({ requires }) =>
    requires === undefined ? undefined : attributesByName(requires),
  ),
  waitedSeconds: of(json.seconds, ({ waitedMs }) => waitedMs),
}));

const taskExplanationTable = table<TaskExplanation>()((of) => ({
  ...same(taskExplanation, 'task', 'stage', 'state', 'reason', 'isPilot', 'attempts', 'worker'),
  waitedSeconds: of(json.seconds, ({ waitedMs }) => waitedMs),
  ranSeconds: of(orNull(json.seconds), ({ ranMs }) => ranMs),
  endedSeconds: of(orNull(json.seconds), ({ endedMs }) => endedMs),
  ...same(taskExplanation, 'error'),
  ...lendingEntries,
  borrows: doc('It uses, or used, CPUs of tasks that paused for it.', or(flag, false)),
}));

const deadlineTable = table<Explained & { readonly sentence: string }, WhyContext>()((of) => ({
  latestStartInSeconds: doc(
    'Latest start that the policy plans for; negative: it has passed; null: unknown, or nothing waits.',
    of(orNull(json.signedSeconds), (explained) => plannedStart(explained)?.inMs),
  ),
  canBeMet: doc(
    'Whether run times leave enough time; null: unknown, or nothing waits.',
    of(orNull(flag), (explained, { now }) => {
      const latest = plannedStart(explained);
      const state = deadlineState(explained.job, now);
      if (latest === undefined) return undefined;
      // An expected end decides, if there is one.
      return state === 'open' ? !latest.isTooLate : state !== 'late' && state !== 'missed';
    }),
  ),
  state: doc(
    '`late`: the job is expected to end after the deadline; `risk`: the interval of its expected end passes it; `fine`: the interval ends before it; `open`: no end is expected yet.',
    of(json.choice(...DEADLINE_STATES), ({ job }, { now }) => deadlineState(job, now)!),
  ),
  sentence: doc('Follows the word "deadline".', text),
}));

function plannedStart(explained: Explained): NeedView['latestStart'] {
  return isFinal(explained.job.state) ? undefined : latestStartOf(explained);
}

const limitTable = table<AppliedLimit>()(() => ({
  from: json.time,
  to: json.time,
  reason: json.choice(...WAITING_REASONS),
  why: text,
  tasks: count,
}));

/** A limit that applied to most waiting tasks of a job; wall clock, ms since 1970. */
export interface AppliedLimit {
  readonly from: Millis;
  readonly to: Millis;
  readonly reason: WaitingReason;
  readonly why: string;
  readonly tasks: number;
}

interface WhyContext extends Background {
  readonly explanation: Explanation;
  /** Over HTTP only. */
  readonly limits?: readonly AppliedLimit[] | undefined;
}

const partTable = table<ExplanationPart>()(() => ({ label: text, lines: list(text) }));

export const whyTable = table<Explained, WhyContext>()((of) => ({
  schema: of(literal('goshawk.why/1'), () => 'goshawk.why/1' as const),
  ...of.within(summaryTable, ({ job }) => job),
  ...of.within(cutoffTable, (_, { cutoff }) => ({ cutoff })),
  pilots: of(orNull(pilotsTable), ({ sampling }) => sampling),
  waiting: list(waitTable),
  line: doc(
    "Central's queue; null: central does not answer, or does not list the job.",
    of(orNull(lineTable), ({ central }) => central),
  ),
  probes: of(probesTable, (explained) => explained),
  ...same(jobExplanation, 'matches', 'placed'),
  waitSeconds: doc(
    'Waiting times of the tasks that have started.',
    of(orNull(spreadTable), ({ waits }) => waits),
  ),
  waited: of(list(sumTable), ({ waitSums }) => waitSums ?? []),
  lostSeconds: of(json.seconds, ({ wastedMs }) => wastedMs),
  after: or(list(predecessorTable), []),
  deadline: doc(
    'Null: the job has no deadline.',
    of(orNull(deadlineTable), (explained, { now }) => {
      const sentence = deadlineSentence(explained, now);
      return sentence === undefined ? undefined : { ...explained, sentence };
    }),
  ),
  last: orNull(taskExplanationTable),
  task: omitted(taskExplanationTable),
  sentence: doc(
    'Explanation in one sentence.',
    of(text, (_, { explanation }) => explanation.sentence),
  ),
  parts: doc(
    'The whole explanation in words, by topic, as `goshawk why` prints it.',
    of(list(partTable), (_, { explanation }) => explanation.parts),
  ),
  limits: doc(
    'Limit that applied to most waiting tasks, over time; over HTTP only.',
    of(omitted(list(limitTable)), (_, { limits }) => limits),
  ),
}));

/** `goshawk.why/1`: why one job waits. Times are seconds since its acceptance; unknown values are null. */
export function whyJson(
  explained: Explained,
  background: Omit<WhyContext, 'explanation'>,
): json.JsonOf<typeof whyTable> {
  return whyTable.json(explained, { ...background, explanation: explanationOf(explained, background) });
}
