import { type ApiError, get } from './api.js';
import { ago, count, counted, duration, fill, h, stateBadge, table, ticked } from './dom.js';
import type { JobList, JobSummary } from './shapes.js';
import type { Place } from './view.js';

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

/** Jobs by what the address asks for; the cluster filters. */
export function showJobs({ root, live, query, signal }: Place): void {
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
    ),
    tabs,
    problem,
    h('section', { class: 'card' }, list),
  );
  const ask = new URLSearchParams({ limit: String(PAGE), all: 'true' });
  if (q !== '') ask.set('q', q);
  if (after !== '') ask.set('after', after);
  live.onLook(signal, async () => {
    try {
      const { jobs, total, counts, cursor, silent } = await get<JobList>(`/v1/jobs?${ask}`, signal);
      fill(
        problem,
        silent.length === 0
          ? null
          : h('p', { class: 'error' }, `No answer from ${silent.join(', ')}: its jobs are missing here.`),
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
      const place = `${counted(jobs.length, 'job')} of ${count(total)}${after === '' ? '' : ', further down the list'}`;
      const key = Object.hasOwn(SORTS, sort) ? SORTS[sort as Sort] : undefined;
      const sorted = key === undefined ? jobs : jobs.toSorted((a, b) => compare(key(a), key(b)));
      fill(
        list,
        jobs.length === 0
          ? null
          : jobsTable(sorted, (by) => address({ sort: by === sort ? '' : by, after }), sort),
        h(
          'nav',
          { class: 'pages', 'aria-label': 'Pages of jobs' },
          h('span', {}, jobs.length === 0 ? 'No jobs match.' : place),
          after === '' ? null : h('a', { href: address({}) }, 'Back to the first page'),
          cursor === null ? null : h('a', { href: address({ after: cursor }) }, 'Next page'),
        ),
      );
    } catch (error) {
      if (signal.aborted) return;
      const { message, hint } = error as ApiError;
      fill(problem, h('p', { class: 'error' }, message, hint ? [': ', ticked(hint)] : null));
    }
  });
}

function compare(one: string | number, other: string | number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** @param sortedBy the address of this page in another order */
function jobsTable(jobs: readonly JobSummary[], sortedBy: (by: Sort) => string, sort: string): HTMLElement {
  const head = (title: string, by: Sort) =>
    h(
      'a',
      { class: 'sort', href: sortedBy(by), title: `sort this page by ${title}` },
      `${title}${by === sort ? ' ↓' : ''}`,
    );
  return table<JobSummary>(
    'Jobs',
    [
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

/** The state of a job, and that its user keeps it from starting. */
export function standing({ state, held, beginAt }: JobSummary): HTMLElement {
  const why = held ? 'held' : beginAt === null ? '' : `begins ${new Date(beginAt).toLocaleString()}`;
  return h('span', {}, stateBadge(state), why === '' ? null : [' ', h('span', { class: 'badge held' }, why)]);
}

export function tookSeconds({ submittedAt, endedAt }: JobSummary): number | null {
  return endedAt === null ? null : (Date.parse(endedAt) - Date.parse(submittedAt)) / 1_000;
}
