import { counted, formatBytes, formatCount, JOB_STATES } from '@goshawk/core';
import { giveFocus } from './focus.js';
import { addressOf } from './router.js';
import type { Job, TaskList } from './shapes.js';
import { useParam, useStore } from './store.js';
import { Clip, Problem, Since, StateBadge, Table, Waiting } from './ui.js';
import { useAnswer } from './use-answer.js';
import { ABSENT, duration } from './words.js';
import { UsedByTask } from './workers.js';

type Task = TaskList['tasks'][number];

const TASKS = 20;
/** Refresh interval (ms) of the CPUs and memory in use, which the gateway requests from workers. */
const USED_MS = 5_000;

/** The state whose tasks are shown at first: those that failed, then those that run. */
export function firstState({ failed, running }: Job['tasks']): string {
  return failed > 0 ? 'failed' : running > 0 ? 'running' : '';
}

/** The tasks of a job, by state and page, which the address has. */
export function TasksCard({
  path,
  job,
  tick,
}: {
  readonly path: string;
  readonly job: Job;
  readonly tick: number;
}) {
  const store = useStore();
  const asked = useParam('tasks');
  const state = asked === 'all' ? '' : asked === '' ? firstState(job.tasks) : asked;
  const from = useParam('from');
  const query = new URLSearchParams({ limit: String(TASKS) });
  if (/^\d{1,9}$/.test(from)) query.set('from', from);
  if ((JOB_STATES as readonly string[]).includes(state)) query.set('state', state);
  const list = useAnswer<TaskList>(`${path}/tasks?${query}`, tick);
  // Workers of a cluster with keys do not answer, which takes time.
  const isUsed = list.data?.tasks.some((task) => task.state === 'running') ?? false;
  const used = useAnswer<TaskList>(isUsed ? `${path}/tasks?${query}&used=true` : undefined, 0, USED_MS);
  // After a failure nothing is shown, because old values would look current.
  const usedBy =
    used.error === undefined
      ? new Map(used.data?.tasks.map((task) => [task.index, task.used ?? null]))
      : new Map();
  const link = (more: Record<string, string>): string => {
    const now = Object.fromEntries(store.address.value.query);
    return addressOf('jobs', job.id, { ...now, ...more });
  };
  const total = list.data?.total ?? 0;
  const start = Number(from) || 0;
  return (
    <section class="card">
      <h2>Tasks</h2>
      <nav class="tabs" aria-label="States of tasks">
        {['', ...JOB_STATES].map((name) => {
          const many = name === '' ? job.tasks.total : job.tasks[name as keyof Job['tasks']];
          if (many === 0 && name !== '' && name !== state) return null;
          return (
            <a
              key={name}
              href={link({ tasks: name === '' ? 'all' : name, from: '' })}
              aria-current={name === state ? 'page' : undefined}
            >
              {name === '' ? 'all' : name} <span>{formatCount(many)}</span>
            </a>
          );
        })}
      </nav>
      <Problem error={list.error} />
      {list.data === undefined ? (
        list.error === undefined ? (
          <Waiting />
        ) : null
      ) : (
        <TaskTable
          tasks={list.data.tasks}
          used={usedBy}
          logLink={(index) => link({ task: String(index), failed: '' })}
        />
      )}
      <nav class="pages" aria-label="Pages of tasks">
        <span>
          {formatCount(list.data?.tasks.length ?? 0)} of {counted(total, 'task')}
        </span>
        {start === 0 ? null : <a href={link({ from: '' })}>First</a>}
        {start === 0 || state !== '' ? null : (
          <a href={link({ from: start > TASKS ? String(start - TASKS) : '' })}>Previous</a>
        )}
        {list.data?.next == null ? null : <a href={link({ from: String(list.data.next) })}>Next</a>}
      </nav>
    </section>
  );
}

/**
 * @param props.used resource use of running tasks, by index
 * @param props.logLink returns the address of the output of a task
 */
export function TaskTable({
  tasks,
  used,
  logLink,
}: {
  readonly tasks: readonly Task[];
  readonly used: ReadonlyMap<number, Task['used']>;
  readonly logLink: (index: number) => string;
}) {
  return (
    <Table<Task>
      caption="Tasks"
      rows={tasks}
      keyOf={({ index }) => index}
      columns={[
        { title: 'task', isNumber: true, of: ({ index }) => formatCount(index) },
        // A job without explicit stages has one that is called `tasks`.
        tasks.some(({ stage }) => stage !== 'tasks') && {
          title: 'stage',
          isExtra: true,
          of: ({ stage }) => stage,
        },
        {
          title: 'state',
          of: ({ state, lentTo }) =>
            lentTo === null ? (
              <StateBadge state={state} />
            ) : (
              <span class="badge paused" title={`its CPUs are lent to ${lentTo}`}>
                paused
              </span>
            ),
        },
        { title: 'attempt', isNumber: true, isExtra: true, of: ({ attempt }) => formatCount(attempt) },
        {
          title: 'worker',
          of: ({ worker }) =>
            worker === null ? ABSENT : <a href={addressOf('workers', worker)}>{worker}</a>,
        },
        {
          title: 'exit',
          isNumber: true,
          of: ({ exitCode }) => (exitCode === null ? ABSENT : String(exitCode)),
        },
        {
          title: 'ran',
          isNumber: true,
          of: ({ state, startedAt, runSeconds, pausedSeconds, lentTo }) =>
            state === 'running' && startedAt !== null && lentTo === null ? (
              <Since at={Date.parse(startedAt) + 1_000 * pausedSeconds} />
            ) : (
              duration(runSeconds)
            ),
        },
        {
          title: 'in use, or peak',
          isNumber: true,
          isExtra: true,
          of: ({ index, state, maxRssBytes }) =>
            state === 'running' ? (
              <UsedByTask used={used.get(index) ?? null} />
            ) : maxRssBytes === null ? (
              ABSENT
            ) : (
              `peak ${formatBytes(maxRssBytes)}`
            ),
        },
        tasks.some(({ error }) => error !== null) && {
          title: 'error',
          isExtra: true,
          of: ({ error }) => <Clip text={error ?? ''} />,
        },
        {
          title: 'output',
          of: ({ index, attempt }) =>
            attempt === 0 ? (
              ABSENT
            ) : (
              <a
                href={logLink(index)}
                aria-label={`Log of task ${index}`}
                onClick={() => giveFocus(() => document.querySelector('pre.log[tabindex]'))}
              >
                log
              </a>
            ),
        },
      ]}
    />
  );
}
