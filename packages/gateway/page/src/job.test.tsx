import { expect, it } from 'vitest';
import { actionsOf, Explanation, Failures, JobHead, Measures, RunTable, StageTable } from './job.js';
import { AttemptRows, runWords, Timeline, Waterfall } from './job-figures.js';
import { Lines, matching, notesOf } from './job-log.js';
import { firstState, TaskTable } from './job-tasks.js';
import { ago, attempt, html, job, NOT_LENT, stage, summary, text } from './page.fixture.js';
import type { Job, TaskList, Why } from './shapes.js';
import { StageGraph } from './stage-graph.js';
import { WhatIfAnswers } from './what-if.js';

it('the head tells what runs, for how long, and what it demands', () => {
  const shown = text(<JobHead job={job()} why={undefined} />);
  expect(shown).toMatch(
    /^running its end is not known yet ann, short \(submitted estimate\), submitted 1 min ago, running for 1 min 20 s/,
  );
  expect(shown).toContain('demand 2 cpu, 1 GiB memory');
});

it('a retry does not stretch the run time of a job', () => {
  const retried = job({
    ...{ state: 'failed', endedAt: ago(-900), submittedAt: ago(90) },
    attempts: [attempt(0, 1, 14), attempt(0, 982, 0.2, { attempt: 2, state: 'failed' })],
    attemptCounts: { total: 2, failed: 1, lost: 0 },
  });
  expect(runWords(retried)).toBe('14 s + 200 ms');
  expect(text(<JobHead job={retried} why={undefined} />)).toContain('ran 14 s + 200 ms');
  expect(html(<Timeline job={retried} />)).toContain(
    'The axis leaves out 16 min 7 s, from 15 s after submission',
  );
});

it('an estimate of zero is not shown', () => {
  expect(text(<Measures job={job({ estimateSeconds: 0 })} />)).toBe('');
  expect(text(<Measures job={job({ estimateSeconds: 2, meanRunSeconds: 1 })} />)).toBe(
    'average run time 1 s estimated 2 s per task',
  );
});

it('groups failures by cause, each with the end of the output and a link to the log', () => {
  const failure = (task: number, message: string, printed: string | null): Job['failures'][number] => ({
    ...{ task, attempts: 1, kind: 'failed', code: 'x', message, worker: 'w1', printed, stdoutFile: null },
    ...{ stderrFile: task === 2 ? '/tmp/err' : null, exitCode: 3, signal: null },
  });
  const failures = [
    failure(0, 'cannot open 0x7f1234', null),
    failure(1, 'cannot open 0x7f5678', 'bad <scan>\n'),
    failure(2, 'the command ended with exit code 3', null),
  ];
  const shown = html(<Failures job={{ id: 'a-1', failures, tasks: { ...job().tasks, failed: 5 } }} />);
  expect(shown).toContain('2 tasks, such as task 1 on w1: cannot open …');
  expect(shown).toContain('bad &lt;scan>');
  expect(shown).toContain('href="#/jobs/a-1?task=1"');
  expect(shown).toContain('stderr: /tmp/err');
  expect(shown).toContain('2 more tasks');
});

it('offers what can be done with a job in each state', () => {
  const words = (more: Partial<Job>) => actionsOf(job(more)).map((action) => action.words);
  expect(words({})).toEqual(['Cancel…', 'Hold', 'Priority low', 'Priority high']);
  expect(words({ held: true, priority: 'high' })).toEqual([
    'Cancel…',
    'Release',
    'Priority low',
    'Priority normal',
  ]);
  expect(words({ state: 'completed', tasks: { ...job().tasks, failed: 0, cancelled: 0 } })).toEqual([]);
  expect(words({ state: 'failed', tasks: { ...job().tasks, failed: 2 } })).toEqual([
    'Retry…',
    'Retry as new job…',
  ]);
  expect(actionsOf(job())[0]!.confirm).toBe(
    'Cancel the job? 1 waiting task will not start, and 1 running task will be killed. Completed tasks stay completed.',
  );
});

const NO_OUTPUT = { truncated: false, missing: null, earlierAttempts: false };

