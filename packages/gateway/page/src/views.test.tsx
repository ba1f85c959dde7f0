import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { Actions } from './actions.js';
import { App, Banners, Header, SignIn } from './app.js';
import { areasOf, stacked } from './area.js';
import { CHARTS, ChartLegend } from './charts.js';
import { EventList } from './event-strip.js';
import { fillOf, kindOf } from './grid.js';
import { Lazy, LazyModule } from './lazy.js';
import { ago, html, item, NOW, overview, STREAM, storeAt, text, worker } from './page.fixture.js';
import { MessageTable, Scoreboard, SettingList } from './policy.js';
import type { Plan, Point, Usage, Users, WorkerDetail, Workers } from './shapes.js';
import { AttemptTable, moved, StreamLegend, windowOf } from './stream.js';
import { FieldTable, Planned } from './submit.js';
import { Backticks, Pages, Problem, ProgressBar } from './ui.js';
import { UsageTable, UsersTable } from './users.js';
import { colourOf, duration } from './words.js';
import { GridLegend, WorkerDetails, WorkerRows } from './workers.js';

it('says on every view that the cluster is lost', () => {
  for (const hash of ['#/', '#/jobs', '#/jobs/a-1', '#/workers', '#/users', '#/submit', '#/policy']) {
    const store = storeAt(hash);
    store.overview.value = overview({
      reachable: false,
      lastSeen: { secondsAgo: 20, slots: 1, busy: 1, queued: 0, schedulers: 1, jobs: 1 },
    });
    expect(text(<App />, store)).toContain('Central does not answer: its values are 20 s old.');
    store.overview.value = overview({ silent: ['scheduler s1'] });
    expect(text(<App />, store)).toContain('No answer from scheduler s1: jobs there are not listed');
    store.updatedAt.value = NOW - 11_000;
    expect(text(<App />, store)).toContain('The numbers below are 11 s old.');
    expect(html(<App />, store)).toContain('class="stale"');
  }
});

it('shows problems of the connection and of the page, and otherwise nothing', () => {
  const store = storeAt();
  expect(text(<Banners />, store)).toBe('');
  store.problem.value = {
    status: 0,
    message: 'no answer from the dashboard',
    hint: 'is `goshawk dashboard` running?',
  } as never;
  store.fault.value = 'x is not a function';
  expect(text(<Banners />, store)).toBe(
    'no answer from the dashboard: is goshawk dashboard running? Error in this page : x is not a function. Reload the page.',
  );
});

afterEach(() => {
  vi.unstubAllGlobals();
});

it('asks for a token instead of a view', () => {
  vi.stubGlobal('sessionStorage', { getItem: () => null });
  const store = storeAt();
  store.needsToken.value = true;
  expect(text(<App />, store)).toMatch(/Sign in Access token Sign in/);
  expect(html(<SignIn />)).toContain('type="password"');
});

it('names the role, and the number of problems on other views', () => {
  const store = storeAt('#/jobs', 'read');
  store.overview.value = overview({ attention: [item(), item({ key: 'b', over: ago(1) })] });
  expect(text(<Header />, store)).toMatch(/Overview 1 Jobs .* tcp:\/\/h:1 · read-only$/);
});

it('loads a part once, and again after a failure', async () => {
  let calls = 0;
  const part = new LazyModule(async () => {
    calls++;
    if (calls === 1) throw new Error('away');
    return { word: 'there' };
  });
  expect(text(<Lazy part={part}>{({ word }) => word}</Lazy>)).toBe('Loading …');
  await expect(part.get()).rejects.toThrow('away');
  await Promise.all([part.get(), part.get()]);
  expect(calls).toBe(2);
  expect(text(<Lazy part={part}>{({ word }) => word}</Lazy>)).toBe('there');
});

it('renders words of messages as code and options, never as markup', () => {
  expect(html(<Backticks text="try `goshawk up --workers 3` or --limit <b>" />)).toBe(
    'try <code>goshawk up <span class="option">--workers</span> 3</code> or <span class="option">--limit</span> &lt;b>',
  );
  expect(text(<Problem error={undefined} />)).toBe('');
  expect(html(<Actions all={[{ words: 'Hold', run: async () => {} }]} label="x" />)).toContain(
    '<button type="button">Hold',
  );
  expect(
    html(
      <Pages label="Pages" previous="#/a">
        1 of 2
      </Pages>,
    ),
  ).toContain('<a href="#/a">Previous page</a>');
});

