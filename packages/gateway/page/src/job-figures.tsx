import { counted, formatCount, WAIT_PHASE_WORDS } from '@goshawk/core';
import { taskLink } from './router.js';
import type { Attempt, Job, Why } from './shapes.js';
import { runLengths, type Span, TimeAxis, unionOf } from './time-axis.js';
import { Backticks, StateBadge, Table } from './ui.js';
import { duration } from './words.js';

type Limit = NonNullable<Why['limits']>[number];

const ROW = 8;
const WIDTH = 1_000;

interface Row extends Span {
  readonly attempt: Attempt;
}

/** Returns the attempts in order of start, in seconds after submission. */
function rowsOf({ attempts, submittedAt }: Pick<Job, 'attempts' | 'submittedAt'>): Row[] {
  const began = Date.parse(submittedAt);
  return attempts
    .map((attempt) => {
      const from = Math.max(0, (Date.parse(attempt.startedAt) - began) / 1_000);
      return { attempt, from, to: from + attempt.runSeconds + attempt.pausedSeconds };
    })
    .sort((one, other) => one.from - other.from);
}

function isSample({ attempts, attemptCounts }: Pick<Job, 'attempts' | 'attemptCounts'>): boolean {
  return attempts.length < attemptCounts.total;
}

/** `14 s + 200 ms`: how long tasks ran before and after each pause; undefined: nothing has started. */
export function runWords(job: Pick<Job, 'attempts' | 'attemptCounts' | 'submittedAt'>): string | undefined {
  const rows = rowsOf(job);
  if (rows.length === 0) return undefined;
  const runs = unionOf(rows, isSample(job));
  return runLengths(new TimeAxis(runs, 0), runs).map(duration).join(' + ');
}

/** The times at the quarters of the axis, and what it leaves out. */
function Scale({ axis }: { readonly axis: TimeAxis }) {
  return (
    <>
      <p class="scale">
        {[0, 1, 2, 3, 4].map((quarter) => (
          <span key={quarter}>{quarter === 0 ? 'submitted' : duration(axis.timeAt(quarter / 4))}</span>
        ))}
      </p>
      {axis.cuts.map(({ from, to }) => (
        <p key={from} class="hint">
          The axis leaves out {duration(to - from)}, from {duration(from)} after submission, in which nothing
          ran.
        </p>
      ))}
    </>
  );
}

/** Attempts as bars over time, in order of start. Attempts that are left out form a band below. */
export function Timeline({
  job,
}: {
  readonly job: Pick<Job, 'id' | 'attempts' | 'attemptCounts' | 'submittedAt'>;
}) {
  const rows = rowsOf(job);
  if (rows.length === 0) return <p class="hint">Nothing has started.</p>;
  const runs = unionOf(rows, isSample(job));
  const axis = new TimeAxis(runs, 0);
  const x = (seconds: number) => WIDTH * axis.at(seconds);
  const wide = ({ from, to }: Span) => Math.max(2, x(to) - x(from));
  const hidden = Math.max(0, job.attemptCounts.total - rows.length);
  const band = hidden > 0 ? 2 * ROW : 0;
  const height = rows.length * ROW + band;
  const words = `${counted(rows.length, 'attempt')} over ${duration(axis.end)}${hidden > 0 ? `, chosen evenly, and ${formatCount(hidden)} more as a band` : ''}; the table below has each`;
  return (
    <div>
      <svg
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        role="group"
        aria-label={words}
        class="timeline"
        height={height}
      >
        {rows.map(({ from, to, attempt: { task, attempt, state, worker, runSeconds } }, index) => (
          // The table below leads to the tasks by keyboard.
          <a key={`${task}/${attempt}`} href={taskLink(job.id, task)} tabIndex={-1}>
            <rect
              x={x(from)}
              y={index * ROW + 1}
              width={wide({ from, to })}
              height={ROW - 2}
              class={`part ${state}`}
            />
            <title>
              {`task ${task}, attempt ${attempt}, ${state}, on ${worker}: from ${duration(from)}, ran ${duration(runSeconds)}`}
            </title>
          </a>
        ))}
        {hidden === 0
          ? null
          : runs.map((run) => (
              <g key={run.from}>
                <title>{`${counted(hidden, 'more attempt')} ran here`}</title>
                <rect
                  x={x(run.from)}
                  y={rows.length * ROW + 2}
                  width={wide(run)}
                  height={band - 4}
                  class="omitted"
                />
              </g>
            ))}
        {axis.cuts.map(({ from, to }) => (
          <rect key={from} x={x(from)} y={0} width={x(to) - x(from)} height={height} class="cut" />
        ))}
      </svg>
      <Scale axis={axis} />
      {hidden > 0 ? (
        <p class="hint">
          {counted(rows.length, 'attempt')} of {formatCount(job.attemptCounts.total)}: all that failed first,
          and an even sample of the others. The band below them shows {formatCount(hidden)} more.
        </p>
      ) : null}
    </div>
  );
}

