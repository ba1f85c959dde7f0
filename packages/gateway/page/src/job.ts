import { type Action, errorText, showActions } from './actions.js';
import { ansiSpans } from './ansi.js';
import { ApiError, follow, get, post, randomKey } from './api.js';
import {
  ago,
  bytes,
  card,
  clock,
  count,
  counted,
  definitions,
  duration,
  fill,
  h,
  renderBackticks,
  stateBadge,
  svg,
  TableBehind,
  table,
  taskLink,
} from './dom.js';
import { standing, tookSeconds } from './jobs.js';
import { linesOf } from './log-lines.js';
import type { Attempt, Job, JobSummary, Logs, TaskList, Why } from './shapes.js';
import { DRAWN_MAX, stageGraph } from './stage-graph.js';
import { may, type Place } from './view.js';
import { waterfall } from './waterfall.js';
import { WhatIf } from './what-if.js';
import { usedByTask } from './workers.js';

/** Refresh interval (ms) of a changing job. */
const LOOK_MS = 1_000;
/** Refresh interval (ms) of the CPUs and memory in use, which the gateway requests from workers. */
const USED_MS = 5_000;
/** Maximum number of log lines shown, from the end of the log. */
const LINES = 500;

/** Shows one job: reason for waiting, progress, stages, timeline and output. */
export function showJob(place: Place): void {
  const { root, rest: id, query, signal } = place;
  const parts = h('div', { hidden: true });
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const problem = h('div', { role: 'status' });
  const head = h('div', {});
  const actions = h('div', { class: 'actions' });
  const why = h('div', { 'aria-live': 'polite' });
  const whatIf = new WhatIf(path, signal);
  const stages = h('div', {});
  const stageCard = card('Stages', stages);
  const timeline = h('div', { class: 'chart' });
  const attempts = new TableBehind(() => attemptTable(id, job?.attempts ?? []));
  const log = h('pre', { class: 'log', tabindex: 0, 'aria-label': 'Task output' });
  const failedOnly = h('input', { type: 'checkbox', id: 'failed' });
  const task = h('input', { id: 'task', size: 8, inputmode: 'numeric', autocomplete: 'off' });
  const followed = h('input', { type: 'checkbox', id: 'follow', checked: true });
  const tasks = h('div', {});
  /** Index of the task to show, from a link. */
  const linked = /^\d{1,9}$/.test(query.get('task') ?? '') ? Number(query.get('task')) : undefined;
  task.value = linked === undefined ? '' : String(linked);
  let mustScroll = linked !== undefined;
  let job: Job | undefined;
  root.append(problem, parts);
  parts.append(
    head,
    actions,
    card('Why', why, whatIf.element),
    stageCard,
    card('Tasks', tasks),
    card('Timeline', timeline, attempts.element),
    card(
      'Log',
      h(
        'div',
        { class: 'filters' },
        h('span', {}, failedOnly, h('label', { for: 'failed' }, 'failed tasks only')),
        h('span', {}, h('label', { for: 'task' }, 'Task'), task),
        h('span', {}, followed, h('label', { for: 'follow' }, 'follow')),
      ),
      log,
    ),
  );
  const showLog = async (): Promise<void> => {
    const ask = new URLSearchParams();
    if (failedOnly.checked) ask.set('failed', 'true');
    if (/^\d+$/.test(task.value)) ask.set('task', task.value);
    fill(log, ...logLines(await get<Logs>(`${path}/logs?${ask}`, signal)));
    if (followed.checked) log.scrollTop = log.scrollHeight;
  };
  log.addEventListener('scroll', () => {
    followed.checked = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  });
  followed.addEventListener('change', () => {
    if (followed.checked) log.scrollTop = log.scrollHeight;
  });
  task.addEventListener('change', () => void showLog().catch(showProblem));
  const showProblem = (error: unknown): void => {
    if (signal.aborted) return;
    fill(
      problem,
      h('p', {}, errorText(error)),
      (error as ApiError).status === 404 ? h('p', {}, h('a', { href: '#/jobs' }, 'All jobs')) : null,
    );
  };
  let tasksFrom = TASKS * Math.floor((linked ?? 0) / TASKS);
  let usedAt = Number.NEGATIVE_INFINITY;
  let used = new Map<number, TaskList['tasks'][number]['used']>();
  const tasksPath = (): string => `${path}/tasks?from=${tasksFrom}&limit=${TASKS}`;
  /** Requests the use in the background. Workers of a cluster with keys do not answer, which takes time. */
  const showUsed = async (): Promise<void> => {
    if (performance.now() - usedAt < USED_MS) return;
    usedAt = performance.now();
    const page = await get<TaskList>(`${tasksPath()}&used=true`, signal).catch(() => undefined);
    // After a failure nothing is shown, because old values would look current.
    used = new Map(page?.tasks.map(({ index, used }) => [index, used]));
  };
  const showTasks = async (): Promise<void> => {
    const page = await get<TaskList>(tasksPath(), signal);
    void showUsed();
    const turn = (text: string, from: number) =>
      h(
        'button',
        {
          type: 'button',
          onclick: () => {
            tasksFrom = from;
            usedAt = Number.NEGATIVE_INFINITY;
            void showTasks().catch(showProblem);
          },
        },
        text,
      );
    fill(
      tasks,
      taskTable(page.tasks, used, (index) => {
        task.value = String(index);
        void showLog().catch(showProblem);
        log.scrollIntoView();
        log.focus();
      }),
      h(
        'nav',
        { class: 'pages', 'aria-label': 'Pages of tasks' },
        h('span', {}, `${count(page.tasks.length)} of ${counted(page.total, 'task')}`),
        tasksFrom === 0 ? null : turn('First', 0),
        page.next === null ? null : turn('Next', page.next),
      ),
    );
  };
  const look = async (): Promise<void> => {
    try {
      const [now, reason] = await Promise.all([
        get<Job>(path, signal),
        get<Why>(`${path}/why`, signal),
        showTasks(),
      ]);
      // A timer refreshes the log of a running job. The last lines are fetched at its end.
      if (job?.state !== 'running' || now.state !== 'running') void showLog().catch(showProblem);
      parts.hidden = false;
      document.querySelector('h1')!.textContent = `${now.name} (${now.id})`;
      job = now;
      fill(problem);
      fill(head, title(now, reason));
      if (may(place, 'submit'))
        showActions(actions, actionsOf(now), (answer) => {
          const { job: other = id } = answer as { readonly job?: string };
          if (other === id) void look();
          else location.hash = `#/jobs/${encodeURIComponent(other)}`;
        });
      else fill(actions, h('p', { class: 'hint' }, 'Read-only: this page may not change anything.'));
      fill(
        why,
        h('p', { class: 'sentence' }, renderBackticks(reason.sentence ?? '')),
        bar(now),
        waterfall(now, reason),
        failureList(now),
        measures(now),
      );
      whatIf.show(may(place, 'submit') && now.tasks.waiting > 0 && !now.held ? now.priority : undefined);
      // The head describes a single stage.
      stageCard.hidden = now.stages.length === 1;
      fill(
        stages,
        now.stages.length > 1
          ? h(
              'div',
              { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Graph of the stages' },
              stageGraph(now),
            )
          : null,
        stageTable(now),
      );
      fill(timeline, drawing(now));
      attempts.refresh();
      if (mustScroll) log.scrollIntoView({ block: 'center' });
      mustScroll = false;
    } catch (error) {
      if (!(error instanceof ApiError) && !signal.aborted) throw error;
      showProblem(error);
    }
  };
  failedOnly.addEventListener('change', () => void showLog().catch(showProblem));
  // The log is requested on a timer, because output arrives between events of the job.
  const timer = setInterval(() => {
    if (job?.state === 'running' && !document.hidden) void showLog().catch(showProblem);
  }, LOOK_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
  const paced = pace(look, signal);
  void look();
  void follow(`${path}/events`, { event: paced, state: () => {} }, signal);
}

/**
 * Throttles a function: it runs immediately, then at most once per interval. A call during the interval runs
 * the function once at its end.
 */
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

function title(job: Job, { deadline: due }: Why): Node[] {
  const { user, submittedAt, classifiedBy, priority, deadlineAt, stages, retryOf } = job;
  const by = classifiedBy === 'given' ? 'submitted estimate' : classifiedBy;
  const known =
    classifiedBy === 'pilots, not yet'
      ? `treated as ${job.class} until its pilots end`
      : `${job.class} (${by})`;
  const deadline = deadlineAt === null ? null : `${clock(deadlineAt)}, ${due?.sentence ?? ''}`;
  const single = stages.length === 1 ? stages[0] : undefined;
  return [
    h('p', { class: 'name' }, standing(job)),
    h(
      'p',
      { class: 'hint' },
      `${user === null ? '' : `${user}, `}${known}, submitted ${ago(submittedAt)}${tookSeconds(job) === null ? '' : `, took ${duration(tookSeconds(job))}`}`,
    ),
    definitions([
      ...(single?.command == null
        ? []
        : [
            [
              'command',
              h(
                'span',
                {},
                h('code', { class: 'command' }, single.command),
                single.commandsDiffer ? ' (first task; others differ)' : '',
              ),
            ] as const,
          ]),
      ...(single === undefined || demandWords(single) === ''
        ? []
        : [['demand', demandWords(single)] as const]),
      ['priority', priority],
      ...(retryOf === null
        ? []
        : [['retries', h('span', {}, 'tasks of ', h('a', { href: `#/jobs/${retryOf}` }, retryOf))] as const]),
      ...(deadline === null ? [] : [['deadline', deadline] as const]),
    ]),
  ];
}

function demandWords({ demand }: Job['stages'][number]): string {
  return Object.entries(demand)
    .map(([name, amount]) => `${name === 'memory' ? bytes(amount) : count(amount)} ${name}`)
    .join(', ');
}

function actionsOf({ id, state, held, tasks, priority, beginAt }: Job): Action[] {
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
      confirm: `Run ${counted(again, 'task')} of this job again? ${count(tasks.completed)} completed ones are kept.`,
    },
    {
      words: 'Retry as new job…',
      run: to('retry', { asNew: true, key: randomKey() }),
      confirm: `Run ${counted(again, 'task')} in a new job, under the same indices? This job stays unchanged.`,
    },
  ];
}

