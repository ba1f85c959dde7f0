import { counted, formatCount, isFinal } from '@goshawk/core';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Action, Actions } from './actions.js';
import { follow, post, randomKey } from './api.js';
import { AttemptRows, runWords, Timeline, Waterfall } from './job-figures.js';
import { LogCard } from './job-log.js';
import { TasksCard } from './job-tasks.js';
import { expectedEndWords, JobStateBadge, Ran } from './jobs.js';
import { addressOf, jobsLink, taskLink } from './router.js';
import type { Job, JobList, Why } from './shapes.js';
import { DRAWN_MAX, StageGraph } from './stage-graph.js';
import { useStore } from './store.js';
import {
  Ago,
  Backticks,
  Card,
  Definitions,
  Disclosure,
  Problem,
  ProgressBar,
  Since,
  StateBadge,
  Table,
  Waiting,
} from './ui.js';
import { useAnswer } from './use-answer.js';
import { WhatIf } from './what-if.js';
import { ABSENT, amounts, clock, duration } from './words.js';

/** Minimum time (ms) between two requests for a changing job. */
const PACE_MS = 1_000;
/** Refresh interval (ms) between events: central's reasons change without an event of the job. */
const REFRESH_MS = 5_000;
/** Number of other runs of the same name. */
const RUNS = 10;

/** One job: its state and why, its errors, its tasks with their output, and how the time was spent. */
export function JobView({ id, setName }: { readonly id: string; readonly setName: (name: string) => void }) {
  const store = useStore();
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const tick = useEvents(path);
  const { data: job, error, reload, at } = useAnswer<Job>(path, tick);
  const isActive = job !== undefined && !isFinal(job.state);
  const { data: why, error: whyError } = useAnswer<Why>(
    `${path}/why`,
    tick,
    isActive ? REFRESH_MS : undefined,
  );
  const name = job === undefined ? undefined : `${job.name} (${job.id})`;
  useEffect(() => {
    if (name !== undefined) setName(name);
  }, [name]);
  const problem = (
    <Problem error={error}>
      {error?.status === 404 ? (
        <p>
          <a href="#/jobs">All jobs</a>
        </p>
      ) : job === undefined ? null : (
        <p class="warning">
          What is shown below is from <Ago at={new Date(at).toISOString()} />.
        </p>
      )}
    </Problem>
  );
  if (job === undefined) return error === undefined ? <Waiting /> : problem;
  if (why === undefined && whyError === undefined) return <Waiting />;
  const done = (answer: unknown): void => {
    const { job: other = id } = answer as { readonly job?: string };
    if (other === id) reload();
    else location.hash = addressOf('jobs', other);
  };
  return (
    <>
      {problem}
      <JobHead job={job} why={why} />
      {store.may('submit') ? (
        <Actions all={actionsOf(job)} label="Actions on the job" done={done} />
      ) : (
        <p class="hint">Read-only: this page may not change anything.</p>
      )}
      <Card title={isActive ? 'Why' : 'What happened'}>
        <div aria-live="polite">
          <p class="sentence">
            <Backticks text={why?.sentence ?? ''} />
          </p>
          <ProgressBar tasks={job.tasks} />
          <Failures job={job} />
          {why === undefined ? null : <Waterfall job={job} why={why} />}
          <Measures job={job} />
        </div>
        {why === undefined ? null : (
          <Disclosure name="why" title="Whole explanation" build={() => <Explanation parts={why.parts} />} />
        )}
        {store.may('submit') && job.tasks.waiting > 0 && !job.held ? (
          <WhatIf path={path} priority={job.priority} />
        ) : null}
      </Card>
      <div class="work">
        <TasksCard path={path} job={job} tick={tick} />
        <LogCard path={path} job={job} tick={tick} />
      </div>
      {/* The head describes a single stage. */}
      {job.stages.length === 1 ? null : (
        <Card title="Stages">
          <div class="scroll" tabIndex={0} role="region" aria-label="Graph of the stages">
            <StageGraph stages={job.stages} />
          </div>
          <StageTable stages={job.stages} />
        </Card>
      )}
      <Card title="Timeline">
        <div class="chart">
          <Timeline job={job} />
        </div>
        <Disclosure name="attempts" build={() => <AttemptRows id={id} attempts={job.attempts} />} />
      </Card>
      <Runs job={job} />
    </>
  );
}

