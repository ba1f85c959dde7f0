import { counted, deadlineStateOf, formatCount, JOB_STATES, type JobState, type Millis } from '@goshawk/core';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Action, Actions } from './actions.js';
import { type ApiError, get, post } from './api.js';
import { addressOf } from './router.js';
import type { Bulk, JobList, JobSummary } from './shapes.js';
import { useParam, useStore } from './store.js';
import { Ago, Clip, Pages, Problem, ProgressBar, Since, StateBadge, Table, Waiting } from './ui.js';
import { useAnswer } from './use-answer.js';
import { ABSENT, clock, duration } from './words.js';

const PAGE = 50;
const TABS = ['', ...JOB_STATES] as const;
/** Matches the id of a job in an address. */
const ID = /^[a-z0-9]+-\d+$/;
const BULK_ACTIONS = ['cancel', 'retry', 'hold', 'release'] as const;
const DONE_WORDS = { cancel: 'cancelled', retry: 'retried', hold: 'held', release: 'released' } as const;

const SORTS = ['name', 'user', 'state', 'tasks', 'submitted', 'took', 'deadline'] as const;
export type Sort = (typeof SORTS)[number];

/** What a column sorts by; larger amounts and later times come first. */
function sortKey(by: Sort, job: JobSummary, now: Millis): string | number {
  if (by === 'name') return job.name;
  if (by === 'user') return job.user ?? '';
  if (by === 'state') return job.state;
  if (by === 'tasks') return -job.tasks.total;
  if (by === 'submitted') return -Date.parse(job.submittedAt);
  if (by === 'deadline')
    return job.deadlineAt === null ? Number.POSITIVE_INFINITY : Date.parse(job.deadlineAt);
  return -(ranMs(job, now) ?? 0);
}

/** Sorts jobs by a column, `-` before its name for the reverse order. */
export function sortJobs(jobs: readonly JobSummary[], sort: string, now: Millis): readonly JobSummary[] {
  const by = sort.replace(/^-/, '') as Sort;
  if (!SORTS.includes(by)) return jobs;
  const sign = sort.startsWith('-') ? -1 : 1;
  const keys = new Map(jobs.map((job) => [job, sortKey(by, job, now)]));
  return jobs.toSorted((one, other) => {
    const [a, b] = [keys.get(one)!, keys.get(other)!];
    return a < b ? -sign : a > b ? sign : 0;
  });
}

/** Time from the first start to the end, or until now; undefined: nothing has started. */
function ranMs({ startedAt, endedAt }: JobSummary, now: Millis): Millis | undefined {
  if (startedAt === null) return undefined;
  return (endedAt === null ? now : Date.parse(endedAt)) - Date.parse(startedAt);
}

/** Returns the query without its `state:`, and with another one. */
export function withState(q: string, state: string): string {
  const rest = q.replace(/(^| )state:\S+/, '').trim();
  return `${state === '' ? '' : `state:${state} `}${rest}`.trim();
}

/** The jobs that match the query in the address. The cluster filters them. */
export function JobsView() {
  const store = useStore();
  const q = useParam('q');
  const after = useParam('after');
  const sort = useParam('sort');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [outcome, setOutcome] = useState<Bulk | undefined>(undefined);
  const asked = new URLSearchParams({ limit: String(PAGE), all: 'true' });
  if (q !== '') asked.set('q', q);
  if (after !== '') asked.set('after', after);
  const path = `/v1/jobs?${asked}`;
  const { data, error, path: shown, reload } = useAnswer<JobList>(path, store.updates.value);
  useEffect(() => setChosen(new Set()), [q, after]);
  const mayChange = store.may('submit');
  const address = (more: Record<string, string>): string =>
    addressOf('jobs', '', { q, sort, after: '', ...more });
  const choose = (id: string, isChosen: boolean): void => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const rows = data === undefined ? [] : sortJobs(data.jobs, sort, store.now.peek());
  return (
    <>
      <QueryForm q={q} mayChange={mayChange} find={(text) => address({ q: text })} />
      {data === undefined ? null : (
        <Tabs
          counts={data.counts}
          tab={/(?:^| )state:(\S+)/.exec(q)?.[1] ?? ''}
          address={(state) => address({ q: withState(q, state) })}
        />
      )}
      <Problem error={error} />
      {data === undefined ? (
        <Waiting />
      ) : (
        <section class="card wide">
          {data.silent.length === 0 ? null : (
            <p class="error">No answer from {data.silent.join(', ')}: its jobs are not listed.</p>
          )}
          {mayChange ? (
            <Actions<Bulk>
              all={bulkActions(rows, chosen, q, data.total)}
              label="Actions on jobs"
              done={(answer) => {
                setOutcome(answer);
                reload();
              }}
            />
          ) : null}
          <div role="status">{outcome === undefined ? null : <BulkOutcome outcome={outcome} />}</div>
          {rows.length === 0 ? null : (
            <JobsTable
              jobs={rows}
              sort={sort}
              sortedBy={(by) => address({ sort: by, after })}
              chosen={mayChange ? chosen : undefined}
              choose={choose}
              chooseAll={(isAll) => setChosen(new Set(isAll ? rows.map(({ id }) => id) : []))}
            />
          )}
          <Pages
            label="Pages of jobs"
            previous={after === '' ? undefined : address({})}
            next={data.cursor === null ? undefined : address({ after: data.cursor })}
          >
            {rows.length > 0
              ? `${counted(rows.length, 'job')} of ${formatCount(data.total)}${after === '' ? '' : ', further down the list'}${shown === path ? '' : ', loading …'}`
              : q === ''
                ? 'There are no jobs.'
                : 'No jobs match.'}
          </Pages>
        </section>
      )}
    </>
  );
}