const PARTS = ['completed', 'running', 'waiting', 'failed', 'cancelled'] as const;

/** Draws the progress as one bar. */
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

/** Maximum number of causes shown. */
const CAUSES = 5;

/** Lists failures by cause, most frequent first, each with the output of one task. */
function failureList({ failures, tasks }: Job): (Node | null)[] {
  if (failures.length === 0) return [];
  const causes = new Map<string, Job['failures']>();
  for (const failure of failures) {
    const cause = causeOf(failure.message || failure.kind);
    causes.set(cause, [...(causes.get(cause) ?? []), failure]);
  }
  const sorted = [...causes].sort(([, one], [, other]) => other.length - one.length);
  const shown = sorted.slice(0, CAUSES).map(([cause, all]) => {
    const first = all.find(({ printed }) => printed !== null) ?? all[0]!;
    const { printed, stdoutFile, stderrFile } = first;
    const files = [
      ...(stdoutFile === null ? [] : [`stdout: ${stdoutFile}`]),
      ...(stderrFile === null ? [] : [`stderr: ${stderrFile}`]),
    ];
    const ends = [...(printed === null ? [] : [printed.trimEnd()]), ...files].join('\n');
    const line =
      all.length === 1 ? placeOf(first) : `${counted(all.length, 'task')}, such as ${placeOf(first)}`;
    return h(
      'li',
      {},
      `${line}: ${all.length === 1 ? first.message || first.kind : cause}`,
      ends === '' ? null : h('pre', { class: 'log' }, ends),
    );
  });
  const hidden = tasks.failed - failures.length;
  const others = sorted.length - shown.length;
  return [
    h('ul', { class: 'attention' }, shown),
    others > 0 ? h('p', { class: 'hint' }, `${counted(others, 'more cause')}`) : null,
    hidden > 0 ? h('p', { class: 'hint' }, `${counted(hidden, 'more task')} failed`) : null,
  ];
}

