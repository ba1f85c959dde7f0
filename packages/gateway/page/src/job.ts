import { follow, get, post } from './api.js';
import {
  ago,
  behind,
  card,
  count,
  counted,
  definitions,
  duration,
  fill,
  h,
  stateBadge,
  svg,
  table,
} from './dom.js';
import { standing, tookSeconds } from './jobs.js';
import type { Attempt, Job, JobSummary, Logs, Why } from './shapes.js';
import { may, type Place } from './view.js';

/** Between two looks at a job that changes all the time. ms */
const LOOK_MS = 1_000;
/** Of its log, the end. */
const LINES = 500;

/** One job: why, how far, stages, what ran when, and what it printed. */
export function showJob(place: Place): void {
  const { root, rest: id, signal } = place;
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const problem = h('div', { role: 'status' });
  const head = h('div', {});
  const actions = h('div', { class: 'actions' });
  const why = h('div', { 'aria-live': 'polite' });
  const stages = h('div', {});
  const timeline = h('div', { class: 'chart' });
  const log = h('pre', { class: 'log', tabindex: 0, 'aria-label': 'What the tasks printed' });
  const failedOnly = h('input', { type: 'checkbox', id: 'failed' });
  let job: Job | undefined;
  root.append(
    problem,
    head,
    actions,
    card('Why', why),
    card('Stages', stages),
    card(
      'Timeline',
      timeline,
      behind('Table', () => attemptTable(job?.attempts ?? [])),
    ),
    card(
      'Log',
      h(
        'div',
        { class: 'filters' },
        h('span', {}, failedOnly, h('label', { for: 'failed' }, 'of tasks that failed only')),
      ),
      log,
    ),
  );
  const showLog = async (): Promise<void> => {
    const { chunks, truncated } = await get<Logs>(
      `${path}/logs${failedOnly.checked ? '?failed=true' : ''}`,
      signal,
    );
    fill(log, logText(chunks, truncated));
  };
  const look = async (): Promise<void> => {
    try {
      const [now, reason] = await Promise.all([
        get<Job>(path, signal),
        get<Why>(`${path}/why`, signal),
        showLog(),
      ]);
      job = now;
      fill(problem);
      fill(head, title(now));
      offer(place, actions, now);
      fill(why, h('p', { class: 'sentence' }, reason.sentence), bar(now), failureList(now), measures(now));
      fill(stages, stageTable(now));
      timeline.replaceChildren(drawing(now));
    } catch (error) {
      if (!signal.aborted) fill(problem, h('p', { class: 'error' }, (error as Error).message));
    }
  };
  failedOnly.addEventListener('change', () => void showLog().catch(() => {}));
  const paced = pace(look, signal);
  void look();
  void follow(`${path}/events`, { event: paced, state: () => {} }, signal);
}

/** Calls at once and then not again for a while, however much happens; and once more for what happened meanwhile. */
function pace(call: () => Promise<void>, signal: AbortSignal): () => void {
  let isBusy = false;
  let isWanted = false;
  const run = async (): Promise<void> => {
    isBusy = true;
    isWanted = false;
    await call();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    isBusy = false;
    if (isWanted && !signal.aborted) void run();
  };
  return () => {
    isWanted = true;
    if (!isBusy) void run();
  };
}

function title(job: JobSummary): Node[] {
  const { id, name, user, submittedAt, classifiedBy } = job;
  const by = classifiedBy === 'given' ? 'estimate at submission' : classifiedBy;
  const known = classifiedBy === 'pilots, not yet' ? `taken for ${job.class}` : `${job.class} (${by})`;
  return [
    h('p', { class: 'name' }, h('strong', {}, name), ' ', standing(job), ' ', h('code', {}, id)),
    h(
      'p',
      { class: 'hint' },
      `${user === null ? '' : `of ${user}, `}${known}, submitted ${ago(submittedAt)}${tookSeconds(job) === null ? '' : `, took ${duration(tookSeconds(job))}`}`,
    ),
  ];
}

