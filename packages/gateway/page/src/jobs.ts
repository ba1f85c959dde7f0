import { type Action, showActions, showError } from './actions.js';
import { get, post } from './api.js';
import { ago, clock, count, counted, duration, fill, h, stateBadge, table } from './dom.js';
import type { Bulk, JobList, JobSummary } from './shapes.js';
import { may, type Place } from './view.js';

const PAGE = 50;
const TABS = ['', 'waiting', 'running', 'completed', 'failed', 'cancelled'] as const;
/** Matches the id of a job in an address. */
const ID = /^[a-z0-9]+-\d+$/;

type Sort = 'submitted' | 'name' | 'user' | 'state' | 'tasks' | 'took';
const SORTS: Readonly<Record<Sort, (job: JobSummary) => string | number>> = {
  submitted: ({ submittedAt }) => -Date.parse(submittedAt),
  name: ({ name }) => name,
  user: ({ user }) => user ?? '',
  state: ({ state }) => state,
  tasks: ({ tasks }) => -tasks.total,
  took: (job) => -(tookSeconds(job) ?? Number.POSITIVE_INFINITY),
};

/** Shows the jobs that match the query in the address. The cluster filters them. */
export function showJobs(place: Place): void {
  const { root, live, query, signal } = place;
  const q = query.get('q') ?? '';
  const after = query.get('after') ?? '';
  const sort = query.get('sort') ?? '';
  const tab = /(?:^| )state:(\S+)/.exec(q)?.[1] ?? '';
  const rest = q.replace(/(^| )state:\S+/, '').trim();
  const address = (more: Record<string, string>): string => {
    const given = Object.entries({ q, sort, after: '', ...more }).filter(([, value]) => value !== '');
    return `#/jobs${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`;
  };
  const withState = (state: string) => `${state === '' ? '' : `state:${state} `}${rest}`.trim();
  const list = h('div', {});
  const actions = h('div', { class: 'actions', 'aria-label': 'Actions on jobs' });
  const chosen = new Set<string>();
  let matching = 0;
  const tabs = h('nav', { class: 'tabs', 'aria-label': 'States' });
  const problem = h('div', { role: 'status' });
  const field = h('input', {
    id: 'q',
    type: 'search',
    value: q,
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'name:etl* user:ann state:failed since:1h, or an id',
    'aria-label': 'Query of jobs',
  });
  root.append(
    h(
      'form',
      {
        class: 'filters query',
        role: 'search',
        onsubmit: (event) => {
          event.preventDefault();
          const text = field.value.trim();
          location.hash = ID.test(text) ? `#/jobs/${text}` : address({ q: text });
        },
      },
      field,
      h('button', { type: 'submit' }, 'Find'),
      h('span', { class: 'hint' }, h('kbd', {}, 'Ctrl K')),
      may(place, 'submit') ? h('a', { href: '#/submit' }, 'Submit a job') : null,
    ),
    tabs,
    problem,
    h('section', { class: 'card wide' }, actions, list),
  );
  const bulkBody = () => (chosen.size > 0 ? { ids: [...chosen] } : { q });
  const offerBulk = (): void => {
    if (!may(place, 'submit')) return;
    const which = chosen.size > 0 ? `${count(chosen.size)} selected` : `all ${count(matching)} that match`;
    const all = (['cancel', 'retry', 'hold', 'release'] as const).map((action): Action => {
      // The action applies to the jobs that the user confirmed, even if others match or are selected meanwhile.
      let found: Bulk | undefined;
      return {
        words: `${action[0]!.toUpperCase()}${action.slice(1)} ${which}…`,
        confirm: async () => {
          found = await post<Bulk>('/v1/jobs/bulk', { action, dryRun: true, ...bulkBody() });
          return bulkQuestion(found);
        },
        run: async () => {
          const { ids = [] } = found ?? {};
          return ids.length === 0 ? found : post<Bulk>('/v1/jobs/bulk', { action, ids });
        },
      };
    });
    // Without a query or a selection, a click could change all jobs of the cluster.
    const isOffered = matching > 0 && (chosen.size > 0 || q !== '');
    showActions(actions, isOffered ? all : [], (result) => {
      fill(bulkOutcome, bulkAnswer(result as Bulk));
    });
  };
  const bulkOutcome = h('div', { role: 'status' });
  actions.after(bulkOutcome);
  list.addEventListener('change', ({ target }) => {
    const box = target as HTMLInputElement;
    if (box.name !== 'job') return;
    if (box.checked) chosen.add(box.value);
    else chosen.delete(box.value);
    offerBulk();
  });
  const ask = new URLSearchParams({ limit: String(PAGE), all: 'true' });
  if (q !== '') ask.set('q', q);
  if (after !== '') ask.set('after', after);
  live.onUpdate(signal, async () => {
    try {
      const { jobs, total, counts, cursor, silent } = await get<JobList>(`/v1/jobs?${ask}`, signal);
      fill(
        problem,
        silent.length === 0
          ? null
          : h('p', { class: 'error' }, `No answer from ${silent.join(', ')}: its jobs are not listed.`),
      );
      fill(
        tabs,
        TABS.map((state) =>
          h(
            'a',
            { href: address({ q: withState(state) }), 'aria-current': state === tab ? 'page' : undefined },
            `${state === '' ? 'all' : state} `,
            h('span', {}, count(state === '' ? counts.total : counts[state])),
          ),
        ),
      );
      const listed = `${counted(jobs.length, 'job')} of ${count(total)}${after === '' ? '' : ', further down the list'}`;
      matching = total;
      const key = Object.hasOwn(SORTS, sort) ? SORTS[sort as Sort] : undefined;
      const sorted = key === undefined ? jobs : jobs.toSorted((a, b) => compare(key(a), key(b)));
      fill(
        list,
        jobs.length === 0
          ? null
          : jobsTable(
              sorted,
              (by) => address({ sort: by === sort ? '' : by, after }),
              sort,
              may(place, 'submit') ? chosen : undefined,
            ),
        h(
          'nav',
          { class: 'pages', 'aria-label': 'Pages of jobs' },
          h('span', {}, jobs.length > 0 ? listed : q === '' ? 'There are no jobs.' : 'No jobs match.'),
          after === '' ? null : h('a', { href: address({}) }, 'Back to the first page'),
          cursor === null ? null : h('a', { href: address({ after: cursor }) }, 'Next page'),
        ),
      );
      for (const box of list.querySelectorAll<HTMLInputElement>('input[name=job]'))
        box.checked = chosen.has(box.value);
      offerBulk();
    } catch (error) {
      showError(problem, error, signal);
    }
  });
}

