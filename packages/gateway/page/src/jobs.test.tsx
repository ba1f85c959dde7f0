import { expect, it } from 'vitest';
import { ApiError } from './api.js';
import {
  addressFound,
  BulkOutcome,
  bulkActions,
  bulkQuestion,
  Deadline,
  expectedEndWords,
  JobStateBadge,
  JobsTable,
  Ran,
  sortJobs,
  Tabs,
  withState,
} from './jobs.js';
import { ago, html, NOW, summary, text } from './page.fixture.js';
import type { Bulk } from './shapes.js';

const table = (more: Partial<Parameters<typeof JobsTable>[0]> = {}) => (
  <JobsTable
    jobs={[summary()]}
    sort=""
    sortedBy={(by) => `#/jobs?sort=${by}`}
    choose={() => {}}
    chooseAll={() => {}}
    {...more}
  />
);

it('shows how long a running job has run, from its first start, and since when it has ended', () => {
  expect(text(<Ran job={summary()} />)).toBe('1 min 20 s so far');
  expect(text(<Ran job={summary({ endedAt: ago(20) })} />)).toBe('1 min 0 s');
  expect(text(<Ran job={summary({ startedAt: null })} />)).toBe('–');
  expect(text(table({ jobs: [summary({ endedAt: ago(20), state: 'completed' })] }))).toContain('20 s ago');
});

it('sorts in both directions, and shows which', () => {
  const jobs = [
    summary({ id: 'a', name: 'b' }),
    summary({ id: 'b', name: 'a' }),
    summary({ id: 'c', name: 'c' }),
  ];
  const ids = (sort: string) => sortJobs(jobs, sort, NOW).map(({ id }) => id);
  expect([ids('name'), ids('-name'), ids(''), ids('nonsense')]).toEqual([
    ['b', 'a', 'c'],
    ['c', 'a', 'b'],
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
  ]);
  expect(html(table({ sort: 'name' }))).toMatch(
    /aria-sort="descending"><a class="sort" href="#\/jobs\?sort=-name"/,
  );
  expect(html(table({ sort: '-name' }))).toMatch(
    /aria-sort="ascending"><a class="sort" href="#\/jobs\?sort="/,
  );
});

it('shows a column of deadlines only if a job has one, and marks a missed one', () => {
  expect(text(table())).not.toContain('deadline');
  expect(text(table({ jobs: [summary({ deadlineAt: ago(5) })] }))).toMatch(/deadline .* missed$/);
  expect(
    text(<Deadline job={summary({ deadlineAt: ago(5), deadlineMet: true, state: 'completed' })} />),
  ).toBe('met');
  const ends = (at: number, latest: number) =>
    summary({
      deadlineAt: ago(-60),
      expectedEnd: { at: ago(at), earliest: ago(at), latest: ago(latest), computedAt: ago(1) },
    });
  expect(text(<Deadline job={ends(-90, -95)} />)).toMatch(/ probably missed$/);
  expect(text(<Deadline job={ends(-50, -70)} />)).toMatch(/ at risk$/);
  expect(text(<Deadline job={ends(-40, -50)} />)).not.toMatch(/missed|risk/);
  expect(text(<Deadline job={summary({ deadlineAt: ago(-60) })} />)).toMatch(/^\d\d:\d\d:\d\d$|-/);
});

it('shows when a job is expected to end, if the cluster computes it', () => {
  expect(expectedEndWords(summary())).toBeUndefined();
  const expectedEnd = { at: ago(-60), earliest: ago(-50), latest: ago(-90), computedAt: ago(1) };
  expect(text(table({ jobs: [{ ...summary(), expectedEnd } as never] }))).toMatch(
    /\d\d:\d\d:\d\d \(.* to .*\)/,
  );
});

it('the name of a user is never markup', () => {
  expect(html(table({ jobs: [summary({ name: '<img src=x>', user: '"><script>' })] }))).not.toMatch(
    /<img|<script/,
  );
});

