import type { Cluster, ClusterWaiting } from '@goshawk/client';
import {
  counted,
  formatAttributes,
  formatCount,
  formatDuration,
  GoshawkError,
  type JobSummary,
  LIMITS,
  type Millis,
  parseJobSpec,
  sumOf,
  UnreachableError,
  type WaitingReason,
} from '@goshawk/core';
import { openCluster } from '../cluster.js';
import { defineCommand, ExitCode } from '../command.js';
import { type Outlook, outlookOf, type StageOutlook } from '../jobs/outlook.js';
import { cutoffWords } from '../jobs/words.js';
import { buildJob } from '../submission/build-job.js';
import { PLAN_OPTIONS } from '../submission/options.js';
import { painter, plain } from '../terminal/paint.js';
import { page, section } from '../terminal/sections.js';
import { sourcesOf } from './submit.js';

export const planCommand = defineCommand({
  name: 'plan',
  words: '[FILE.json | -- CMD ARG…]',
  describe:
    'predict the class, eligible workers and start of a job without submitting it; takes the arguments of submit; exits with 1 if no worker can run it now',
  examples: [
    ['goshawk plan --tasks 100 --estimate 2s --cpus 4 -- ./simulate', 'before the submission'],
    ['goshawk plan job.json && goshawk submit job.json', 'submit only if the job can run now'],
  ],
  options: PLAN_OPTIONS,
  async run(context, options, positionals) {
    const { key: _, ...job } = await buildJob(options, positionals, sourcesOf(context));
    const spec = parseJobSpec(job, 'plan');
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    const [view, { central, waiting }, { jobs }] = await Promise.all([
      cluster.describe({ signal }),
      cluster.waiting({ signal }),
      cluster.jobs({ states: ['waiting', 'running'], limit: LIMITS.jobsListedMax, signal }),
    ]);
    if (central === undefined)
      throw new UnreachableError('unreachable', 'central does not answer', 'try again');
    const outlook = outlookOf(spec, view, central, await withoutHeld(cluster, jobs, waiting, signal));
    const canRun = outlook.stages.every(({ fitting }) => fitting > 0);
    context.show(planJson(outlook, canRun), () => planPage(spec.name, outlook, canRun, painter(context)));
    return canRun ? ExitCode.done : ExitCode.failed;
  },
});

/** Nobody waits behind tasks that wait for these, however many workers become free. */
const HELD: ReadonlySet<WaitingReason> = new Set([
  'other-job',
  'required',
  'drained',
  'no-worker',
  'held',
  'begin',
]);
/** Jobs that are asked what they wait for: those with most waiting tasks. */
const ASKED_MAX = 100;

/** The jobs, without waiting tasks that cannot start at present. */
async function withoutHeld(
  cluster: Cluster,
  jobs: readonly JobSummary[],
  waiting: ClusterWaiting['waiting'],
  signal: AbortSignal,
): Promise<readonly JobSummary[]> {
  if (!waiting.some(({ reason }) => HELD.has(reason))) return jobs;
  const asked = [...jobs].sort((a, b) => b.tasks.waiting - a.tasks.waiting).slice(0, ASKED_MAX);
  const held = new Map<string, number>();
  await Promise.all(
    asked.map(async ({ id }) => {
      const waits = await explained(cluster, id, signal);
      held.set(
        id,
        sumOf(waits, ({ reason, tasks }) => (HELD.has(reason) ? tasks : 0)),
      );
    }),
  );
  return jobs.map((job) => {
    const left = Math.max(0, job.tasks.waiting - (held.get(job.id) ?? 0));
    return { ...job, tasks: { ...job.tasks, waiting: left } };
  });
}

async function explained(cluster: Cluster, id: string, signal: AbortSignal) {
  try {
    return (await cluster.job(id).explain({ signal })).waiting;
  } catch (error) {
    if (!(error instanceof GoshawkError)) throw error;
    // It has gone meanwhile, or its scheduler has.
    return [];
  }
}

const seconds = (ms: Millis | undefined): number | null => (ms === undefined ? null : ms / 1_000);