/** Returns a number that grows with events of the job, at most once per `PACE_MS`. */
function useEvents(path: string): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isWanted = false;
    const noted = (): void => {
      isWanted = timer !== undefined;
      if (isWanted) return;
      setTick((last) => last + 1);
      timer = setTimeout(() => {
        timer = undefined;
        if (isWanted) noted();
      }, PACE_MS);
    };
    void follow(`${path}/events`, { event: noted, state: () => {} }, stop.signal);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path]);
  return tick;
}

/** What `goshawk why` prints. */
export function Explanation({ parts }: Pick<Why, 'parts'>) {
  return (
    <Definitions
      rows={parts.map(({ label, lines }) => [
        label,
        lines.map((line) => (
          <div key={line}>
            <Backticks text={line} />
          </div>
        )),
      ])}
    />
  );
}

export function JobHead({ job, why }: { readonly job: Job; readonly why: Why | undefined }) {
  const { user, submittedAt, classifiedBy, priority, deadlineAt, stages, retryOf } = job;
  const by = classifiedBy === 'given' ? 'submitted estimate' : classifiedBy;
  const known =
    classifiedBy === 'pilots, not yet'
      ? `treated as ${job.class} until its pilots end`
      : `${job.class} (${by})`;
  const single = stages.length === 1 ? stages[0] : undefined;
  const isRunning = job.startedAt !== null && job.endedAt === null;
  return (
    <>
      <p class="name">
        <JobStateBadge job={job} />
        <ExpectedEnd job={job} />
      </p>
      <p class="hint">
        {user === null ? '' : `${user}, `}
        {known}, submitted <Ago at={submittedAt} />
        {isRunning ? (
          <>
            , running for <Since at={Date.parse(job.startedAt!)} />
          </>
        ) : runWords(job) === undefined ? (
          ''
        ) : (
          `, ran ${runWords(job)}`
        )}
        {job.endedAt === null ? null : (
          <>
            , ended <Ago at={job.endedAt} />
          </>
        )}
      </p>
      <Definitions
        rows={[
          [
            'command',
            single?.command == null ? undefined : (
              <span>
                <code class="command">{single.command}</code>
                {single.commandsDiffer ? ' (first task; others differ)' : ''}
              </span>
            ),
          ],
          ['demand', single === undefined ? undefined : amounts(single.demand)],
          ['priority', priority],
          [
            'retries',
            retryOf === null ? undefined : (
              <span>
                tasks of <a href={addressOf('jobs', retryOf)}>{retryOf}</a>
              </span>
            ),
          ],
          [
            'deadline',
            deadlineAt === null ? undefined : `${clock(deadlineAt)}, ${why?.deadline?.sentence ?? ''}`,
          ],
        ]}
      />
    </>
  );
}

export function actionsOf({ id, state, held, tasks, priority, beginAt }: Job): Action[] {
  const effects = [
    ...(tasks.waiting > 0 ? [`${counted(tasks.waiting, 'waiting task')} will not start`] : []),
    ...(tasks.running > 0 ? [`${counted(tasks.running, 'running task')} will be killed`] : []),
  ].map((words, index, all) => (index < all.length - 1 ? `${words}, and ` : `${words}. `));
  const to = (path: string, body?: object) => () => post(`/v1/jobs/${encodeURIComponent(id)}/${path}`, body);
  if (state === 'waiting' || state === 'running')
    return [
      {
        words: 'Cancel…',
        run: to('cancel'),
        confirm: `Cancel the job? ${effects.join('')}Completed tasks stay completed.`,
      },
      held || beginAt !== null
        ? { words: beginAt === null ? 'Release' : 'Start now', run: to('release') }
        : { words: 'Hold', run: to('hold') },
      ...(['low', 'normal', 'high'] as const)
        .filter((level) => level !== priority)
        .map((level) => ({ words: `Priority ${level}`, run: to('update', { priority: level }) })),
    ];
  const again = tasks.failed + tasks.cancelled;
  if (again === 0) return [];
  return [
    {
      words: 'Retry…',
      run: to('retry'),
      confirm: `Run ${counted(again, 'task')} of this job again? ${formatCount(tasks.completed)} completed ones are kept.`,
    },
    {
      words: 'Retry as new job…',
      run: to('retry', { asNew: true, key: randomKey() }),
      confirm: `Run ${counted(again, 'task')} in a new job, under the same indices? This job stays unchanged.`,
    },
  ];
}