function offer(place: Place, actions: HTMLElement, { id, state }: JobSummary): void {
  const verb = state === 'waiting' || state === 'running' ? 'cancel' : state === 'completed' ? '' : 'retry';
  if (actions.getAttribute('data-verb') === verb || !may(place, 'submit')) return;
  actions.setAttribute('data-verb', verb);
  actions.replaceChildren();
  if (verb === '') return;
  const button = h(
    'button',
    { type: 'button' },
    verb === 'cancel' ? 'Cancel the job' : 'Retry what did not complete',
  );
  button.addEventListener('click', async () => {
    // What is cancelled is lost: it is asked for twice.
    if (verb === 'cancel' && button.dataset.sure === undefined) {
      button.dataset.sure = 'yes';
      button.textContent = 'Cancel it: tasks that run are killed';
      return;
    }
    button.disabled = true;
    try {
      const answer = await post<{ job: string }>(`/v1/jobs/${encodeURIComponent(id)}/${verb}`);
      if (verb === 'retry') location.hash = `#/jobs/${answer.job}`;
    } catch (error) {
      button.disabled = false;
      actions.append(h('p', { class: 'error', role: 'alert' }, (error as Error).message));
    }
  });
  actions.append(button);
}

const PARTS = ['completed', 'running', 'waiting', 'failed', 'cancelled'] as const;

/** How far it is, as one bar. */
function bar({ tasks }: JobSummary): HTMLElement {
  const parts = PARTS.filter((part) => tasks[part] > 0);
  const words = parts.map((part) => `${count(tasks[part])} ${part}`).join(', ');
  return h(
    'div',
    {},
    h(
      'div',
      { class: 'stack', role: 'img', 'aria-label': `Tasks: ${words}` },
      parts.map((part) => {
        const span = h('span', { class: `part ${part}` });
        span.style.flexGrow = String(tasks[part]);
        return span;
      }),
    ),
    h(
      'ul',
      { class: 'legend' },
      parts.map((part) => h('li', {}, h('span', { class: `key ${part}` }), `${part} ${count(tasks[part])}`)),
    ),
  );
}

/** Failures that are shown. */
const FAILURES = 5;

/** What went wrong, task by task. */
function failureList({ failures, tasks }: Job): (Node | null)[] {
  if (failures.length === 0) return [];
  const shown = failures.slice(0, FAILURES).map((failure) => {
    const { task, attempts, worker, message, kind, printed, stdoutFile, stderrFile } = failure;
    const where = worker === '' ? '' : ` on ${worker}`;
    const again = attempts > 1 ? `, attempt ${attempts}` : '';
    const files = [
      ...(stdoutFile === null ? [] : [`stdout: ${stdoutFile}`]),
      ...(stderrFile === null ? [] : [`stderr: ${stderrFile}`]),
    ];
    const ends = [...(printed === null ? [] : [printed.trimEnd()]), ...files].join('\n');
    const line = `task ${task}${where}${again}: ${message || kind}`;
    return h('li', {}, line, ends === '' ? null : h('pre', { class: 'log' }, ends));
  });
  const hidden = tasks.failed - shown.length;
  return [
    h('ul', { class: 'attention' }, shown),
    hidden > 0 ? h('p', { class: 'hint' }, `${counted(hidden, 'more task')} failed`) : null,
  ];
}

function measures(job: Job): HTMLElement | null {
  const { meanRunSeconds, estimateSeconds, lostSeconds, attemptCounts, cancelReason } = job;
  const rows: (readonly [string, string])[] = [
    ...(cancelReason === null ? [] : [['because', cancelReason] as const]),
    ...(meanRunSeconds === null ? [] : [['a task ran', `${duration(meanRunSeconds)} in the mean`] as const]),
    ...(estimateSeconds === null ? [] : [['believed', `${duration(estimateSeconds)} a task`] as const]),
    ...(attemptCounts.failed + attemptCounts.lost === 0
      ? []
      : [
          [
            'lost',
            `${duration(lostSeconds)} to ${counted(attemptCounts.failed + attemptCounts.lost, 'attempt')} without success`,
          ] as const,
        ]),
  ];
  return rows.length === 0 ? null : definitions(rows);
}