function planJson({ ahead, stages, ...outlook }: Outlook, canRun: boolean): Record<string, unknown> {
  return {
    schema: 'goshawk.plan/1',
    canRun,
    class: outlook.class ?? null,
    cutoffSeconds: seconds(outlook.cutoffMs),
    cutoffFrom: outlook.cutoffFrom,
    estimateSeconds: seconds(outlook.estimateMs),
    tasks: outlook.tasks,
    stages,
    slots: outlook.slots,
    freeSlots: outlook.freeSlots,
    startSeconds: seconds(outlook.startMs),
    ahead: {
      jobs: ahead.jobs,
      tasks: ahead.tasks,
      workSeconds: seconds(ahead.workMs),
      examples: ahead.examples.map(({ id, name, tasks }) => ({ id, name, waiting: tasks.waiting })),
    },
  };
}

function planPage(
  name: string,
  outlook: Outlook,
  canRun: boolean,
  paint: ReturnType<typeof painter>,
): string {
  const { ahead } = outlook;
  const behind = ahead.examples.map(
    ({ id, name: of, tasks }) =>
      `${id} ${plain(of)}: ${counted(tasks.waiting, 'task')} ${tasks.waiting === 1 ? 'waits' : 'wait'}`,
  );
  const title = `${paint.bold(plain(name))}  ${counted(outlook.tasks, 'task')}`;
  return page(
    title,
    [
      ['class', classLines(outlook)],
      ['workers', outlook.stages.map(fittingLine)],
      ['start', canRun ? startLine(outlook) : 'not before a worker with what the task needs accepts work'],
      ...section('behind', behind),
    ],
    paint,
  );
}

function classLines({ class: decided, estimateMs, cutoffMs, cutoffFrom }: Outlook): string[] {
  const divide = cutoffWords(cutoffMs, cutoffFrom);
  if (decided === undefined) return ['not known yet: pilots or earlier similar jobs will decide', divide];
  const by = estimateMs === undefined ? 'it has no estimate' : `its tasks take ${formatDuration(estimateMs)}`;
  return [`${decided}: ${by}`, divide];
}

function fittingLine(stage: StageOutlook): string {
  const { name, tasks, demand, requires, partition, fitting, workers } = stage;
  const needs = Object.entries(demand).map(([resource, amount]) => `${resource} ${formatCount(amount)}`);
  const of = name === 'tasks' ? '' : `${plain(name)} (${counted(tasks, 'task')}): `;
  const has = requires === undefined ? [] : [`have ${plain(formatAttributes(requires))}`];
  const all = [...has, ...(needs.length === 0 ? [] : [`have room for ${needs.join(', ')}`])];
  const room = all.length === 0 ? 'may run a task of it' : all.join(', and ');
  const used = partition === undefined ? '' : ` of the ${partition} partition, which it uses,`;
  return `${of}${formatCount(fitting)} of ${formatCount(workers)}${used} ${room}`;
}

function unsaid({ unknown, tasks }: Outlook['ahead']): string {
  if (unknown === 0) return 'those that run take';
  if (unknown === tasks) return tasks === 1 ? 'it takes' : 'they take';
  return `${formatCount(unknown)} of them ${unknown === 1 ? 'takes' : 'take'}`;
}

function startLine({ startMs, slots, freeSlots, ahead }: Outlook): string {
  const free = `${formatCount(freeSlots)} of ${counted(slots, 'slot')} ${freeSlots === 1 ? 'is' : 'are'} free`;
  if (ahead.tasks === 0 && freeSlots > 0) return `immediately: ${free}, and nothing is queued ahead`;
  const after =
    ahead.tasks === 0
      ? 'the next task that ends'
      : `${counted(ahead.tasks, 'task')} of ${counted(ahead.jobs, 'job')}`;
  if (startMs === undefined)
    return `after ${after}; there is no estimate of how long ${unsaid(ahead)}; ${free}`;
  return `in about ${formatDuration(startMs)}, after ${after}, if their estimates are right; ${free}`;
}
