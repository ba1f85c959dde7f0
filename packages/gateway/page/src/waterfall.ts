import { counted, duration, h, renderBackticks } from './dom.js';
import type { Job, Why } from './shapes.js';

type Limit = NonNullable<Why['limits']>[number];

const PHASE_WORDS: Readonly<Record<Why['waited'][number]['phase'], string>> = {
  'other-job': 'another job',
  stage: 'earlier stages',
  pilots: 'pilots to measure the run time',
  worker: 'a free worker',
  held: 'on hold, or not begun',
  retry: 'failed attempts',
};

/** A row: the same limit may apply several times. */
interface Step {
  readonly label: string;
  readonly spans: { readonly from: number; readonly to: number }[];
  readonly kind: string;
  readonly words: string;
}

/**
 * Draws how the time of a job was spent: one row per step on a common axis, first the observed limits, then
 * the run time.
 */
export function waterfall(job: Job, why: Why): Node | null {
  const began = Date.parse(job.submittedAt);
  const byReason = new Map<string, Limit[]>();
  for (const limit of why.limits ?? []) {
    // Amounts, times and ids in a sentence change while the limit stays.
    const key = `${limit.reason} ${limit.why.replaceAll(/[a-z\d]+-\d+|[\d.,]+/g, '')}`;
    byReason.set(key, [...(byReason.get(key) ?? []), limit]);
  }
  const limits = [...byReason.values()].map((all): Step => {
    const spans = all.map(({ from, to }) => {
      const start = Math.max(0, (Date.parse(from) - began) / 1_000);
      return { from: start, to: Math.max(start, (Date.parse(to) - began) / 1_000) };
    });
    const { why: label, reason, tasks } = all.at(-1)!;
    const seen = spans.reduce((sum, { from, to }) => sum + to - from, 0);
    return {
      label,
      spans,
      kind: 'waiting',
      words: `${counted(tasks, 'task')} (${reason}), ${seen > 0 ? `seen for ${duration(seen)}` : `seen once, after ${duration(spans[0]!.from)}`}`,
    };
  });
  const runs = job.attempts.map(({ startedAt, runSeconds }) => {
    const from = Math.max(0, (Date.parse(startedAt) - began) / 1_000);
    return { from, to: from + runSeconds };
  });
  const first = Math.min(...runs.map(({ from }) => from));
  const last = Math.max(...runs.map(({ to }) => to));
  const steps: Step[] = [...limits];
  if (runs.length > 0)
    steps.push({
      label: 'tasks run',
      spans: [{ from: first, to: last }],
      kind: job.state === 'waiting' ? 'running' : job.state,
      words: `from ${duration(first)} after submission, for ${duration(last - first)}`,
    });
  const end = Math.max(0.001, ...steps.flatMap(({ spans }) => spans.map(({ to }) => to)));
  const phases = why.waited.filter(({ meanSeconds }) => meanSeconds > 0);
  if (steps.length === 0 && phases.length === 0) return null;
  return h(
    'div',
    { class: 'waterfall' },
    steps.length === 0
      ? null
      : h(
          'ul',
          { 'aria-label': 'Waiting and running over time' },
          steps.map(({ label, spans, kind, words }) => {
            const bars = spans.map(({ from, to }) => {
              const bar = h('span', { class: `part ${kind}` });
              bar.style.left = `${(100 * from) / end}%`;
              bar.style.width = `${Math.max(0.3, (100 * (to - from)) / end)}%`;
              return bar;
            });
            return h(
              'li',
              {},
              h('span', { class: 'line' }, h('strong', {}, renderBackticks(label)), ` ${words}`),
              h('span', { class: 'rail', 'aria-hidden': 'true' }, bars),
            );
          }),
        ),
    steps.length === 0
      ? null
      : h('p', { class: 'scale' }, h('span', {}, 'submitted'), h('span', {}, duration(end))),
    phases.length === 0
      ? null
      : h(
          'p',
          { class: 'hint' },
          'Average waits of tasks that started: ',
          phases
            .map(
              ({ phase, tasks, meanSeconds, maxSeconds }) =>
                `${duration(meanSeconds)} for ${PHASE_WORDS[phase]} (${counted(tasks, 'task')}, at most ${duration(maxSeconds)})`,
            )
            .join(', '),
          '.',
        ),
  );
}