export function AttemptRows({ id, attempts }: Pick<Job, 'id' | 'attempts'>) {
  return (
    <Table<Attempt>
      caption="Attempts"
      rows={attempts}
      keyOf={({ task, attempt }) => `${task}/${attempt}`}
      columns={[
        {
          title: 'task',
          isNumber: true,
          of: ({ task }) => <a href={taskLink(id, task)}>{formatCount(task)}</a>,
        },
        { title: 'attempt', isNumber: true, of: ({ attempt }) => formatCount(attempt) },
        { title: 'state', of: ({ state }) => <StateBadge state={state} /> },
        {
          title: 'worker',
          of: ({ worker }) => <a href={`#/workers/${encodeURIComponent(worker)}`}>{worker}</a>,
        },
        attempts.some(({ gpus }) => gpus.length > 0) && { title: 'GPUs', of: ({ gpus }) => gpus.join(', ') },
        { title: 'ran', isNumber: true, of: ({ runSeconds }) => duration(runSeconds) },
        attempts.some(({ pausedSeconds }) => pausedSeconds > 0) && {
          title: 'paused',
          isNumber: true,
          of: ({ pausedSeconds, lentTo }) => (
            <>
              {duration(pausedSeconds)}
              {lentTo === null ? '' : `, for ${lentTo}`}
            </>
          ),
        },
        { title: 'message', isExtra: true, of: ({ message }) => message ?? '' },
      ]}
    />
  );
}

/** A row: the same limit may apply several times. */
interface Step {
  readonly label: string;
  readonly spans: readonly Span[];
  readonly kind: string;
  readonly words: string;
}

/** Groups the observed limits by what they say; amounts, times and ids in a sentence change while the limit stays. */
function limitSteps(limits: readonly Limit[], began: number): Step[] {
  const byReason = new Map<string, Limit[]>();
  for (const limit of limits) {
    const key = `${limit.reason} ${limit.why.replaceAll(/[a-z\d]+-\d+|[\d.,]+/g, '')}`;
    byReason.set(key, [...(byReason.get(key) ?? []), limit]);
  }
  return [...byReason.values()].map((all) => {
    const spans = all.map(({ from, to }) => {
      const start = Math.max(0, (Date.parse(from) - began) / 1_000);
      return { from: start, to: Math.max(start, (Date.parse(to) - began) / 1_000) };
    });
    const { why: label, reason, tasks } = all.at(-1)!;
    const seen = spans.reduce((sum, { from, to }) => sum + to - from, 0);
    const when = seen > 0 ? `seen for ${duration(seen)}` : `seen once, after ${duration(spans[0]!.from)}`;
    return { label, spans, kind: 'waiting', words: `${counted(tasks, 'task')} (${reason}), ${when}` };
  });
}

/** How the time of a job was spent: one row per step on a common axis, first the observed limits, then the run time. */
export function Waterfall({ job, why }: { readonly job: Job; readonly why: Why }) {
  const rows = rowsOf(job);
  const runs = unionOf(rows, isSample(job));
  const limits = limitSteps(why.limits ?? [], Date.parse(job.submittedAt));
  const axis = new TimeAxis(runs, Math.max(0, ...limits.flatMap(({ spans }) => spans.map(({ to }) => to))));
  const steps: Step[] = [
    ...limits,
    ...(runs.length === 0
      ? []
      : [
          {
            label: 'tasks run',
            spans: runs,
            kind: job.state === 'waiting' ? 'running' : job.state,
            words: `from ${duration(runs[0]!.from)} after submission, for ${runLengths(axis, runs).map(duration).join(' + ')}`,
          },
        ]),
  ];
  const phases = why.waited.filter(({ meanSeconds }) => meanSeconds > 0);
  if (steps.length === 0 && phases.length === 0) return null;
  return (
    <div class="waterfall">
      {steps.length === 0 ? null : (
        <>
          <ul aria-label="Waiting and running over time">
            {steps.map(({ label, spans, kind, words }, row) => (
              <li key={`${row} ${kind}`}>
                <span class="line">
                  <strong>
                    <Backticks text={label} />
                  </strong>{' '}
                  {words}
                </span>
                <span class="rail" aria-hidden="true">
                  {spans.map(({ from, to }, index) => (
                    <span
                      key={index}
                      class={`part ${kind}`}
                      style={{
                        left: `${100 * axis.at(from)}%`,
                        width: `${Math.max(0.3, 100 * (axis.at(to) - axis.at(from)))}%`,
                      }}
                    />
                  ))}
                </span>
              </li>
            ))}
          </ul>
          <p class="scale">
            <span>submitted</span>
            <span>{duration(axis.end)}</span>
          </p>
        </>
      )}
      {phases.length === 0 ? null : (
        <p class="hint">
          Average waits of tasks that started:{' '}
          {phases
            .map(
              ({ phase, tasks, meanSeconds, maxSeconds }) =>
                `${duration(meanSeconds)} ${WAIT_PHASE_WORDS[phase]} (${counted(tasks, 'task')}, at most ${duration(maxSeconds)})`,
            )
            .join('; ')}
          .
        </p>
      )}
    </div>
  );
}
