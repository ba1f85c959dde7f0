import { type Action, errorText, showActions } from './actions.js';
import { get, post } from './api.js';
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
  stateBadge,
  TableBehind,
  table,
} from './dom.js';
import { Grid, KINDS, kindOf } from './grid.js';
import type { Worker, WorkerDetail } from './shapes.js';
import { may, onScheme, type Place } from './view.js';

/** Compares names of workers: `w2` precedes `w10`. */
const BY_NAME = new Intl.Collator('en', { numeric: true });
/** Maximum number of rows of the table behind the grid. */
const ROWS = 500;
/** Up to this number of workers, the table is open at first. */
const FEW = 40;

export function showWorkers(place: Place): void {
  const { root, live, signal, rest } = place;
  const grid = new Grid();
  const room = h('div', {
    class: 'grid',
    tabindex: 0,
    role: 'application',
    'aria-label': 'Grid of workers: select one with the arrow keys. The table below has the same data.',
  });
  room.append(grid.canvas);
  const legend = h('ul', { class: 'legend' });
  const panel: Panel = {
    about: h('div', { 'aria-live': 'polite' }),
    actions: h('div', { class: 'actions' }),
  };
  fill(panel.about, h('h2', {}, rest), h('p', { class: 'hint' }, 'Waiting for an answer.'));
  let sorted: Worker[] = [];
  const behind = new TableBehind(() => workerTable(sorted));
  let isFirst = true;
  root.append(
    h(
      'div',
      { class: 'beside' },
      card('Running tasks by worker', legend, room, behind.element),
      h('section', { class: 'card panel', hidden: rest === '' }, panel.about, panel.actions),
    ),
  );
  const draw = (): void => {
    sorted = [...live.workers.values()].sort((a, b) => BY_NAME.compare(a.name, b.name));
    fill(legend, legendItems(sorted));
    grid.show(sorted, room.clientWidth, rest || undefined);
    if (isFirst && sorted.length > 0) {
      isFirst = false;
      behind.element.open = sorted.length <= FEW;
    }
    behind.refresh();
  };
  const choose = (worker: Worker | undefined): void => {
    if (worker !== undefined) location.hash = `#/workers/${encodeURIComponent(worker.name)}`;
  };
  /** Selects a worker. Navigation within the grid adds no history entries. */
  const move = (worker: Worker | undefined): void => {
    if (worker !== undefined) location.replace(`#/workers/${encodeURIComponent(worker.name)}`);
  };
  grid.canvas.addEventListener('click', ({ offsetX, offsetY }) => choose(grid.at(offsetX, offsetY)));
  grid.canvas.addEventListener('pointermove', ({ offsetX, offsetY }) => {
    const worker = grid.at(offsetX, offsetY);
    grid.canvas.title =
      worker === undefined ? '' : `${worker.name}: ${kindOf(worker)}, ${count(worker.queued)} queued`;
  });
  room.addEventListener('keydown', (event) => {
    const next = grid.towards(event.key);
    if (!event.key.startsWith('Arrow')) return;
    event.preventDefault();
    move(next);
  });
  addEventListener(
    'keydown',
    ({ key }) => {
      if (key === 'Escape' && rest !== '' && panel.actions.querySelector('.confirm') === null) {
        room.focus();
        location.replace('#/workers');
      }
    },
    { signal },
  );
  const observer = new ResizeObserver(draw);
  observer.observe(room);
  onScheme(() => grid.repaint(), signal);
  live.onUpdate(signal, () => {
    draw();
    if (rest !== '') void showPanel(place, panel);
  });
  signal.addEventListener('abort', () => observer.disconnect());
}

function legendItems(workers: readonly Worker[]): HTMLElement[] {
  const counts = new Map<string, number>();
  for (const worker of workers) counts.set(kindOf(worker), (counts.get(kindOf(worker)) ?? 0) + 1);
  const shown = KINDS.filter(([kind]) => counts.has(kind));
  return [
    ...shown.map(([kind, words]) =>
      h('li', {}, h('span', { class: `key cell-${kind}` }), `${words} ${count(counts.get(kind)!)}`),
    ),
    h('li', {}, h('span', { class: 'key queue' }), 'bar: tasks queued (4 or more = full)'),
  ];
}

