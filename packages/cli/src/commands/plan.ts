import { type Forecast, type Plan, planJob, planJson, type StageForecast } from '@goshawk/client';
import { defineCommand, ExitCode, page, painter, plain, section } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import {
  counted,
  cutoffWords,
  formatAttributes,
  formatCount,
  formatDuration,
  formatResources,
  parseJobSpec,
} from '@goshawk/core';
import { expectedEndTime } from '../jobs/local-time.js';
import { buildJob } from '../submission/build-job.js';
import { PLAN_OPTIONS } from '../submission/options.js';
import { predecessorsNamed } from '../submission/predecessors.js';
import { lengthOf, withoutFinished } from '../submission/resume.js';
import { sourcesOf } from './submit.js';

export const planCommand = defineCommand({
  name: 'plan',
  words: '[FILE | -- CMD ARG…]',
  describe:
    'predict the class, eligible workers, start and end of a job without submitting it; takes the arguments of submit; exit with 1 if no worker can run the job now',
  examples: [
    ['goshawk plan --tasks 100 --estimate 2s --cpus 4 -- ./simulate', 'predict when the job would start'],
    ['goshawk plan job.json && goshawk submit job.json', 'submit only if the job can run now'],
  ],
  options: PLAN_OPTIONS,
  async run(context, options, positionals) {
    const { key: _, ...whole } = await buildJob(options, positionals, sourcesOf(context), 'plan');
    if (lengthOf(whole) === 0) {
      context.note('`submit` would run nothing');
      return ExitCode.done;
    }
    await using cluster = await openCluster(context);
    const { job } = options.resume
      ? await withoutFinished(cluster, whole, context.interrupted)
      : { job: whole };
    if (lengthOf(job) === 0) {
      context.note('`submit` would skip all tasks');
      return ExitCode.done;
    }
    const after = await predecessorsNamed(context, cluster, options, job);
    const spec = parseJobSpec({ ...job, ...after }, 'plan');
    const planned = await planJob(cluster, spec, context.interrupted);
    const plan = planJson(planned);
    context.show(plan, () => planPage(spec.name, planned, plan.refusal, painter(context)));
    return plan.canRun ? ExitCode.done : ExitCode.failed;
  },
});

function planPage(
  name: string,
  forecast: Plan,
  refusal: string | null,
  paint: ReturnType<typeof painter>,
): string {
  const { ahead } = forecast;
  const behind = ahead.examples.map(
    ({ id, name: of, tasks }) =>
      `${id} ${plain(of)}: ${counted(tasks.waiting, 'task')} ${tasks.waiting === 1 ? 'waits' : 'wait'}`,
  );
  const title = `${paint.bold(plain(name))}  ${counted(forecast.tasks, 'task')}`;
  return page(
    title,
    [
      ['class', classLines(forecast)],
      ['workers', forecast.stages.map(fittingLine)],
      ['start', refusal === null ? startLine(forecast) : `never, submit refuses it: ${plain(refusal)}`],
      ['end', endLine(forecast)],
      ...section('behind', behind),
    ],
    paint,
  );
}

function endLine({ end }: Plan): string {
  if (end.expectedEnd === undefined) return `unknown: ${end.unknown}`;
  const { at, computedAt } = end.expectedEnd;
  return `${expectedEndTime(end.expectedEnd, computedAt)}, in about ${formatDuration(at - computedAt)}, if submitted now`;
}

function classLines({ class: decided, estimateMs, cutoffMs, cutoffFrom }: Forecast): string[] {
  const divide = cutoffWords(cutoffMs, cutoffFrom);
  if (decided === undefined) return ['not known yet: pilots or earlier similar jobs will decide', divide];
  const by =
    estimateMs === undefined
      ? 'it has no estimate'
      : `its estimated task time is ${formatDuration(estimateMs)}`;
  return [`${decided}: ${by}`, divide];
}

function fittingLine(stage: StageForecast): string {
  const { name, tasks, demand, requires, partition, fitting, workers } = stage;
  const needs = formatResources(demand);
  const of = name === 'tasks' ? '' : `${plain(name)} (${counted(tasks, 'task')}): `;
  const has = requires === undefined ? [] : [`have ${plain(formatAttributes(requires))}`];
  const all = [...has, ...(Object.keys(demand).length === 0 ? [] : [`are large enough for ${needs}`])];
  const room = all.length === 0 ? 'can run one of its tasks' : all.join(', and ');
  const used = partition === undefined ? '' : ` of the ${partition} partition, which the job uses,`;
  return `${of}${formatCount(fitting)} of ${formatCount(workers)}${used} ${room}`;
}

function startLine({ canRun, startMs, slots, freeSlots, ahead, borrows, end }: Plan): string {
  if (!canRun) return 'once workers with the required resources accept tasks';
  const free = `${formatCount(freeSlots)} of ${counted(slots, 'CPU')} ${freeSlots === 1 ? 'is' : 'are'} free`;
  if (borrows) return `immediately: its first tasks borrow CPUs of longer tasks, which pause; ${free}`;
  const own = ahead.tasks === 0 ? [] : [`${counted(ahead.tasks, 'task')} of ${counted(ahead.jobs, 'job')}`];
  const others = ahead.hidden === 0 ? [] : [`${counted(ahead.hidden, 'task')} of other users`];
  const first = [...own, ...others];
  const order = first.length === 0 ? 'nothing is queued ahead' : `${first.join(' and ')} may go first`;
  const why = end.unknown === undefined ? '' : `: ${end.unknown}`;
  const when =
    startMs === undefined
      ? `unknown${why}`
      : startMs === 0
        ? 'immediately'
        : `in about ${formatDuration(startMs)} (${end.startBetweenMs!.map(formatDuration).join(' to ')})`;
  return `${when}; ${order}, and ${free}`;
}