it.each([
  [
    'nothing started',
    { state: 'waiting', tasks: { ...job().tasks, waiting: 3 } },
    '',
    /^No task has started\.$/,
  ],
  ['a job that runs', {}, '', /^Nothing was printed yet\.$/],
  ['a task that runs', {}, '2', /^Task 2 has not printed anything yet\.$/],
  ['an ended job', { state: 'completed' }, '', /^Nothing was printed\.$/],
] as const)('an empty log of %s says why', (_, more, task, words) => {
  expect(notesOf(NO_OUTPUT, 0, job(more as Partial<Job>), task, false).join()).toMatch(words);
});

it('says that nothing was printed only if nothing was printed', () => {
  const ended = job({ state: 'failed' });
  const lost = notesOf({ ...NO_OUTPUT, truncated: true }, 0, ended, '', false).join();
  expect(lost).toMatch(/no longer kept/);
  expect(lost).not.toMatch(/[Nn]othing was printed/);
  const gone = { ...NO_OUTPUT, truncated: true, missing: 'the disk of /data was full' };
  for (const lines of [0, 3]) {
    const words = notesOf(gone, lines, ended, '', false).join();
    expect(words).toMatch(/gone: the disk of \/data was full\.$/);
    expect(words).not.toMatch(/[Nn]othing was printed/);
  }
  expect(notesOf({ ...NO_OUTPUT, truncated: true }, 3, ended, '', false).join()).toMatch(
    /^Earlier output is not shown/,
  );
  expect(notesOf({ ...NO_OUTPUT, earlierAttempts: true }, 3, ended, '', false).join()).toMatch(
    /--attempt all/,
  );
  expect(notesOf(NO_OUTPUT, 0, ended, '', true)).toEqual(['No task has failed.']);
});

it('finds lines, and shows output as text with its colors, and its times on demand', () => {
  const at = ago(12);
  const lines = [
    { task: 0, stream: 'stdout' as const, at, text: 'Bad <img src=x>' },
    { task: 1, stream: 'stderr' as const, at, text: '\u001b[31mred\u001b[0m' },
  ];
  expect(matching(lines, 'bad')).toEqual([lines[0]]);
  expect(matching(lines, '')).toBe(lines);
  const shown = html(<Lines lines={lines} />);
  expect(shown).not.toContain('<img');
  expect(shown).toContain('<span class="stderr">1: <span class="ansi-red">red</span>');
  expect(html(<Lines lines={lines} hasTimes={true} />)).toMatch(
    /datetime="[^"]+">(\d\d-\d\d )?\d\d:\d\d:\d\d <\/time>1: /i,
  );
});

it('shows failed tasks first, then running ones, and otherwise all', () => {
  expect(
    [
      { failed: 1, running: 2 },
      { failed: 0, running: 2 },
      { failed: 0, running: 0 },
    ].map((tasks) => firstState({ ...job().tasks, ...tasks })),
  ).toEqual(['failed', 'running', '']);
});

it('lists tasks with growing run times, and a link to the log of each', () => {
  const row = (index: number, more: object): TaskList['tasks'][number] => ({
    ...{
      index,
      stage: 'tasks',
      state: 'running',
      attempt: 1,
      worker: 'w1',
      exitCode: null,
      startedAt: ago(12),
    },
    ...{ endedAt: null, runSeconds: 2, maxRssBytes: null, error: null, ...NOT_LENT, ...more },
  });
  const tasks = [
    row(0, {}),
    row(1, { state: 'completed', maxRssBytes: 2 ** 20, exitCode: 0 }),
    row(2, { attempt: 0, state: 'waiting', worker: null, startedAt: null, runSeconds: null }),
  ];
  const used = new Map([[0, { cpu: 0.5, memory: 2 ** 21 }]]);
  const table = <TaskTable tasks={tasks} used={used} logLink={(index) => `#/log/${index}`} />;
  expect(text(table)).toMatch(
    /running 1 w1 – 12 s 0.5 CPU, 2 MiB log 1 completed 1 w1 0 2 s peak 1 MiB log 2 waiting 0 – – – – –$/,
  );
  expect(html(table)).toContain('aria-label="Log of task 1"');
});