function workerTable(workers: readonly Worker[]): HTMLElement {
  return h(
    'div',
    {},
    table<Worker>(
      'Workers',
      [
        { title: 'name', of: ({ name }) => h('a', { href: `#/workers/${encodeURIComponent(name)}` }, name) },
        { title: 'state', of: ({ state }) => stateBadge(state) },
        { title: 'runs', isExtra: true, of: (worker) => (worker.state === 'active' ? kindOf(worker) : '–') },
        // A worker that was lost before the gateway started has unknown CPUs.
        {
          title: 'CPUs',
          isNumber: true,
          of: ({ slots, state }) => (slots === 0 && state === 'lost' ? '–' : count(slots)),
        },
        { title: 'tasks', isNumber: true, of: ({ busy }) => count(busy) },
        { title: 'queued', isNumber: true, of: ({ queued }) => count(queued) },
      ],
      workers.slice(0, ROWS),
    ),
    workers.length > ROWS ? h('p', { class: 'hint' }, `${count(workers.length - ROWS)} more`) : null,
  );
}

/** Details of a worker, and its actions. */
interface Panel {
  readonly about: HTMLElement;
  readonly actions: HTMLElement;
}

async function showPanel(place: Place, { about, actions }: Panel): Promise<void> {
  const { live, rest, signal } = place;
  const close = h('a', { href: '#/workers', class: 'close' }, 'Close');
  try {
    const worker = await get<WorkerDetail>(`/v1/workers/${encodeURIComponent(rest)}`, signal);
    fill(
      about,
      h('h2', {}, worker.name),
      close,
      worker.lost === null ? details(worker) : lossOf(worker, worker.lost),
    );
    if (worker.lost !== null) actions.replaceChildren();
    else if (may(place, 'operate')) showActions(actions, actionsOf(worker));
  } catch (error) {
    if (signal.aborted) return;
    const shown = [...live.workers.values()].find(({ name }) => name === rest);
    fill(
      about,
      h('h2', {}, rest),
      close,
      shown === undefined ? null : stateBadge(shown.state),
      h('p', {}, errorText(error)),
    );
    actions.replaceChildren();
  }
}

/** Shows when and why a worker was lost. */
function lossOf(
  worker: WorkerDetail,
  { at, cause, running }: NonNullable<WorkerDetail['lost']>,
): HTMLElement {
  return h(
    'div',
    {},
    definitions([
      ['state', stateBadge('lost')],
      ['lost', `${clock(at)}, ${ago(at)}`],
      ['cause', cause ?? 'unknown: central did not report it'],
      [
        'tasks',
        running === null
          ? 'its tasks restart on other workers'
          : running === 0
            ? 'none ran on it'
            : `${counted(running, 'task')} ran on it, and restart${running === 1 ? 's' : ''} on other workers`,
      ],
      ...attributeRows(worker),
    ]),
    historyOf(worker),
  );
}

function attributeRows({ attributes }: WorkerDetail): (readonly [string, string])[] {
  return Object.entries(attributes).map(([name, value]) => [name, String(value)] as const);
}

function details(worker: WorkerDetail): HTMLElement {
  const {
    state,
    quarantine,
    partition,
    slots,
    busy,
    long,
    queued,
    resources,
    used,
    heardSecondsAgo,
    counters,
  } = worker;
  const rows: (readonly [string, Node | string])[] = [
    ['state', stateBadge(state)],
    ...(quarantine === null ? [] : [['why', quarantine] as const]),
    ['takes', partition === 'short' ? 'short tasks only' : 'all tasks'],
    [
      'runs',
      `${counted(busy, 'task')} on ${counted(slots, 'CPU')}${long === null ? '' : `, ${count(long)} long`}`,
    ],
    ['queued', count(queued)],
    ['in use', usedWords(used)],
    ...Object.entries(resources).map(
      ([name, amount]) => [name, name === 'memory' ? bytes(amount) : count(amount)] as const,
    ),
    ...attributeRows(worker),
    // Heartbeats arrive every second, so an age below three seconds is current.
    ['last heartbeat', heardSecondsAgo < 3 ? 'now' : `${duration(Math.round(heardSecondsAgo))} ago`],
  ];
  return h(
    'div',
    {},
    definitions(rows),
    runningHere(worker),
    historyOf(worker),
    counters === null
      ? h('p', { class: 'hint' }, 'Its counters are unknown: it does not answer this page.')
      : null,
  );
}

function usedWords(used: WorkerDetail['used']): string {
  return used === null ? 'unknown' : `${count(used.cpu ?? 0)} CPU, ${bytes(used.memory ?? 0)}`;
}

