import { CHARTS, Chart } from './charts.js';
import { card, count, counted, duration, fill, h, percent, ticked } from './dom.js';
import type { Overview, WaitingRow } from './shapes.js';
import type { Place } from './view.js';

export function showOverview({ root, live, signal }: Place): void {
  const numbers = h('div', { class: 'numbers' });
  const attention = h('div', {});
  const waiting = h('div', {});
  const charts = CHARTS.map((spec) => new Chart(spec, signal));
  root.append(
    numbers,
    h(
      'div',
      { class: 'columns' },
      card('What needs a person', attention),
      card('Waiting, by reason', waiting),
    ),
    h(
      'div',
      { class: 'charts' },
      charts.map(({ element }) => element),
    ),
  );
  live.onLook(signal, () => {
    const { overview, points } = live;
    if (overview === undefined) return;
    fill(numbers, tiles(overview));
    fill(attention, attentionList(overview));
    fill(waiting, waitingList(overview.waiting));
    for (const chart of charts) chart.show(points);
  });
}

function tiles({ workers, slots, busy, queued, schedulers, jobs, waiting, policy }: Overview): HTMLElement[] {
  const all = Object.values(workers).reduce((sum, each) => sum + each, 0);
  const tasks = waiting.reduce((sum, each) => sum + each.tasks, 0);
  const out = (['draining', 'drained', 'quarantined', 'lost'] as const).filter((state) => workers[state] > 0);
  const tile = (label: string, value: string, more: string, href?: string) =>
    h(
      'div',
      { class: 'tile' },
      h('span', { class: 'label' }, href === undefined ? label : h('a', { href }, label)),
      h('strong', {}, value),
      h('span', { class: 'more' }, more),
    );
  return [
    tile('Slots busy', slots > 0 ? percent(busy / slots) : count(busy), `${count(busy)} of ${count(slots)}`),
    tile('Tasks waiting', count(tasks), `${count(queued)} in queues of workers`),
    tile('Jobs', count(jobs), 'that have not ended', '#/jobs'),
    tile(
      'Workers',
      count(all - workers.lost),
      out.length === 0 ? 'all take work' : out.map((state) => `${count(workers[state])} ${state}`).join(', '),
      '#/workers',
    ),
    tile('Policy', policy ?? '–', counted(schedulers, 'scheduler'), '#/policy'),
  ];
}

function attentionList({ attention }: Overview): HTMLElement {
  if (attention.length === 0) return h('p', { class: 'well' }, 'Nothing: the cluster is well.');
  return h(
    'ul',
    { class: 'attention' },
    attention.map(({ level, what, hint, link }) =>
      h(
        'li',
        { class: level },
        link === null ? h('strong', {}, what) : h('a', { href: link }, what),
        hint === '' ? null : h('span', { class: 'hint' }, ticked(hint)),
      ),
    ),
  );
}

function waitingList(groups: readonly WaitingRow[]): HTMLElement {
  if (groups.length === 0) return h('p', { class: 'well' }, 'No task waits.');
  const most = Math.max(...groups.map(({ tasks }) => tasks));
  return h(
    'ul',
    { class: 'waiting' },
    groups.map(({ class: of, reason, tasks, why, helps, example, exampleAgeSeconds }) => {
      const bar = h('span', { class: `bar ${of}` });
      bar.style.width = `${(100 * tasks) / most}%`;
      return h(
        'li',
        {},
        h('div', { class: 'line' }, h('strong', {}, reason), ` ${counted(tasks, 'task')} of ${of} jobs`),
        h('div', { class: 'track', 'aria-hidden': 'true' }, bar),
        h(
          'div',
          { class: 'hint' },
          `${why}; longest `,
          h('a', { href: `#/jobs/${example}` }, example),
          `, accepted ${duration(exampleAgeSeconds)} ago. Helps: `,
          ticked(`${helps}.`),
        ),
      );
    }),
  );
}
