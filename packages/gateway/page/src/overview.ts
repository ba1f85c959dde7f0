import { CHARTS, Chart } from './charts.js';
import { count, counted, duration, fill, h, renderBackticks } from './dom.js';
import type { Overview, WaitingRow } from './shapes.js';
import { StreamView } from './stream.js';
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
      { class: 'front' },
      h(
        'div',
        { class: 'side' },
        h('section', { class: 'card needs' }, h('h2', {}, 'Needs attention'), attention),
        h('section', { class: 'card waits' }, h('h2', {}, 'Waiting, by reason'), waiting),
      ),
      new StreamView(live, signal).element,
      h(
        'div',
        { class: 'charts' },
        charts.map(({ element }) => element),
      ),
    ),
  );
  live.onUpdate(signal, () => {
    const { overview, points } = live;
    if (overview === undefined) return;
    fill(numbers, tiles(overview));
    fill(attention, attentionList(overview));
    fill(waiting, waitingList(overview));
    for (const chart of charts) chart.show(points);
  });
}

const UNKNOWN = 'unknown';

function tiles(overview: Overview): HTMLElement[] {
  const {
    workers,
    slots,
    busy,
    free,
    queued,
    schedulers,
    jobs,
    waiting,
    policy,
    failedJobs,
    lastSeen,
    reachable,
  } = overview;
  const all = Object.values(workers).reduce((sum, each) => sum + each, 0);
  const tasks = waiting?.reduce((sum, each) => sum + each.tasks, 0);
  const { silent } = overview;
  /** Marks a number in which the jobs of silent schedulers are missing. */
  const least = (value: number): string => `${silent.length > 0 ? 'at least ' : ''}${count(value)}`;
  const missing =
    silent.length === 0
      ? ''
      : `, without ${counted(silent.length, 'scheduler')} that ${silent.length === 1 ? 'does' : 'do'} not answer`;
  const out = (['draining', 'drained', 'quarantined', 'lost'] as const).filter((state) => workers[state] > 0);
  const when = lastSeen === null ? 'central has not answered yet' : `${duration(lastSeen.secondsAgo)} ago`;
  /** Renders the last known value with its age. */
  const was = (words: (last: NonNullable<Overview['lastSeen']>) => string): string =>
    lastSeen === null ? when : `${words(lastSeen)}, ${when}`;
  const tile = (label: string, value: string, more: string, href?: string) =>
    h(
      'div',
      { class: value === UNKNOWN ? 'tile unknown' : 'tile' },
      h('span', { class: 'label' }, href === undefined ? label : h('a', { href }, label)),
      h('strong', {}, value),
      h('span', { class: 'more' }, more),
    );
  const failed = failedJobs === null || failedJobs === 0 ? '' : `, ${count(failedJobs)} failed in 1 h`;
  const { attention } = overview;
  const errors = attention.filter(({ level }) => level === 'error').length;
  const warnings = attention.length - errors;
  const kinds = [
    ...(errors > 0 ? [counted(errors, 'error')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ];
  return [
    h(
      'div',
      { class: attention.length === 0 ? 'tile' : errors > 0 ? 'tile bad' : 'tile warn' },
      h('span', { class: 'label' }, 'Needs attention'),
      h('strong', {}, attention.length === 0 ? 'nothing' : count(attention.length)),
      h('span', { class: 'more' }, kinds.join(', ')),
    ),
    slots === null || busy === null
      ? tile(
          'Tasks running',
          UNKNOWN,
          was((last) => `${count(last.busy)} on ${counted(last.slots, 'CPU')}`),
        )
      : tile(
          'Tasks running',
          count(busy),
          `on ${counted(slots, 'CPU')}${free === null ? '' : `, ${count(free)} free`}`,
        ),
    tile(
      'Tasks waiting',
      tasks === undefined ? UNKNOWN : least(tasks),
      `${queued === null ? 'no answer about queues' : `${count(queued)} in worker queues`}${missing}`,
    ),
    jobs === null
      ? tile(
          'Active jobs',
          UNKNOWN,
          was((last) => count(last.jobs)),
          '#/jobs',
        )
      : tile('Active jobs', least(jobs), `waiting or running${failed}${missing}`, '#/jobs'),
    reachable
      ? tile(
          'Workers',
          count(all - workers.lost),
          out.length === 0
            ? 'all active'
            : out.map((state) => `${count(workers[state])} ${state}`).join(', '),
          '#/workers',
        )
      : tile(
          'Workers',
          UNKNOWN,
          was(() => count(all - workers.lost)),
          '#/workers',
        ),
    tile(
      'Policy',
      policy ?? UNKNOWN,
      schedulers === null
        ? was((last) => counted(last.schedulers, 'scheduler'))
        : counted(schedulers, 'scheduler'),
      '#/policy',
    ),
  ];
}

function attentionList({ attention }: Overview): HTMLElement {
  if (attention.length === 0) return h('p', { class: 'well' }, 'Nothing needs attention.');
  return h(
    'ul',
    { class: 'attention' },
    attention.map(({ level, what, hint, link }) =>
      h(
        'li',
        { class: level },
        link === null ? h('strong', {}, what) : h('a', { href: link }, what),
        hint === '' ? null : h('span', { class: 'hint' }, renderBackticks(hint)),
      ),
    ),
  );
}

/** Display texts of reasons. The tooltip has the term of the API. */
const REASON_WORDS: Readonly<Record<WaitingRow['reason'], string>> = {
  stage: 'earlier stage',
  'job-limit': 'limit of the job',
  'no-worker': 'no worker',
  drained: 'workers drained',
  'central-away': 'no answer from central',
  pilots: 'pilots running',
  placing: 'being placed',
  queued: 'in worker queues',
  probing: 'probes queued',
  matching: 'free slot',
  resources: 'free slot with room',
  seeking: 'free slot',
  'back-off': 'retry back-off',
  'other-job': 'another job',
  required: 'no worker matches',
  begin: 'begins later',
  held: 'on hold',
  resuming: 'scheduler restarts',
  reserve: 'reserved for short tasks',
  reserved: 'reserved for another job',
  'user-limit': 'limit of the user',
};

function waitingList({ waiting: groups, silent }: Overview): HTMLElement {
  if (groups === null) return h('p', { class: 'hint' }, 'Unknown: no scheduler answers.');
  const missing =
    silent.length === 0 ? null : h('p', { class: 'hint' }, `Not listed: tasks of ${silent.join(', ')}.`);
  if (groups.length === 0) return missing ?? h('p', { class: 'well' }, 'No task is waiting.');
  const most = Math.max(...groups.map(({ tasks }) => tasks));
  const list = h(
    'ul',
    { class: 'waiting' },
    groups.map(({ class: of, reason, tasks, why, helps, example, exampleAgeSeconds }) => {
      const bar = h('span', { class: `bar ${of}` });
      bar.style.width = `${(100 * tasks) / most}%`;
      return h(
        'li',
        {},
        h(
          'div',
          { class: 'line' },
          h('strong', { title: reason }, REASON_WORDS[reason]),
          ` ${counted(tasks, 'task')} of ${of} jobs`,
        ),
        h('div', { class: 'track', 'aria-hidden': 'true' }, bar),
        h(
          'div',
          { class: 'hint' },
          renderBackticks(why),
          '; longest ',
          h('a', { href: `#/jobs/${example}` }, example),
          `, accepted ${duration(exampleAgeSeconds)} ago. Helps: `,
          renderBackticks(`${helps}.`),
        ),
      );
    }),
  );
  return h('div', {}, missing, list);
}