function placeOf({ task, worker, attempts }: Job['failures'][number]): string {
  return `task ${task}${worker === '' ? '' : ` on ${worker}`}${attempts > 1 ? `, attempt ${attempts}` : ''}`;
}

/** Returns the cause in a message. Process numbers, addresses and file names do not matter; exit codes do. */
function causeOf(message: string): string {
  return /exit code|signal/.test(message) ? message : message.replaceAll(/0x[\da-f]+|\d{3,}/gi, '…');
}

function measures(job: Job): HTMLElement | null {
  const { meanRunSeconds, estimateSeconds, lostSeconds, attemptCounts, cancelReason } = job;
  const rows: (readonly [string, string])[] = [
    ...(cancelReason === null ? [] : [['reason', cancelReason] as const]),
    ...(meanRunSeconds === null ? [] : [['average run time', duration(meanRunSeconds)] as const]),
    ...(estimateSeconds === null ? [] : [['estimated', `${duration(estimateSeconds)} per task`] as const]),
    ...(attemptCounts.failed + attemptCounts.lost === 0
      ? []
      : [
          [
            'wasted',
            `${duration(lostSeconds)} in ${counted(attemptCounts.failed + attemptCounts.lost, 'failed attempt')}`,
          ] as const,
        ]),
  ];
  return rows.length === 0 ? null : definitions(rows);
}

