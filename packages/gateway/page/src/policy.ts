import { showError } from './actions.js';
import { get } from './api.js';
import { card, count, definitions, duration, fill, h, percent, table } from './dom.js';
import type { Policy, Predictor } from './shapes.js';
import type { Place } from './view.js';

/** Refresh interval (ms). The interval is long, because settings rarely change. */
const LOOK_MS = 10_000;

export function showPolicy({ root, live, signal }: Place): void {
  const problem = h('div', { role: 'status' });
  const settings = h('div', {});
  const messages = h('div', {});
  const scores = h('div', {});
  for (const part of [settings, messages, scores])
    fill(part, h('p', { class: 'hint' }, 'Waiting for an answer.'));
  root.append(
    problem,
    h('div', { class: 'columns' }, card('Settings', settings), card('Messages', messages)),
    card('Predictor', scores),
  );
  let lookedAt = Number.NEGATIVE_INFINITY;
  live.onUpdate(signal, async () => {
    if (performance.now() - lookedAt < LOOK_MS) return;
    lookedAt = performance.now();
    try {
      const [policy, predictor] = await Promise.all([
        get<Policy>('/v1/policy', signal),
        get<Predictor>('/v1/predictor', signal),
      ]);
      fill(problem);
      fill(settings, settingList(policy));
      fill(messages, messageTable(policy));
      fill(scores, scoreboard(predictor));
    } catch (error) {
      showError(problem, error, signal);
    }
  });
}

function originOf(jobs: Policy['cutoffJobs']): string {
  if (jobs === null) return 'set by --cutoff';
  return jobs === 0 ? 'the default' : `learned from ${count(jobs)} jobs`;
}

function settingList({
  policy,
  title,
  estimator,
  cutoffSeconds,
  cutoffJobs,
  reserve,
  reserveNow,
}: Policy): HTMLElement {
  const kept = reserveNow === null ? '' : `, now ${percent(reserveNow)} of the CPUs`;
  return definitions([
    ['policy', policy],
    ['meaning', title],
    [
      'cutoff',
      `a job whose tasks take ${duration(cutoffSeconds)} or more on average is long (${originOf(cutoffJobs)})`,
    ],
    ['estimator', estimator],
    ['reserve', `${reserve === 'auto' ? 'auto' : percent(reserve)}${kept}: reserved for short tasks`],
  ]);
}

function messageTable({ messagesPerTask, messages }: Policy): HTMLElement {
  const rows = Object.entries(messages).sort(([, a], [, b]) => b - a);
  return h(
    'div',
    {},
    messagesPerTask === null
      ? null
      : h(
          'p',
          {},
          h('strong', {}, messagesPerTask.toFixed(1)),
          ' messages per task since the cluster started, without heartbeats and messages between workers',
        ),
    rows.length === 0
      ? null
      : table<[string, number]>(
          'Messages by type',
          [
            { title: 'type', of: ([type]) => h('code', {}, type) },
            { title: 'messages', isNumber: true, of: ([, many]) => count(many) },
          ],
          rows,
        ),
  );
}

function scoreboard({ estimators }: Predictor): HTMLElement {
  if (estimators.length === 0) {
    return h(
      'p',
      { class: 'hint' },
      'No estimator runs in shadow: ',
      h('code', {}, 'goshawk up --shadow pilot,history,hybrid'),
      ' compares them on your jobs.',
    );
  }
  const off = (value: number | null) => (value === null ? '–' : `${Math.round(value)}%`);
  return table<Predictor['estimators'][number]>(
    'Estimators in shadow',
    [
      { title: 'estimator', of: ({ estimator }) => estimator },
      { title: 'jobs', isNumber: true, of: ({ jobs }) => count(jobs) },
      { title: 'estimated', isNumber: true, of: ({ estimated }) => count(estimated) },
      { title: 'error, p50', isNumber: true, of: ({ errorPercent }) => off(errorPercent.p50) },
      { title: 'p90', isNumber: true, of: ({ errorPercent }) => off(errorPercent.p90) },
      {
        title: 'wrong class',
        isNumber: true,
        of: ({ misclassifiedJobsPercent }) => off(misclassifiedJobsPercent),
      },
    ],
    estimators,
  );
}
