import { get, post } from './api.js';
import { behind, bytes, card, count, definitions, duration, fill, h, stateBadge, table } from './dom.js';
import { Grid, KINDS, kindOf } from './grid.js';
import type { Worker, WorkerDetail } from './shapes.js';
import { may, onScheme, type Place } from './view.js';

/** `w2` before `w10`. */
const BY_NAME = new Intl.Collator('en', { numeric: true });
/** Rows of the table behind the grid. */
const ROWS = 500;

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
  const panel: Panel = { about: h('div', { 'aria-live': 'polite' }), actions: h('div', {}) };
  let sorted: Worker[] = [];
  root.append(
    h(
      'div',
      { class: 'beside' },
      card(
        'What runs where',
        legend,
        room,
        behind('Table', () => workerTable(sorted)),
      ),
      h('section', { class: 'card panel', hidden: rest === '' }, panel.about, panel.actions),
    ),
  );
  const draw = (): void => {
    sorted = [...live.workers.values()].sort((a, b) => BY_NAME.compare(a.name, b.name));
    fill(legend, legendItems(sorted));
    grid.show(sorted, room.clientWidth, rest || undefined);
  };
  const choose = (worker: Worker | undefined): void => {
    if (worker !== undefined) location.hash = `#/workers/${encodeURIComponent(worker.name)}`;
  };
  /** Moving over the grid is no history. */
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
  live.onLook(signal, () => {
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
        { title: 'runs', of: (worker) => kindOf(worker) },
        { title: 'slots', isNumber: true, of: ({ slots }) => (slots === 0 ? 'any' : count(slots)) },
        { title: 'busy', isNumber: true, of: ({ busy }) => count(busy) },
        { title: 'queued', isNumber: true, of: ({ queued }) => count(queued) },
      ],
      workers.slice(0, ROWS),
    ),
    workers.length > ROWS ? h('p', { class: 'hint' }, `${count(workers.length - ROWS)} more`) : null,
  );
}

/** A worker, and what can be done with it. */
interface Panel {
  readonly about: HTMLElement;
  readonly actions: HTMLElement;
}

async function showPanel(place: Place, { about, actions }: Panel): Promise<void> {
  const { live, rest, signal } = place;
  const close = h('a', { href: '#/workers', class: 'close' }, 'Close');
  try {
    const worker = await get<WorkerDetail>(`/v1/workers/${encodeURIComponent(rest)}`, signal);
    fill(about, h('h2', {}, worker.name), close, details(worker));
    if (may(place, 'operate')) offer(actions, worker);
  } catch (error) {
    if (signal.aborted) return;
    const shown = [...live.workers.values()].find(({ name }) => name === rest);
    const what =
      shown?.state === 'lost' ? 'It is lost: its tasks restart on other workers.' : (error as Error).message;
    fill(
      about,
      h('h2', {}, rest),
      close,
      shown === undefined ? null : stateBadge(shown.state),
      h('p', {}, what),
    );
    actions.replaceChildren();
  }
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
    attributes,
    heardSecondsAgo,
    counters,
  } = worker;
  const rows: (readonly [string, Node | string])[] = [
    ['state', stateBadge(state)],
    ...(quarantine === null ? [] : [['why', quarantine] as const]),
    ['takes', partition === 'short' ? 'short tasks only' : 'all tasks'],
    [
      'runs',
      `${count(busy)} of ${slots === 0 ? 'any number' : count(slots)}${long === null ? '' : `, ${count(long)} long`}`,
    ],
    ['queued', count(queued)],
    ...Object.entries(resources).map(
      ([name, amount]) => [name, name === 'memory' ? bytes(amount) : count(amount)] as const,
    ),
    ...Object.entries(attributes).map(([name, value]) => [name, String(value)] as const),
    // Whole seconds of a heartbeat each second: the last one, or longer.
    ['heard', heardSecondsAgo < 3 ? 'now' : `${duration(Math.round(heardSecondsAgo))} ago`],
  ];
  return h(
    'div',
    {},
    definitions(rows),
    counters === null ? h('p', { class: 'hint' }, 'It does not respond.') : null,
  );
}

function offer(actions: HTMLElement, worker: WorkerDetail): void {
  const { name, state, busy, queued } = worker;
  const verb = state === 'active' || state === 'quarantined' ? 'drain' : 'undrain';
  if (actions.dataset.verb === `${verb} ${name}`) return;
  actions.dataset.verb = `${verb} ${name}`;
  const outcome = h('p', { role: 'alert' });
  const run = async (): Promise<void> => {
    fill(outcome);
    try {
      await post(`/v1/workers/${encodeURIComponent(name)}/${verb}`);
    } catch (error) {
      fill(outcome, h('span', { class: 'error' }, (error as Error).message));
    }
  };
  const show = (): void => {
    const words = verb === 'drain' ? 'Drain…' : 'Resume';
    const button = h(
      'button',
      { type: 'button', onclick: () => (verb === 'drain' ? ask() : void run()) },
      words,
    );
    actions.replaceChildren(button, outcome);
  };
  const ask = (): void => {
    const close = (): void => {
      show();
      actions.querySelector('button')?.focus();
    };
    const finish = busy === 0 ? 'Nothing runs there' : `${count(busy)} running will finish`;
    const moved =
      queued === 0 ? 'nothing is queued there' : `${count(queued)} queued will go to other workers`;
    const yes = h(
      'button',
      {
        type: 'button',
        class: 'danger',
        onclick: () => {
          close();
          void run();
        },
      },
      'Drain',
    );
    actions.replaceChildren(
      h(
        'div',
        {
          class: 'confirm',
          role: 'group',
          'aria-label': 'Confirmation',
          onkeydown: (event) => {
            if ((event as KeyboardEvent).key !== 'Escape') return;
            event.stopPropagation();
            close();
          },
        },
        h('span', {}, `Drain ${name}? It takes no new tasks. ${finish}; ${moved}.`),
        yes,
        h('button', { type: 'button', onclick: close }, 'Keep as it is'),
      ),
      outcome,
    );
    yes.focus();
  };
  show();
}