function stageTable({ stages }: Job): HTMLElement {
  const more = stages.length - DRAWN_MAX;
  return table<Job['stages'][number]>(
    more > 0 ? `Stages; the graph leaves out ${count(more)}` : 'Stages',
    [
      { title: 'stage', of: ({ name }) => name },
      { title: 'state', of: ({ state }) => stateBadge(state) },
      {
        title: 'completed',
        isNumber: true,
        of: ({ tasks, counts }) => `${count(counts.completed)} / ${count(tasks)}`,
      },
      ...(stages.some(({ counts }) => counts.failed > 0)
        ? [
            {
              title: 'failed',
              isNumber: true,
              of: ({ counts }: Job['stages'][number]) => count(counts.failed),
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
      ...(stages.length > 1
        ? [
            {
              title: 'command',
              isExtra: true,
              of: ({ command }: Job['stages'][number]) =>
                h('code', { class: 'clip', title: command ?? '' }, command ?? '–'),
            },
            { title: 'demand', isExtra: true, of: demandWords },
          ]
        : []),
    ],
    stages,
  );
}

const ROW = 8;
const WIDTH = 1_000;

/** Draws attempts as bars over time, in order of start. Attempts that are left out form a band below. */
function drawing({ id, attempts, attemptCounts, submittedAt }: Job): Node {
  if (attempts.length === 0) return h('p', { class: 'hint' }, 'Nothing has started.');
  const began = Date.parse(submittedAt);
  const rows = attempts
    .map((attempt) => ({ ...attempt, from: (Date.parse(attempt.startedAt) - began) / 1_000 }))
    .sort((a, b) => a.from - b.from);
  const end = Math.max(0.001, ...rows.map(({ from, runSeconds }) => from + runSeconds));
  const x = (seconds: number) => (WIDTH * seconds) / end;
  const hidden = Math.max(0, attemptCounts.total - rows.length);
  const band = hidden > 0 ? 2 * ROW : 0;
  const height = rows.length * ROW + band;
  const words = `${counted(rows.length, 'attempt')} over ${duration(end)}${hidden > 0 ? `, chosen evenly, and ${count(hidden)} more as a band` : ''}; the table below has each`;
  const described = (element: SVGElement, text: string): SVGElement => {
    const title = svg('title', {});
    title.textContent = text;
    element.append(title);
    return element;
  };
  const picture = svg(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${height}`,
      preserveAspectRatio: 'none',
      role: 'group',
      'aria-label': words,
      class: 'timeline',
      height,
    },
    ...rows.map(({ from, runSeconds, state, task, attempt, worker }, index) =>
      described(
        // The table below leads to the tasks by keyboard.
        svg(
          'a',
          { href: taskLink(id, task), tabindex: -1 },
          svg('rect', {
            x: x(from),
            y: index * ROW + 1,
            width: Math.max(2, x(runSeconds)),
            height: ROW - 2,
            class: `part ${state}`,
          }),
        ),
        `task ${task}, attempt ${attempt}, ${state}, on ${worker}: from ${duration(from)}, ran ${duration(runSeconds)}`,
      ),
    ),
    ...(hidden === 0
      ? []
      : unionOf(rows).map(([from, to]) =>
          described(
            svg('rect', {
              x: x(from),
              y: rows.length * ROW + 2,
              width: Math.max(2, x(to - from)),
              height: band - 4,
              class: 'omitted',
            }),
            `${counted(hidden, 'more attempt')} ran here`,
          ),
        )),
  );
  return h(
    'div',
    {},
    picture,
    h(
      'p',
      { class: 'scale' },
      ...[0, 1, 2, 3, 4].map((quarter) =>
        h('span', {}, quarter === 0 ? 'submitted' : duration((end * quarter) / 4)),
      ),
    ),
    hidden > 0
      ? h(
          'p',
          { class: 'hint' },
          `${counted(rows.length, 'attempt')} of ${count(attemptCounts.total)}: all that failed first, and an even sample of the others. The band below them shows ${count(hidden)} more.`,
        )
      : null,
  );
}

/**
 * Returns the intervals in which an attempt ran. Attempts that are left out ran between two sampled attempts,
 * unless the gap is unusually long.
 */
function unionOf(
  rows: readonly { readonly from: number; readonly runSeconds: number }[],
): [number, number][] {
  const spans: [number, number][] = [];
  const gaps = rows.slice(1).map(({ from }, index) => from - rows[index]!.from);
  const bridged = 4 * (gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 0);
  for (const { from, runSeconds } of rows) {
    const last = spans.at(-1);
    if (last !== undefined && from <= last[1] + bridged) last[1] = Math.max(last[1], from + runSeconds);
    else spans.push([from, from + runSeconds]);
  }
  return spans;
}

function attemptTable(id: string, attempts: readonly Attempt[]): HTMLElement {
  return table<Attempt>(
    'Attempts',
    [
      { title: 'task', isNumber: true, of: ({ task }) => h('a', { href: taskLink(id, task) }, count(task)) },
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

const TASKS = 20;

/**
 * @param used resource use of running tasks, by index
 * @param showLog called with the index of the task whose output to show
 */
function taskTable(
  tasks: TaskList['tasks'],
  used: ReadonlyMap<number, TaskList['tasks'][number]['used']>,
  showLog: (index: number) => void,
): HTMLElement {
  return table<TaskList['tasks'][number]>(
    'Tasks',
    [
      { title: 'task', isNumber: true, of: ({ index }) => count(index) },
      // A job without explicit stages has one that is called `tasks`.
      ...(tasks.some(({ stage }) => stage !== 'tasks')
        ? [{ title: 'stage', isExtra: true, of: ({ stage }: TaskList['tasks'][number]) => stage }]
        : []),
      { title: 'state', of: ({ state }) => stateBadge(state) },
      { title: 'attempt', isNumber: true, isExtra: true, of: ({ attempt }) => count(attempt) },
      {
        title: 'worker',
        of: ({ worker }) =>
          worker === null ? '–' : h('a', { href: `#/workers/${encodeURIComponent(worker)}` }, worker),
      },
      { title: 'exit', isNumber: true, of: ({ exitCode }) => (exitCode === null ? '–' : String(exitCode)) },
      { title: 'ran', isNumber: true, of: ({ runSeconds }) => duration(runSeconds) },
      {
        title: 'in use, or peak',
        isNumber: true,
        isExtra: true,
        of: ({ index, state, maxRssBytes }) =>
          state === 'running'
            ? usedByTask(used.get(index) ?? null)
            : maxRssBytes === null
              ? '–'
              : `peak ${bytes(maxRssBytes)}`,
      },
      ...(tasks.some(({ error }) => error !== null)
        ? [
            {
              title: 'error',
              isExtra: true,
              of: ({ error }: TaskList['tasks'][number]) =>
                h('span', { class: 'clip', title: error ?? '' }, error ?? ''),
            },
          ]
        : []),
      {
        title: 'output',
        of: ({ index, attempt }) =>
          attempt === 0
            ? '–'
            : h(
                'button',
                {
                  type: 'button',
                  class: 'plain',
                  'aria-label': `Log of task ${index}`,
                  onclick: () => showLog(index),
                },
                'log',
              ),
      },
    ],
    tasks,
  );
}

/** Returns lines with the number of the task as a prefix, as in `goshawk logs`. */
function logLines({ job, chunks, truncated, earlierAttempts }: Logs): Node[] {
  const lines = linesOf(chunks);
  const shown = lines.slice(-LINES);
  const notes = [
    ...(earlierAttempts
      ? [`Only last attempts are shown: \`goshawk logs ${job} --attempt all\` prints all.`]
      : []),
    ...(truncated || shown.length < lines.length
      ? [`Earlier output is not shown: \`goshawk logs ${job}\` prints what the scheduler still has.`]
      : []),
    ...(lines.length === 0 ? ['Nothing was printed.'] : []),
  ];
  return [
    ...notes.map((note) => document.createTextNode(`${note}\n`)),
    ...shown.map(({ task, stream, text }) =>
      h('span', { class: stream }, `${task}: `, ...coloured(text), '\n'),
    ),
  ];
}

/** Renders text with the colors of its escape sequences. Other sequences are dropped. */
function coloured(line: string): Node[] {
  return ansiSpans(line).map(({ text, classes }) =>
    classes === '' ? document.createTextNode(text) : h('span', { class: classes }, text),
  );
}