/**
 * Returns the address of a job with this id, or of the jobs whose names contain it: `etl-2024` may be either.
 *
 * @param find returns the address of the jobs that match a query
 * @param request requests a path of the API
 */
export async function addressFound(
  text: string,
  find: (q: string) => string,
  request: (path: string) => Promise<unknown>,
): Promise<string> {
  if (!ID.test(text)) return find(text);
  try {
    await request(`/v1/jobs/${text}`);
    return addressOf('jobs', text);
  } catch (error) {
    // Any other answer does not say that there is no such job.
    return (error as ApiError).status === 404 ? find(`name:*${text}*`) : addressOf('jobs', text);
  }
}

function QueryForm({
  q,
  mayChange,
  find,
}: {
  readonly q: string;
  readonly mayChange: boolean;
  readonly find: (q: string) => string;
}) {
  const field = useRef<HTMLInputElement>(null);
  const found = (text: string): Promise<string> => addressFound(text, find, (path) => get(path));
  useEffect(() => {
    if (field.current !== null) field.current.value = q;
  }, [q]);
  return (
    <form
      class="filters query"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void found(field.current!.value.trim()).then((address) => {
          location.hash = address;
        });
      }}
    >
      <input
        ref={field}
        id="q"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="name:etl* user:ann state:failed since:1h worker:w1 exit:3 deadline:risk, or an id"
        aria-label="Query of jobs"
      />
      <button type="submit">Find</button>
      <span class="hint extra" title="/ goes to the query; j and k move between jobs">
        <kbd>/</kbd> <kbd>j</kbd> <kbd>k</kbd>
      </span>
      {mayChange ? <a href="#/submit">Submit a job</a> : null}
    </form>
  );
}

export function Tabs({
  counts,
  tab,
  address,
}: {
  readonly counts: JobList['counts'];
  readonly tab: string;
  readonly address: (state: string) => string;
}) {
  return (
    <nav class="tabs" aria-label="States">
      {TABS.map((state) => (
        <a key={state} href={address(state)} aria-current={state === tab ? 'page' : undefined}>
          {state === '' ? 'all' : state}{' '}
          <span>{formatCount(state === '' ? counts.total : counts[state])}</span>
        </a>
      ))}
    </nav>
  );
}

const IS_FINAL: ReadonlySet<JobState> = new Set(['completed', 'failed', 'cancelled']);

/** Whether an action applies to a job that is on this page. */
const APPLIES: Readonly<Record<(typeof BULK_ACTIONS)[number], (job: JobSummary) => boolean>> = {
  cancel: ({ state }) => !IS_FINAL.has(state),
  retry: ({ state, tasks }) => IS_FINAL.has(state) && tasks.failed + tasks.cancelled > 0,
  hold: ({ state, held }) => !IS_FINAL.has(state) && !held,
  release: ({ state, held, beginAt }) => !IS_FINAL.has(state) && (held || beginAt !== null),
};

/**
 * Returns actions on the selected jobs, or on all that match. The dry run lists the jobs, and the action changes only those
 * that the user confirmed.
 */