/** Shows the resource use of one task, which only its worker can measure. */
export function usedByTask(used: WorkerDetail['used']): HTMLElement {
  return h('span', used === null ? { title: UNKNOWN_USED } : {}, usedWords(used));
}

const UNKNOWN_USED = 'Not measured yet, or the worker does not answer this page: with keys, no worker does.';

/** Shows the running tasks in the sample, and the resources that they request. */
function runningHere({ tasks, busy, resources }: WorkerDetail): HTMLElement {
  const requested = new Map<string, number>();
  // A task without a request takes one CPU.
  for (const { demand } of tasks)
    for (const [name, amount] of Object.entries({ cpu: 1, ...demand }))
      requested.set(name, (requested.get(name) ?? 0) + amount);
  const words = [...requested].map(([name, amount]) => {
    const all = resources[name];
    const show = (value: number) => (name === 'memory' ? bytes(value) : count(value));
    return `${show(amount)}${all === undefined ? '' : ` of ${show(all)}`} ${name}`;
  });
  const unseen = Math.max(0, busy - tasks.length);
  return h(
    'div',
    {},
    h('h3', {}, 'Running here'),
    tasks.length === 0
      ? null
      : h(
          'ul',
          { class: 'plain' },
          tasks.map(({ job, name, task, startedAt, user, used }) =>
            h(
              'li',
              {},
              h('a', { href: `#/jobs/${encodeURIComponent(job)}` }, `${name} (${job})`),
              ` task ${task}${user === null ? '' : `, ${user}`}, started ${ago(startedAt)}; in use: `,
              usedByTask(used),
            ),
          ),
        ),
    words.length === 0 ? null : h('p', { class: 'hint' }, `Requested: ${words.join(', ')}.`),
    unseen > 0
      ? h('p', { class: 'hint' }, `${counted(unseen, 'more task')} of jobs outside the sample.`)
      : tasks.length === 0
        ? h('p', { class: 'hint' }, 'Nothing runs here.')
        : null,
  );
}

const EVENT_WORDS: Partial<Record<WorkerDetail['events'][number]['state'], string>> = {
  seen: 'first seen by this page',
  joined: 'joined',
  active: 'active again',
};

function historyOf({ events }: WorkerDetail): HTMLElement {
  return h(
    'div',
    {},
    h('h3', {}, 'History'),
    h(
      'ul',
      { class: 'plain' },
      events
        .toReversed()
        .map(({ at, state, cause }) =>
          h('li', {}, `${clock(at)} ${EVENT_WORDS[state] ?? state}${cause === null ? '' : `: ${cause}`}`),
        ),
    ),
  );
}

/** Time in seconds until running tasks are stopped, if a worker is drained with a deadline. */
const DEADLINE_SECONDS = 600;
const DEADLINE = counted(DEADLINE_SECONDS / 60, 'minute');

function actionsOf({ name, state, busy, queued, tasks }: WorkerDetail): Action[] {
  const to = (verb: string, body?: unknown) => () =>
    post(`/v1/workers/${encodeURIComponent(name)}/${verb}`, body);
  if (state !== 'active' && state !== 'quarantined') return [{ words: 'Resume', run: to('undrain') }];
  const startedAt = tasks.map((task) => Date.parse(task.startedAt));
  const longest =
    startedAt.length === 0
      ? ''
      : ` (the longest has run ${duration(Math.max(0, Date.now() - Math.min(...startedAt)) / 1_000)})`;
  const finish = busy === 0 ? 'Nothing runs there' : `${counted(busy, 'task')} running${longest}`;
  const moved = queued === 0 ? 'nothing is queued there' : `${count(queued)} queued will go to other workers`;
  return [
    {
      words: 'Drain…',
      run: to('drain'),
      confirm: `Drain ${name}? It accepts no new tasks. ${finish}${busy === 0 ? '' : ' may finish'}; ${moved}.`,
    },
    ...(busy === 0
      ? []
      : [
          {
            words: `Drain within ${DEADLINE}…`,
            run: to('drain', { deadlineSeconds: DEADLINE_SECONDS }),
            confirm:
              `Drain ${name}? It accepts no new tasks. ${finish}: tasks that still run after ` +
              `${DEADLINE} restart from the beginning on other workers; ${moved}.`,
          },
        ]),
  ];
}