function compare(one: string | number, other: string | number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Describes a bulk action from the cluster's dry run. */
function bulkQuestion({ action, matched, jobs, tasks, truncated }: Bulk): string {
  const others = matched - jobs;
  const rest = others > 0 ? ` It does not apply to ${count(others)} of the ${count(matched)}.` : '';
  const cut = truncated ? ' More match than one request may change.' : '';
  if (jobs === 0) return `This changes no job.${rest}`;
  const what = {
    cancel: `Cancel ${counted(jobs, 'job')}? ${counted(tasks.waiting, 'waiting task')} will not start, and ${counted(tasks.running, 'running task')} will be killed.`,
    retry: `Run ${counted(tasks.again, 'failed or cancelled task')} of ${counted(jobs, 'job')} again?`,
    hold: `Hold ${counted(jobs, 'job')}? ${counted(tasks.waiting, 'waiting task')} will not start until released; running ones continue.`,
    release: `Release ${counted(jobs, 'job')}? ${counted(tasks.waiting, 'task')} may start.`,
  };
  return `${what[action]}${rest}${cut}`;
}

function bulkAnswer({ action, jobs, failed, errors, silent }: Bulk): Node[] {
  const done = { cancel: 'cancelled', retry: 'retried', hold: 'held', release: 'released' }[action];
  return [
    h('p', {}, `${counted(jobs - failed, 'job')} ${done}${failed > 0 ? `, ${count(failed)} refused:` : '.'}`),
    ...errors.map(({ job, message }) => h('p', { class: 'error' }, `${job}: ${message}`)),
    ...silent.map((name) => h('p', { class: 'error' }, `No answer from ${name}: its jobs are unchanged.`)),
  ];
}

/**
 * @param sortedBy returns the address of this page in another order
 * @param chosen ids of selected jobs; undefined: jobs cannot be selected
 */
function jobsTable(
  jobs: readonly JobSummary[],
  sortedBy: (by: Sort) => string,
  sort: string,
  chosen: ReadonlySet<string> | undefined,
): HTMLElement {
  const head = (title: string, by: Sort) =>
    h(
      'a',
      { class: 'sort', href: sortedBy(by), title: `sort this page by ${title}` },
      `${title}${by === sort ? ' ↓' : ''}`,
    );
  return table<JobSummary>(
    'Jobs',
    [
      ...(chosen === undefined
        ? []
        : [
            {
              title: h('span', { class: 'hidden' }, 'select'),
              isExtra: true,
              of: ({ id }: JobSummary) =>
                h(
                  'label',
                  { class: 'select' },
                  h('input', { type: 'checkbox', name: 'job', value: id, 'aria-label': `Select ${id}` }),
                ),
            },
          ]),
      { title: 'id', of: ({ id }) => h('a', { href: `#/jobs/${id}` }, id) },
      { title: head('name', 'name'), of: ({ name }) => h('span', { class: 'clip', title: name }, name) },
      {
        title: head('user', 'user'),
        isExtra: true,
        of: ({ user }) => h('span', { class: 'clip', title: user ?? '' }, user ?? ''),
      },
      { title: 'class', isExtra: true, of: (job) => job.class },
      { title: head('state', 'state'), of: standing },
      { title: head('tasks', 'tasks'), isNumber: true, of: ({ tasks }) => progressOf(tasks) },
      {
        title: head('submitted', 'submitted'),
        isNumber: true,
        isExtra: true,
        of: ({ submittedAt }) => ago(submittedAt),
      },
      { title: head('took', 'took'), isNumber: true, isExtra: true, of: (job) => duration(tookSeconds(job)) },
    ],
    jobs,
    ({ id }) => `#/jobs/${id}`,
  );
}

function progressOf({ total, completed, failed }: JobSummary['tasks']): string {
  const bad = failed > 0 ? `, ${count(failed)} failed` : '';
  return `${count(completed)} / ${count(total)}${bad}`;
}

/** Shows the state of a job, and the hold or begin time that delays the job. */
export function standing({ state, held, beginAt }: JobSummary): HTMLElement {
  const why = held ? 'held' : beginAt === null ? '' : `begins ${clock(beginAt)}`;
  return h('span', {}, stateBadge(state), why === '' ? null : [' ', h('span', { class: 'badge held' }, why)]);
}

export function tookSeconds({ submittedAt, endedAt }: JobSummary): number | null {
  return endedAt === null ? null : (Date.parse(endedAt) - Date.parse(submittedAt)) / 1_000;
}