export function bulkActions(
  rows: readonly JobSummary[],
  chosen: ReadonlySet<string>,
  q: string,
  matching: number,
): Action<Bulk>[] {
  // Without a query or a selection, a click could change all jobs of the cluster.
  if (matching === 0 || (chosen.size === 0 && q === '')) return [];
  const which =
    chosen.size > 0 ? `${formatCount(chosen.size)} selected` : `all ${formatCount(matching)} that match`;
  // Other pages may have jobs to which an action applies.
  const isAllShown =
    chosen.size > 0
      ? rows.filter(({ id }) => chosen.has(id)).length === chosen.size
      : rows.length === matching;
  const selected = rows.filter(({ id }) => chosen.size === 0 || chosen.has(id));
  return BULK_ACTIONS.filter((action) => !isAllShown || selected.some(APPLIES[action])).map((action) => {
    const send = (body: object) => post<Bulk>('/v1/jobs/bulk', { action, ...body });
    return {
      words: `${action[0]!.toUpperCase()}${action.slice(1)} ${which}…`,
      confirm: async () => {
        const answer = await send({ dryRun: true, ...(chosen.size > 0 ? { ids: [...chosen] } : { q }) });
        const { ids } = answer;
        return {
          question: bulkQuestion(answer),
          run: () => (ids.length === 0 ? Promise.resolve(answer) : send({ ids })),
        };
      },
      run: () => send({ ids: [...chosen] }),
    };
  });
}