it('shows progress as parts that a screen reader can read', () => {
  const shown = html(<ProgressBar tasks={{ completed: 2, running: 1, waiting: 0 }} />);
  expect(shown).toContain('aria-label="Tasks: 2 completed, 1 running"');
  expect(shown).toContain('class="part running"');
});

it('formats values as the command does', () => {
  expect([176_400, 12.34, 0.9996, 0.0004, null].map(duration)).toEqual([
    '2 d 1 h',
    '12.3 s',
    '1 s',
    '0.4 ms',
    '–',
  ]);
});

it('a job has one color for its name and user, in every window', () => {
  expect(colourOf('ann', 'etl', false)).toBe(colourOf('ann', 'etl', false));
  const colours = new Set(Array.from({ length: 40 }, (_, n) => colourOf('ann', `job-${n}`, false)));
  expect(colours.size).toBeGreaterThan(30);
  // Red is reserved for failures.
  for (const colour of colours) expect(Number(/hsl\((\d+)/.exec(colour)![1])).toBeGreaterThanOrEqual(25);
});

const point = (at: number, use: Point['use']): Point =>
  ({ at, use, capacity: { cpu: 10 }, short: { tasksPerSecond: at } }) as unknown as Point;

it('stacks what users have, the others together, and leaves gaps unknown', () => {
  const users = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`u${n}`, 9 - n]));
  const areas = areasOf(
    [point(1, { cpu: users }), point(2, null), point(3, { cpu: { u0: 4, '…': 2 } })],
    'cpu',
  );
  expect(areas.users).toEqual(['u0', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', '…']);
  expect(areas.capacity).toBe(10);
  const sums = stacked(areas.amounts);
  expect(sums[0]).toEqual([45, null, 6]);
  expect(sums.at(-1)).toEqual([9, null, 4]);
});

it("shows values under the pointer in a chart's legend", () => {
  const [spec] = CHARTS;
  expect(text(<ChartLegend spec={spec!} point={undefined} />)).toBe('short long');
  const both = { tasksPerSecond: 12.345 };
  expect(text(<ChartLegend spec={spec!} point={{ at: 0, short: both, long: both } as Point} />)).toMatch(
    /^short 12\.3 long 12\.3 at /,
  );
});