/** Maximum number of causes shown. */
const CAUSES = 5;

/** Failures by cause, most frequent first, each with the output of one task. */
export function Failures({
  job: { id, failures, tasks },
}: {
  readonly job: Pick<Job, 'id' | 'failures' | 'tasks'>;
}) {
  if (failures.length === 0) return null;
  const causes = new Map<string, Job['failures']>();
  for (const failure of failures) {
    const cause = causeOf(failure.message || failure.kind);
    causes.set(cause, [...(causes.get(cause) ?? []), failure]);
  }
  const sorted = [...causes].sort(([, one], [, other]) => other.length - one.length);
  const shown = sorted.slice(0, CAUSES);
  const hidden = tasks.failed - failures.length;
  const others = sorted.length - shown.length;
  return (
    <>
      <ul class="attention">
        {shown.map(([cause, all]) => {
          const first = all.find(({ printed }) => printed !== null) ?? all[0]!;
          const line =
            all.length === 1 ? placeOf(first) : `${counted(all.length, 'task')}, such as ${placeOf(first)}`;
          const words = `${line}: ${all.length === 1 ? first.message || first.kind : cause}`;
          const ends = outputEnd(first);
          return (
            <li key={cause}>
              <span>{words}</span> <a href={taskLink(id, first.task)}>log</a>
              {ends === '' ? null : <pre class="log">{ends}</pre>}
            </li>
          );
        })}
      </ul>
      {others > 0 ? <p class="hint">{counted(others, 'more cause')}</p> : null}
      {hidden > 0 ? <p class="hint">{counted(hidden, 'more task')} failed</p> : null}
    </>
  );
}

function outputEnd({ printed, stdoutFile, stderrFile }: Job['failures'][number]): string {
  const files = [
    ...(stdoutFile === null ? [] : [`stdout: ${stdoutFile}`]),
    ...(stderrFile === null ? [] : [`stderr: ${stderrFile}`]),
  ];
  return [...(printed === null ? [] : [printed.trimEnd()]), ...files].join('\n');
}

function placeOf({ task, worker, attempts }: Job['failures'][number]): string {
  return `task ${task}${worker === '' ? '' : ` on ${worker}`}${attempts > 1 ? `, attempt ${attempts}` : ''}`;
}

/** Returns the cause in a message. Process numbers, addresses and file names do not matter; exit codes do. */
function causeOf(message: string): string {
  return /exit code|signal/.test(message) ? message : message.replaceAll(/0x[\da-f]+|\d{3,}/gi, '…');
}

export function Measures({ job }: { readonly job: Job }) {
  const { meanRunSeconds, estimateSeconds, lostSeconds, attemptCounts, cancelReason } = job;
  const wasted = attemptCounts.failed + attemptCounts.lost;
  return (
    <Definitions
      rows={[
        ['reason', cancelReason],
        ['average run time', meanRunSeconds === null ? undefined : duration(meanRunSeconds)],
        [
          'estimated',
          estimateSeconds === null || estimateSeconds === 0
            ? undefined
            : `${duration(estimateSeconds)} per task`,
        ],
        [
          'wasted',
          wasted === 0 ? undefined : `${duration(lostSeconds)} in ${counted(wasted, 'failed attempt')}`,
        ],
      ]}
    />
  );
}