/** Describes a bulk action from the cluster's dry run. */
export function bulkQuestion({ action, matched, jobs, tasks, truncated }: Bulk): string {
  const others = matched - jobs;
  const rest =
    others > 0 ? ` It does not apply to ${formatCount(others)} of the ${formatCount(matched)}.` : '';
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

export function BulkOutcome({
  outcome: { action, jobs, failed, errors, silent },
}: {
  readonly outcome: Bulk;
}) {
  return (
    <>
      <p>
        {counted(jobs - failed, 'job')} {DONE_WORDS[action]}
        {failed > 0 ? `, ${formatCount(failed)} refused:` : '.'}
      </p>
      {errors.map(({ job, message }) => (
        <p key={job} class="error">
          {job}: {message}
        </p>
      ))}
      {silent.map((name) => (
        <p key={name} class="error">
          No answer from {name}: its jobs are unchanged.
        </p>
      ))}
    </>
  );
}

/** @param props.chosen ids of selected jobs; undefined: jobs cannot be selected */
export function JobsTable({
  jobs,
  sort,
  sortedBy,
  chosen,
  choose,
  chooseAll,
}: {
  readonly jobs: readonly JobSummary[];
  readonly sort: string;
  /** Returns the address of this page in another order. */
  readonly sortedBy: (by: string) => string;
  readonly chosen?: ReadonlySet<string> | undefined;
  readonly choose: (id: string, isChosen: boolean) => void;
  readonly chooseAll: (isAll: boolean) => void;
}) {
  const head = (title: string, by: Sort) => {
    const next = sort === by ? `-${by}` : sort === `-${by}` ? '' : by;
    const arrow = sort === by ? ' ↓' : sort === `-${by}` ? ' ↑' : '';
    return (
      <a class="sort" href={sortedBy(next)} title={`sort this page by ${title}`}>
        {title}
        {arrow}
      </a>
    );
  };
  const sorted = (by: Sort) => (sort === by ? 'descending' : sort === `-${by}` ? 'ascending' : undefined);
  const hasDeadlines = jobs.some(({ deadlineAt }) => deadlineAt !== null);
  const hasEnds = jobs.some(({ expectedEnd }) => expectedEnd !== null);
  return (
    <Table<JobSummary>
      caption="Jobs"
      rows={jobs}
      keyOf={({ id }) => id}
      link={({ id }) => addressOf('jobs', id)}
      columns={[
        chosen !== undefined && {
          title: (
            <label class="select">
              <input
                type="checkbox"
                aria-label="Select all on this page"
                checked={jobs.every(({ id }) => chosen.has(id))}
                onChange={(event) => chooseAll(event.currentTarget.checked)}
              />
            </label>
          ),
          isExtra: true,
          of: ({ id }) => (
            <label class="select">
              <input
                type="checkbox"
                name="job"
                value={id}
                aria-label={`Select ${id}`}
                checked={chosen.has(id)}
                onChange={(event) => choose(id, event.currentTarget.checked)}
              />
            </label>
          ),
        },
        { title: 'id', of: ({ id }) => <a href={addressOf('jobs', id)}>{id}</a> },
        {
          title: head('name', 'name'),
          sorted: sorted('name'),
          of: ({ name, user }) => (
            <>
              <Clip text={name} />
              <span class="below">{user ?? ''}</span>
            </>
          ),
        },
        {
          title: head('user', 'user'),
          sorted: sorted('user'),
          isExtra: true,
          of: ({ user }) => <Clip text={user ?? ''} />,
        },
        { title: 'class', isExtra: true, of: (job) => job.class },
        { title: head('state', 'state'), sorted: sorted('state'), of: (job) => <JobStateBadge job={job} /> },
        {
          title: head('tasks', 'tasks'),
          sorted: sorted('tasks'),
          isNumber: true,
          of: ({ tasks }) => (
            <>
              {progressOf(tasks)}
              <ProgressBar tasks={tasks} isSmall />
            </>
          ),
        },
        {
          title: head('submitted', 'submitted'),
          sorted: sorted('submitted'),
          isNumber: true,
          isExtra: true,
          of: ({ submittedAt }) => <Ago at={submittedAt} />,
        },
        {
          title: head('ran', 'took'),
          sorted: sorted('took'),
          isNumber: true,
          isExtra: true,
          of: (job) => <Ran job={job} />,
        },
        {
          title: 'ended',
          isNumber: true,
          isExtra: true,
          of: ({ endedAt }) => <Ago at={endedAt} />,
        },
        hasEnds && { title: 'expected end', isExtra: true, of: (job) => expectedEndWords(job) ?? ABSENT },
        hasDeadlines && {
          title: head('deadline', 'deadline'),
          isExtra: true,
          sorted: sorted('deadline'),
          of: (job) => <Deadline job={job} />,
        },
      ]}
    />
  );
}

function progressOf({ total, completed, failed }: JobSummary['tasks']): string {
  const bad = failed > 0 ? `, ${formatCount(failed)} failed` : '';
  return `${formatCount(completed)} / ${formatCount(total)}${bad}`;
}

/** How long the job has run, from its first start; without the time in the queue. */
export function Ran({ job }: { readonly job: JobSummary }) {
  const { startedAt, endedAt } = job;
  if (startedAt === null) return <>{ABSENT}</>;
  if (endedAt !== null) return <>{duration((Date.parse(endedAt) - Date.parse(startedAt)) / 1_000)}</>;
  return (
    <>
      <Since at={Date.parse(startedAt)} /> so far
    </>
  );
}

export function Deadline({ job }: { readonly job: JobSummary }) {
  const now = useStore().now.value;
  const { deadlineAt, deadlineMet, state, expectedEnd } = job;
  if (deadlineAt === null) return <>{ABSENT}</>;
  const deadline = Date.parse(deadlineAt);
  const isActive = !IS_FINAL.has(state);
  // The answer may be older than the deadline.
  const met = deadlineMet ?? (isActive && deadline < now ? false : undefined);
  const end =
    isActive && expectedEnd !== null
      ? { at: Date.parse(expectedEnd.at), latest: Date.parse(expectedEnd.latest) }
      : undefined;
  const outlook = deadlineStateOf(deadline, met, end);
  if (outlook === 'met') return <span class="badge completed">met</span>;
  if (outlook === 'missed') return <span class="badge failed">missed</span>;
  return (
    <span>
      {clock(deadlineAt, now)} {outlook === 'late' ? <span class="badge failed">probably missed</span> : null}
      {outlook === 'risk' ? <span class="badge held">at risk</span> : null}
    </span>
  );
}

/** Shows the state of a job, and the hold or begin time that delays the job. */
export function JobStateBadge({ job: { state, held, beginAt } }: { readonly job: JobSummary }) {
  const why = held ? 'held' : beginAt === null ? '' : `begins ${clock(beginAt)}`;
  return (
    <span>
      <StateBadge state={state} />
      {why === '' ? null : (
        <>
          {' '}
          <span class="badge held">{why}</span>
        </>
      )}
    </span>
  );
}

/** `17:26:00 (17:21:00 to 17:40:00)`; undefined: unknown. */
export function expectedEndWords({ expectedEnd: end }: Pick<JobSummary, 'expectedEnd'>): string | undefined {
  return end === null ? undefined : `${clock(end.at)} (${clock(end.earliest)} to ${clock(end.latest)})`;
}