it('each line of a chart has a swatch of its color', () => {
  for (const spec of CHARTS) {
    const swatches = html(<ChartLegend spec={spec} point={undefined} />).match(/border-color:[^"]*/g);
    expect(swatches).toEqual(spec.lines.map(({ colour }) => expect.stringContaining(`var(--${colour})`)));
  }
});

it('the legend of the stream names jobs with their users, and explains each mark', () => {
  const shown = html(<StreamLegend stream={STREAM} isDark={false} />);
  expect(shown).toContain('href="#/jobs?q=name%3Aetl+user%3Aann">etl</a>, ann (2 jobs)');
  expect(shown).toContain('href="#/jobs/a-3">two words</a>');
  expect(shown).toContain('paused: its CPUs were lent');
  expect(text(<AttemptTable stream={STREAM} />)).toMatch(
    /w0 two words 0 running .* w0 etl 3 completed \S+ 2 s 1$/,
  );
});

it('the window of the stream is in the address, within the hour that is kept', () => {
  const of = (query: string) => windowOf(new URLSearchParams(query));
  expect(of('')).toEqual({ seconds: 60, until: undefined, workers: '', from: 0 });
  expect(of('seconds=300&until=99&workers=w1&from=40')).toEqual({
    seconds: 300,
    until: 99,
    workers: 'w1',
    from: 40,
  });
  expect(of('seconds=-1&until=x')).toMatchObject({ seconds: 60, until: undefined });
  expect(moved(60, NOW + 5, NOW)).toEqual({ seconds: '', until: '' });
  expect(moved(99_999, NOW - 1, NOW)).toEqual({ seconds: '86400', until: String(NOW) });
  expect(moved(30, NOW - 1e9, NOW)).toEqual({ seconds: '30', until: String(NOW - 86_400_000 + 30_000) });
});

it('fills the cell of a worker by its CPUs, and names what it runs', () => {
  expect(
    [
      worker('w', {}),
      worker('w', { cpus: -1 }),
      worker('w', { busy: 0, cpus: 0 }),
      worker('w', { state: 'lost' }),
    ].map(fillOf),
  ).toEqual([0.75, 1, 0, 1]);
  expect([worker('w', { long: 2 }), worker('w', { long: 1 }), worker('w', { long: -1 })].map(kindOf)).toEqual(
    ['long', 'mixed', 'busy'],
  );
  expect(text(<GridLegend workers={[worker('w0'), worker('w1', { state: 'lost' })]} />)).toMatch(
    /short tasks 1 lost 1 filled/,
  );
});

it('lists workers with the CPUs in use, memory and other resources, without mixing them with tasks', () => {
  const listed = [
    {
      name: 'w0',
      resources: { cpu: 4, memory: 2 ** 33, gpu: 2 },
      used: { cpu: 1, memory: 2 ** 30 },
      attributes: { rack: 'r1' },
    },
  ];
  const shown = text(
    <WorkerRows
      workers={[worker('w0'), worker('w1', { state: 'lost' })]}
      listed={listed as unknown as Workers['workers']}
    />,
  );
  expect(shown).toContain('w0 active short 3 of 4 2 1 1 GiB of 8 GiB 2 rack=r1');
  expect(shown).toContain('w1 lost – – 2 1 unknown –');
});

const DETAIL = {
  ...{
    schema: 'goshawk.worker/1',
    name: 'w0',
    state: 'active',
    quarantine: null,
    partition: 'general',
    slots: 4,
  },
  ...{ busy: 3, long: 1, queued: 0, resources: { cpu: 4, gpu: 2 }, used: { cpu: 2.5, memory: 2 ** 20 } },
  ...{ attributes: { rack: 'r1' }, heardSecondsAgo: 7, lost: null, counters: null },
  tasks: [
    {
      job: 'a-1',
      name: 'etl',
      user: 'ann',
      task: 3,
      attempt: 1,
      startedAt: ago(5),
      demand: { gpu: 1 },
      used: null,
    },
  ],
  events: [
    { at: ago(60), state: 'seen', cause: null },
    { at: ago(30), state: 'quarantined', cause: 'tasks fail here' },
  ],
} as unknown as WorkerDetail;

it('shows a worker, what it runs, and what happened to it', () => {
  const shown = text(<WorkerDetails worker={DETAIL} />);
  expect(shown).toContain('runs 3 tasks, 1 long CPUs 4');
  expect(shown).toContain('in use 2.5 CPU, 1 MiB');
  expect(shown).toContain('etl (a-1) task 3, ann, started 5 s ago');
  expect(shown).toContain('Requested: 1 of 4 cpu, 1 of 2 gpu.');
  expect(shown).toContain('2 more tasks of jobs outside the sample.');
  expect(shown).toMatch(/quarantined: tasks fail here .*first seen by this page/);
  const lost = { at: ago(20), cause: null, running: 2 };
  expect(text(<WorkerDetails worker={{ ...DETAIL, lost, state: 'lost' }} />)).toContain(
    'cause unknown: central did not report it tasks 2 tasks ran on it, and restart on other workers',
  );
});

it('shows shares and usage, with totals', () => {
  const users = {
    ...{ schema: 'goshawk.users/1', sharedBy: 'user', unlisted: 2 },
    users: [
      {
        user: 'ann',
        jobs: 1,
        running: 2,
        waiting: 3,
        held: 1,
        weight: 2,
        share: 0.5,
        fairShare: 0.25,
        of: 'cpu',
        has: { cpu: 2 },
      },
    ],
  } as unknown as Users;
  expect(text(<UsersTable users={users} />)).toMatch(
    /ann 1 2 3 1 50\.0% of cpu 25\.0% 2 2 cpu The fair share of each user/,
  );
  const sums = {
    attempts: 4,
    failed: 1,
    lost: 0,
    cpuHours: 0.01,
    cpuUsedHours: 0.005,
    memoryGibHours: null,
    gpuHours: 0,
    meanWaitSeconds: 2,
  };
  const usage = {
    usage: [{ ...sums, user: 'ann', project: null }],
    total: 1,
    totals: { ...sums, cpuHours: 0.04 },
    silent: [],
  } as unknown as Usage;
  expect(text(<UsageTable usage={usage} />)).toMatch(
    /ann 4 36 s 18 s 25\.0% not requested 0 ms 2 s 1 0 In total: 2 min 24 s of CPU time/,
  );
});

it('shows the policy, its messages and the predictor', () => {
  const policy = {
    ...{ policy: 'goshawk', title: 'the default', estimator: 'hybrid', cutoffSeconds: 10, cutoffJobs: 1 },
    ...{ reserve: 'auto', reserveNow: 0.1, messagesPerTask: 2.25, messages: { run: 5, probe: 9 } },
  } as never;
  expect(text(<SettingList policy={policy} />)).toContain(
    '10 s or more on average is long (learned from 1 job)',
  );
  expect(text(<MessageTable policy={policy} />)).toMatch(/2\.3 messages per task .* probe 9 run 5$/);
  expect(text(<Scoreboard predictor={{ estimators: [] } as never} />)).toMatch(
    /^No estimator runs in shadow/,
  );
  const estimators = [
    {
      estimator: 'pilot',
      jobs: 3,
      estimated: 2,
      errorPercent: { p50: 4.4, p90: null },
      misclassifiedJobsPercent: 5,
    },
  ];
  expect(text(<Scoreboard predictor={{ estimators } as never} />)).toMatch(/pilot 3 2 4% – 5%$/);
});

it('describes a plan and the fields of a job', () => {
  const plan = {
    ...{
      canRun: true,
      refusal: null,
      class: 'short',
      cutoffSeconds: 10,
      tasks: 5,
      slots: 48,
      freeSlots: 2,
      startSeconds: 0.2,
    },
    ...{
      stages: [{ name: 'tasks', tasks: 5, fitting: 3, workers: 4 }],
      ahead: { jobs: 1, tasks: 7, hidden: 0 },
    },
    ...{ expectedEnd: null, expectedEndUnknown: 'its run time is unknown' },
  } as unknown as Plan;
  expect(text(<Planned plan={plan} />)).toMatch(
    /^5 tasks\. It starts at once\. Its end is unknown: its run time is unknown\. .* 7 tasks of 1 job may be served first\. 2 of 48 CPUs are free\./,
  );
  const [at, earliest, latest] = ['10:05', '10:04', '10:08'].map((time) =>
    new Date(`2026-01-05T${time}:00`).toISOString(),
  );
  const expectedEnd = { at, earliest, latest, computedAt: earliest } as NonNullable<Plan['expectedEnd']>;
  expect(text(<Planned plan={{ ...plan, expectedEnd }} />)).toMatch(
    /It would end at .*10:05:00 \(.*10:04:00 to .*10:08:00\) if it were submitted now\./,
  );
  expect(text(<Planned plan={{ ...plan, ahead: { ...plan.ahead, hidden: 3 } }} />)).toContain(
    '3 tasks of other users wait, too.',
  );
  expect(text(<Planned plan={{ ...plan, startSeconds: null }} />)).toContain(
    'Its start is unknown: its run time',
  );
  expect(text(<Planned plan={{ ...plan, startSeconds: 90 }} />)).toContain(
    'Its first task starts in about 1 min 30 s.',
  );
  expect(text(<Planned plan={{ ...plan, refusal: 'no room' }} />)).toContain('It would be refused: no room.');
  expect(
    text(<FieldTable fields={{ name: { description: 'a `name`' }, x: { type: ['string', 'number'] } }} />),
  ).toMatch(/name a name x string or number$/);
});

it('lists events, newest first, each with a button that shows its time in all charts', () => {
  const event = (number: number, seconds: number, said: string) => ({
    ...{ number, at: ago(seconds), kind: 'worker-lost', text: said },
    ...{ worker: null, scheduler: null, by: null },
  });
  const events = [event(1, 7_200, 'worker w0 is lost <b>'), event(2, 60, 'worker w0 joined')];
  const all = { schema: 'goshawk.events/1' as const, events, next: 2, since: ago(80_000) };
  const shown = html(<EventList all={all} />);
  expect(shown.indexOf('w0 joined')).toBeLessThan(shown.indexOf('w0 is lost'));
  expect(shown.match(/<button/g)).toHaveLength(2);
  expect(shown).toContain('&lt;b>');
  expect(html(<EventList all={{ ...all, events: [] }} />)).toMatch(/No events since/);
  const many = Array.from({ length: 40 }, (_, index) => event(index, 60, 'x'));
  expect(html(<EventList all={{ ...all, events: many }} />)).toContain('And 25 earlier ones');
});

it('shows the local date of an event of another day', () => {
  vi.stubEnv('TZ', 'Pacific/Kiritimati');
  onTestFinished(() => void vi.unstubAllEnvs());
  const since = '2026-11-20T12:00:00.000Z';
  const shown = html(<EventList all={{ schema: 'goshawk.events/1', events: [], next: 0, since }} />);
  expect(shown).toMatch(/No events since 11-21 /);
});