function stageTable({ stages }: Job): HTMLElement {
  return table<Job['stages'][number]>(
    'Stages',
    [
      { title: 'stage', of: ({ name }) => name },
      { title: 'state', of: ({ state }) => stateBadge(state) },
      {
        title: 'done',
        isNumber: true,
        of: ({ tasks, counts }) => `${count(counts?.completed ?? 0)} / ${count(tasks)}`,
      },
      ...(stages.some(({ counts }) => (counts?.failed ?? 0) > 0)
        ? [
            {
              title: 'failed',
              isNumber: true,
              of: ({ counts }: Job['stages'][number]) => count(counts?.failed ?? 0),
            },
          ]
        : []),
      { title: 'after', of: ({ after }) => after.join(', ') || '–' },
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
    ],
    stages,
  );
}

const ROW = 8;
const WIDTH = 1_000;

/** Attempts as bars over time, in the order in which they started. */
function drawing({ attempts, attemptCounts, submittedAt }: Job): Node {
  if (attempts.length === 0) return h('p', { class: 'hint' }, 'Nothing has started.');
  const began = Date.parse(submittedAt);
  const rows = attempts
    .map((attempt) => ({ ...attempt, from: (Date.parse(attempt.startedAt) - began) / 1_000 }))
    .sort((a, b) => a.from - b.from);
  const end = Math.max(0.001, ...rows.map(({ from, runSeconds }) => from + runSeconds));
  const x = (seconds: number) => (WIDTH * seconds) / end;
  const height = rows.length * ROW;
  const words = `${counted(rows.length, 'attempt')} over ${duration(end)}; the table below has each`;
  const picture = svg(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': words,
      class: 'timeline',
      height,
    },
    ...rows.map(({ from, runSeconds, state }, index) =>
      svg('rect', {
        x: x(from),
        y: index * ROW + 1,
        width: Math.max(2, x(runSeconds)),
        height: ROW - 2,
        class: `part ${state}`,
      }),
    ),
  );
  const hidden = attemptCounts.total - rows.length;
  return h(
    'div',
    {},
    picture,
    h('p', { class: 'scale' }, h('span', {}, 'submitted'), h('span', {}, `${duration(end)} later`)),
    hidden > 0 ? h('p', { class: 'hint' }, `${counted(hidden, 'more attempt')}`) : null,
  );
}

function attemptTable(attempts: readonly Attempt[]): HTMLElement {
  return table<Attempt>(
    'Attempts',
    [
      { title: 'task', isNumber: true, of: ({ task }) => count(task) },
      { title: 'attempt', isNumber: true, of: ({ attempt }) => count(attempt) },
      { title: 'state', of: ({ state }) => stateBadge(state) },
      {
        title: 'worker',
        of: ({ worker }) => h('a', { href: `#/workers/${encodeURIComponent(worker)}` }, worker),
      },
      ...(attempts.some(({ gpus }) => gpus.length > 0)
        ? [{ title: 'GPUs', of: ({ gpus }: Attempt) => gpus.join(', ') }]
        : []),
      { title: 'ran', isNumber: true, of: ({ runSeconds }) => duration(runSeconds) },
      { title: 'message', isExtra: true, of: ({ message }) => message ?? '' },
    ],
    attempts,
  );
}

/** With the number of the task before each line, as `goshawk logs` has it. */
function logText(chunks: Logs['chunks'], truncated: boolean): string {
  const lines = chunks.flatMap(({ task, text }) =>
    text
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => `${task}: ${line}`),
  );
  if (lines.length === 0) return 'Nothing was printed.';
  const shown = lines.slice(-LINES);
  const cut =
    truncated || shown.length < lines.length ? 'There was more before: `goshawk logs` has all of it.\n' : '';
  return `${cut}${shown.join('\n')}`;
}