it('shows a task whose CPUs are lent as paused, with the time that it ran', () => {
  const lent = { pausedSeconds: 5, lentTo: 'b-2/0', borrowedFrom: [], toChild: false, fromParent: false };
  const row = {
    ...{ index: 0, stage: 'tasks', state: 'running' as const, attempt: 1, worker: 'w1', exitCode: null },
    ...{ startedAt: ago(12), endedAt: null, runSeconds: 7, maxRssBytes: null, error: null },
  };
  const shown = (more: object) =>
    html(<TaskTable tasks={[{ ...row, ...lent, ...more }]} used={new Map()} logLink={() => '#'} />);
  expect(shown({})).toContain('title="its CPUs are lent to b-2/0">paused');
  expect(shown({})).toContain('>7 s<');
  expect(shown({ lentTo: null })).toMatch(/running.*>7 s</);
  expect(text(<AttemptRows id="a-1" attempts={[attempt(0, 0, 7, lent)]} />)).toContain('7 s 5 s, for b-2/0');
});

it('lists attempts, stages and other runs', () => {
  expect(text(<AttemptRows id="a-1" attempts={[attempt(3, 1, 2.5, { gpus: ['0', '1'] })]} />)).toMatch(
    /3 1 completed w1 0, 1 2\.5 s/,
  );
  const stages = [stage('load'), stage('run', { after: ['load'], counts: { ...job().tasks, failed: 2 } })];
  expect(text(<StageTable stages={stages} />)).toMatch(
    /load running 1 \/ 3 0 – 2 s 1\.5 s .* run running 1 \/ 3 2 load/,
  );
  const runs = [summary(), summary({ id: 'a-0', state: 'completed', endedAt: ago(20) })];
  expect(text(<RunTable runs={runs} id="a-1" />)).toMatch(/a-1 \(this\) running .* a-0 completed/);
});

it('draws the path of a failure through the stages', () => {
  const stages = [
    stage('first', { state: 'completed' }),
    stage('breaks', { state: 'failed', after: ['first'] }),
    stage('last', { state: 'cancelled', after: ['breaks'] }),
  ];
  const shown = html(<StageGraph stages={stages} />);
  expect(shown).toContain('aria-label="3 stages: first completed, breaks failed, last cancelled"');
  expect(shown.match(/class="stage \w+ broken"/g)).toHaveLength(2);
  expect(shown.match(/class="edge broken"/g)).toHaveLength(1);
});

it('draws how the time was spent, one row per limit', () => {
  const limit = (from: number, to: number, why: string) => ({
    ...{ from: ago(90 - from), to: ago(90 - to), reason: 'resources' as const, why, tasks: 2 },
  });
  const why = {
    limits: [limit(0, 2, 'job a-7 takes 3 CPUs'), limit(2, 4, 'job a-8 takes 4 CPUs')],
    waited: [{ phase: 'worker', tasks: 3, meanSeconds: 1.5, maxSeconds: 4 }],
  } as unknown as Why;
  const shown = text(<Waterfall job={job({ attempts: [attempt(0, 4, 6)] })} why={why} />);
  expect(shown).toContain('job a-8 takes 4 CPUs 2 tasks (resources), seen for 4 s');
  expect(shown).toContain('tasks run from 4 s after submission, for 6 s');
  expect(shown).toContain('1.5 s for a worker (3 tasks, at most 4 s)');
});

it('shows the whole explanation by topic', () => {
  const parts = [
    { label: 'class', lines: ['short, decided by 3 pilots'] },
    { label: 'queue', lines: ['2 tasks at central: no room', '1 worker found for it so far'] },
  ];
  expect(text(<Explanation parts={parts} />)).toBe(
    'class short, decided by 3 pilots queue 2 tasks at central: no room 1 worker found for it so far',
  );
});

it('compares predictions with no change', () => {
  const answer = {
    ...{ schema: 'goshawk.job-whatif/1' as const, job: 'a-1', now: { startSeconds: 90, endSeconds: null } },
    changes: [{ change: { workers: 1, priority: null, policy: null }, startSeconds: 0.5, endSeconds: 30 }],
    assumptions: ['no other job arrives'],
  };
  expect(text(<WhatIfAnswers known={[]} />)).toBe('');
  expect(text(<WhatIfAnswers known={[{ words: '+1 worker', answer, at: 0 }]} />)).toMatch(
    /no change 1 min 30 s not predicted \+1 worker 500 ms 30 s Simulated: no other job arrives\./,
  );
});
