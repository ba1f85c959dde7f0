import { type ClusterView, silentSchedulers, type WorkerView, workersJson } from '@goshawk/client';
import {
  type Column,
  defineCommand,
  FROM,
  type Painter,
  pageOf,
  painter,
  plain,
  renderTable,
} from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import {
  compareNames,
  counted,
  formatAttributes,
  formatCount,
  formatDuration,
  formatResources,
  formatUsed,
  sumOf,
  WORKER_STATES,
  wrapWords,
} from '@goshawk/core';
import { noteWarnings } from '../jobs/note-warnings.js';
import { STRICT, strictly } from '../jobs/strict.js';

/** State of workers that have been lost, in addition to `WORKER_STATES`. */
const LOST = 'lost';

export const workersCommand = defineCommand({
  name: 'workers',
  describe: 'list the workers with state, tasks and resources',
  examples: [['goshawk workers --state draining', 'list only draining workers']],
  options: {
    state: {
      type: 'text',
      value: 'STATE',
      setting: false,
      choices: [...WORKER_STATES, LOST],
      describe: 'only workers in this state',
    },
    limit: {
      type: 'count',
      setting: false,
      default: 10_000,
      min: 1,
      describe: 'maximum number of entries to list',
    },
    from: FROM,
    strict: STRICT,
  },
  async run(context, options) {
    await using cluster = await openCluster(context);
    const view = await cluster.describe({ signal: context.interrupted });
    const matching = [...view.workers]
      .filter(({ state }) => options.state === undefined || state === options.state)
      .sort((a, b) => compareNames(a.name, b.name));
    const { shown: workers, left, total, truncated, next } = pageOf(matching, options);
    const silent = silentSchedulers(view);
    const lost = options.state === undefined || options.state === LOST ? view.lostWorkers : [];
    if (context.global.json) {
      context.json(workersJson({ view, workers, total, truncated, next, lost }));
      return strictly(options.strict, silent);
    }
    const paint = painter(context);
    if (workers.length > 0) context.out(workersTable(workers, paint));
    if (workers.length === 0 && lost.length === 0 && options.state !== undefined)
      context.note(`no worker is ${options.state}`);
    for (const { name, cause, running, lostMsAgo } of lost.slice(0, LOST_SHOWN))
      context.note(
        plain(`${name} was lost ${formatDuration(lostMsAgo)} ago with ${counted(running, 'task')}: ${cause}`),
      );
    if (lost.length > LOST_SHOWN)
      context.note(`${lost.length - LOST_SHOWN} more were lost within the last hour`);
    for (const { name, quarantine } of workers) {
      if (quarantine !== undefined) context.note(plain(`${name} is quarantined for a while: ${quarantine}`));
    }
    if (next !== null) context.note(`${counted(left, 'more worker')}; continue with --from ${next}`);
    for (const scheduler of silent) context.note(plain(`no answer from ${scheduler}`));
    noteWarnings(context, view);
    context.note(summary(view));
    return strictly(options.strict, silent);
  },
});

/** Maximum number of lost workers that are shown; `--json` has all. */
const LOST_SHOWN = 20;

/**
 * Renders the workers. If a row would take several lines, resources and attributes that all workers have move to a line
 * below the table.
 */
export function workersTable(workers: readonly WorkerView[], paint: Painter): string {
  const table = tableOf(workers, paint);
  if (workers.length < 2 || table.split('\n').length === workers.length + 1) return table;
  const [{ capacity, attributes }] = workers as [WorkerView, ...WorkerView[]];
  const resources = Object.entries(capacity).filter(
    ([name, amount]) => name !== 'cpu' && workers.every((worker) => worker.capacity[name] === amount),
  );
  const named = Object.entries(attributes).filter(([name, value]) =>
    workers.every((worker) => worker.attributes[name] === value),
  );
  if (resources.length + named.length === 0) return table;
  const without = (from: object, common: readonly (readonly [string, unknown])[]) =>
    Object.fromEntries(Object.entries(from).filter(([name]) => !common.some(([other]) => other === name)));
  const others = workers.map((worker) => ({
    ...worker,
    capacity: without(worker.capacity, resources),
    attributes: without(worker.attributes, named),
  }));
  const all = [
    ...(resources.length === 0 ? [] : [formatResources(Object.fromEntries(resources))]),
    ...(named.length === 0 ? [] : [formatAttributes(Object.fromEntries(named))]),
  ];
  return `${tableOf(others, paint)}\n${wrapWords(plain(`all have ${all.join(', ')}`), paint.columns).join('\n')}`;
}

function tableOf(workers: readonly WorkerView[], paint: Painter): string {
  const states = {
    active: (text: string) => text,
    draining: paint.yellow,
    drained: paint.dim,
    quarantined: paint.red,
  };
  const othersOf = ({ capacity: { cpu, ...others } }: WorkerView): string =>
    Object.keys(others).length === 0 ? '' : plain(formatResources(others));
  const columns: Column<WorkerView>[] = [
    { title: 'name', shrinkTo: 12, of: ({ name }) => plain(name) },
    { title: 'state', of: ({ state }) => states[state](state) },
    { title: 'partition', expendable: 1, of: ({ partition }) => partition },
    { title: 'CPUs', align: 'right', of: ({ capacity, slots }) => `${capacity.cpu ?? slots}` },
    { title: 'tasks', align: 'right', of: ({ busy }) => `${busy}` },
    { title: 'queued', align: 'right', of: ({ queued }) => formatCount(queued) },
    { title: 'in use', expendable: 0, of: ({ used }) => formatUsed(used) },
  ];
  if (workers.some((worker) => othersOf(worker) !== ''))
    columns.push({ title: 'resources', shrinkTo: 12, wraps: true, of: othersOf });
  if (workers.some(({ attributes }) => Object.keys(attributes).length > 0))
    columns.push({
      title: 'attributes',
      shrinkTo: 12,
      wraps: true,
      of: ({ attributes }) => plain(formatAttributes(attributes)),
    });
  return renderTable(columns, workers, paint);
}

export function summary({ workers, pendingTasks }: Pick<ClusterView, 'workers' | 'pendingTasks'>): string {
  const sum = (of: (worker: WorkerView) => number) => sumOf(workers, of);
  const busy = sum(({ busy }) => busy);
  const cpus = sum(({ capacity, slots }) => capacity.cpu ?? slots);
  // Workers may be idle, and a limit may keep the tasks from them.
  const pending =
    pendingTasks > 0
      ? `; ${counted(pendingTasks, 'task')} ${pendingTasks === 1 ? 'waits' : 'wait'} at central (goshawk why)`
      : '';
  return `${counted(workers.length, 'worker')}, ${counted(busy, 'task')} on ${counted(cpus, 'CPU')}, ${sum(({ queued }) => queued)} queued${pending}`;
}