export function StageTable({ stages }: Pick<Job, 'stages'>) {
  const more = stages.length - DRAWN_MAX;
  return (
    <Table<Job['stages'][number]>
      caption={more > 0 ? `Stages; the graph leaves out ${formatCount(more)}` : 'Stages'}
      rows={stages}
      keyOf={({ name }) => name}
      columns={[
        { title: 'stage', of: ({ name }) => name },
        { title: 'state', of: ({ state }) => <StateBadge state={state} /> },
        {
          title: 'completed',
          isNumber: true,
          of: ({ tasks, counts }) => `${formatCount(counts.completed)} / ${formatCount(tasks)}`,
        },
        stages.some(({ counts }) => counts.failed > 0) && {
          title: 'failed',
          isNumber: true,
          of: ({ counts }) => formatCount(counts.failed),
        },
        { title: 'after', of: ({ after }) => after.join(', ') || ABSENT },
        {
          title: 'estimated',
          isNumber: true,
          isExtra: true,
          of: ({ estimateSeconds }) => duration(estimateSeconds),
        },
        {
          title: 'average run time',
          isNumber: true,
          isExtra: true,
          of: ({ meanRunSeconds }) => duration(meanRunSeconds),
        },
        stages.length > 1 && {
          title: 'command',
          isExtra: true,
          of: ({ command }): ComponentChildren => (
            <code class="clip" title={command ?? ''}>
              {command ?? ABSENT}
            </code>
          ),
        },
        stages.length > 1 && { title: 'demand', isExtra: true, of: ({ demand }) => amounts(demand) },
      ]}
    />
  );
}

/** Other runs of jobs with this name and user, newest first. */
function Runs({ job: { id, name, user } }: { readonly job: Job }) {
  // A query has no names with spaces.
  const q = `name:${name}${user === null ? '' : ` user:${user}`}`;
  const isQuery = !/\s/.test(name) && !/\s/.test(user ?? '');
  const { data } = useAnswer<JobList>(
    isQuery ? `/v1/jobs?${new URLSearchParams({ q, all: 'true', limit: String(RUNS) })}` : undefined,
  );
  if (data === undefined || data.jobs.every((job) => job.id === id)) return null;
  return (
    <Card title="Runs of this name">
      <RunTable runs={data.jobs} id={id} />
      <p class="pages">
        <a href={jobsLink(q)}>{counted(data.total, 'run')}</a>
      </p>
    </Card>
  );
}

export function RunTable({ runs, id }: { readonly runs: JobList['jobs']; readonly id: string }) {
  return (
    <Table<JobList['jobs'][number]>
      caption="Runs of this name"
      rows={runs}
      keyOf={(run) => run.id}
      columns={[
        {
          title: 'id',
          of: (run) =>
            run.id === id ? `${run.id} (this)` : <a href={addressOf('jobs', run.id)}>{run.id}</a>,
        },
        { title: 'state', of: (run) => <StateBadge state={run.state} /> },
        { title: 'submitted', isNumber: true, of: ({ submittedAt }) => <Ago at={submittedAt} /> },
        { title: 'ran', isNumber: true, of: (run) => <Ran job={run} /> },
        { title: 'tasks', isNumber: true, of: ({ tasks }) => formatCount(tasks.total) },
        { title: 'failed', isNumber: true, of: ({ tasks }) => formatCount(tasks.failed) },
      ]}
    />
  );
}

/** When the job is expected to end, and the age of that answer. */
function ExpectedEnd({ job }: { readonly job: Job }) {
  const { expectedEnd: end, endedAt } = job;
  if (end === null) return endedAt === null ? <span class="hint"> its end is not known yet</span> : null;
  return (
    <>
      <strong> ends at {expectedEndWords(job)}</strong>
      <span class="hint">
        {' '}
        computed <Ago at={end.computedAt} />
      </span>
    </>
  );
}