it('selects rows only for users who may change jobs', () => {
  expect(html(table())).not.toContain('checkbox');
  const chosen = html(table({ chosen: new Set(['a-1']) }));
  expect(chosen).toMatch(/checked[^>]*aria-label="Select a-1"|aria-label="Select a-1"[^>]*checked/);
  expect(chosen).toContain('Select all on this page');
});

it('shows why a waiting job does not start', () => {
  expect(text(<JobStateBadge job={summary({ state: 'waiting', held: true })} />)).toBe('waiting held');
  expect(text(<JobStateBadge job={summary({ state: 'waiting', beginAt: ago(-60) })} />)).toMatch(
    /^waiting begins \d/,
  );
});

it('counts jobs by state, and links to each state with the rest of the query', () => {
  const counts = { total: 9, waiting: 1, running: 2, completed: 3, failed: 2, cancelled: 1 };
  const shown = html(
    <Tabs counts={counts} tab="failed" address={(state) => `#${withState('state:running etl', state)}`} />,
  );
  expect(shown).toContain('href="#etl">all <span>9');
  expect(shown).toContain('href="#state:failed etl" aria-current="page">failed <span>2');
});

const words = (...args: Parameters<typeof bulkActions>) => bulkActions(...args).map((action) => action.words);

it('offers only actions that apply to a selected job, and none on all jobs of the cluster', () => {
  const failed = summary({ id: 'f', state: 'failed', tasks: { ...summary().tasks, failed: 1 } });
  const running = summary({ id: 'r' });
  const held = summary({ id: 'h', state: 'waiting', held: true });
  expect(words([failed, running], new Set(['f']), '', 2)).toEqual(['Retry 1 selected…']);
  expect(words([failed, running, held], new Set(['h']), '', 3)).toEqual([
    'Cancel 1 selected…',
    'Release 1 selected…',
  ]);
  expect(words([failed, running], new Set(), '', 2)).toEqual([]);
  expect(words([failed], new Set(), 'etl', 1)).toEqual(['Retry all 1 that match…']);
  // Jobs on other pages may be in any state.
  expect(words([failed], new Set(), 'etl', 80)).toHaveLength(4);
});

const bulk = (more: Partial<Bulk>): Bulk => ({
  ...{ schema: 'goshawk.bulk/1', action: 'cancel', dryRun: true, matched: 3, jobs: 2, ids: ['a-1', 'a-2'] },
  ...{
    tasks: { waiting: 4, running: 1, again: 0 },
    failed: 0,
    errors: [],
    truncated: false,
    silent: [],
    ...more,
  },
});

it('describes the effect of a bulk action before, and its outcome after', () => {
  expect(bulkQuestion(bulk({}))).toBe(
    'Cancel 2 jobs? 4 waiting tasks will not start, and 1 running task will be killed. It does not apply to 1 of the 3.',
  );
  expect(bulkQuestion(bulk({ jobs: 0, ids: [] }))).toBe(
    'This changes no job. It does not apply to 3 of the 3.',
  );
  const outcome = bulk({ failed: 1, errors: [{ job: 'a-2', message: 'it has ended' }], silent: ['s1'] });
  expect(text(<BulkOutcome outcome={outcome} />)).toBe(
    '1 job cancelled, 1 refused: a-2: it has ended No answer from s1: its jobs are unchanged.',
  );
});

it('a word like an id leads to that job, or else to the jobs with it in their names', async () => {
  const find = (q: string) => `#/jobs?q=${q}`;
  const answers = (status?: number) => async () => {
    if (status !== undefined) throw new ApiError(status, 'no', '');
  };
  expect(await addressFound('etl-2024', find, answers())).toBe('#/jobs/etl-2024');
  expect(await addressFound('etl-2024', find, answers(404))).toBe('#/jobs?q=name:*etl-2024*');
  expect(await addressFound('etl-2024', find, answers(503))).toBe('#/jobs/etl-2024');
  expect(await addressFound('state:failed', find, answers(500))).toBe('#/jobs?q=state:failed');
});
