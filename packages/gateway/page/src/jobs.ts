import { get } from './api.js';
import { ago, count, duration, fill, h, stateBadge, table } from './dom.js';
import type { JobList, JobSummary } from './shapes.js';
import type { Place } from './view.js';

const PAGE = 50;
const STATES = ['waiting', 'running', 'completed', 'failed', 'cancelled'] as const;

/** Jobs by what the address asks for; the cluster filters. */
export function showJobs({ root, live, query, signal }: Place): void {
  const state = query.get('state') ?? '';
  const user = query.get('user') ?? '';
  const from = Number(query.get('from') ?? 0);
  const all = query.get('all') === 'true' || from > 0;
  const address = (more: Record<string, string>): string => {
    const kept = { state, user, all: all ? 'true' : '', from: '', ...more };
    const given = Object.entries(kept).filter(([, value]) => value !== '');
    return `#/jobs${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`;
  };
  const list = h('div', {});
  const problem = h('div', { role: 'status' });
  const stateChoice = h(
    'select',
    { name: 'state', id: 'state' },
    h('option', { value: '' }, 'any'),
    h('option', { value: 'waiting,running', selected: state === 'waiting,running' }, 'active'),
    STATES.map((one) => h('option', { value: one, selected: one === state }, one)),
  );
  const userField = h('input', { name: 'user', id: 'user', value: user, autocomplete: 'off', size: 12 });
  const allBox = h('input', { type: 'checkbox', id: 'all', checked: all });
  const apply = (event: Event): void => {
    event.preventDefault();
    location.hash = address({
      state: stateChoice.value,
      user: userField.value,
      all: allBox.checked ? 'true' : '',
    });
  };
  root.append(
    h(
      'form',
      { class: 'filters', onsubmit: apply, onchange: apply },
      h('span', {}, h('label', { for: 'state' }, 'State'), stateChoice),
      h('span', {}, h('label', { for: 'user' }, 'User'), userField),
      h('span', {}, allBox, h('label', { for: 'all' }, 'all that ended')),
    ),
    problem,
    h('section', { class: 'card' }, list),
  );
  const ask = new URLSearchParams({ from: String(from), limit: String(PAGE), all: String(all) });
  if (state !== '') ask.set('state', state);
  if (user !== '') ask.set('user', user);
  live.onLook(signal, async () => {
    try {
      const { jobs, total, next, silent } = await get<JobList>(`/v1/jobs?${ask}`, signal);
      fill(
        problem,
        silent.length === 0 ? null : h('p', { class: 'error' }, `No answer from ${silent.join(', ')}.`),
      );
      const last = from + jobs.length;
      const place = jobs.length === 0 ? 'No jobs' : `${count(from + 1)} to ${count(last)} of ${count(total)}`;
      fill(
        list,
        jobs.length === 0 ? null : jobsTable(jobs),
        h(
          'nav',
          { class: 'pages', 'aria-label': 'Pages of jobs' },
          h('span', {}, place),
          from > 0
            ? h('a', { href: address({ from: from > PAGE ? String(from - PAGE) : '' }) }, 'Newer')
            : null,
          next === null ? null : h('a', { href: address({ from: String(next), all: 'true' }) }, 'Older'),
        ),
      );
    } catch (error) {
      if (!signal.aborted) fill(problem, h('p', { class: 'error' }, (error as Error).message));
    }
  });
}

function jobsTable(jobs: readonly JobSummary[]): HTMLElement {
  return table<JobSummary>(
    'Jobs',
    [
      { title: 'id', of: ({ id }) => h('a', { href: `#/jobs/${id}` }, id) },
      { title: 'name', of: ({ name }) => h('span', { class: 'clip' }, name) },
      { title: 'user', isExtra: true, of: ({ user }) => user ?? '' },
      { title: 'class', isExtra: true, of: (job) => job.class },
      { title: 'state', of: standing },
      { title: 'tasks', isNumber: true, of: ({ tasks }) => progressOf(tasks) },
      { title: 'submitted', isNumber: true, isExtra: true, of: ({ submittedAt }) => ago(submittedAt) },
      { title: 'took', isNumber: true, of: (job) => duration(tookSeconds(job)) },
    ],
    jobs,
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
