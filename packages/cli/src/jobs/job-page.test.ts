import { painter } from '@goshawk/command';
import { describe, expect, it } from 'vitest';
import { jobPage } from './job-page.js';
import { jobDetail, stageDetail, taskCounts } from './jobs.fixture.js';

const paint = painter({ color: false });
const submittedAt = new Date(2026, 0, 2, 3, 4, 5).getTime();
const now = submittedAt + 125_000;

describe('the page of a job', () => {
  it('shows the pilots of a sampled job', () => {
    const pilots = Array.from({ length: 7 }, (_, task) => ({ task, state: 'completed', runMs: 200 + task }));
    const sampling = { pilotTasks: 7, pilots, decidedMs: 1_250 };
    const page = jobPage(jobDetail({ classifiedBy: '7 pilots', sampling }), now, paint);
    expect(page).toContain('short, decided by 7 pilots');
    expect(page).toMatch(/pilots +7 tasks, class decided after 1.25 s\n +task 0: completed, ran 200 ms/);
    expect(page).toContain('and 2 more');
    const undecided = {
      pilotTasks: 1,
      pilots: [{ task: 3, state: 'running', runMs: 0 }],
      decidedMs: undefined,
    };
    expect(jobPage(jobDetail({ sampling: undecided }), now, paint)).toMatch(
      /1 task, class not decided yet\n +task 3: running\n/,
    );
  });

  it('shows an unusual priority, and the time left of a limit', () => {
    const running = { state: 'running', startedMs: 5_000, endedMs: undefined } as const;
    const page = jobPage(jobDetail({ ...running, priority: 'high', timeLimitMs: 600_000 }), now, paint);
    expect(page).toMatch(/priority +high\n/);
    expect(page).toMatch(/limit +10 min 0 s from its first start, 8 min 0 s left\n/);
    const usual = jobPage(jobDetail({ ...running }), now, paint);
    expect(usual).not.toMatch(/priority|limit/);
  });

  it('shows which tasks are paused, for how long and for whom, and which borrow', () => {
    const run = { attempt: 1, worker: 'w0', elapsedMs: 5_000 };
    const page = jobPage(
      jobDetail({
        state: 'running',
        tasks: taskCounts({ running: 3 }),
        pausedTasks: 1,
        running: [
          { ...run, task: 0, pausedMs: 2_000, lentTo: { job: 'b2-7', task: 4 } },
          { ...run, task: 1, pausedMs: 1_500 },
          { ...run, task: 2, borrows: true, borrowedFrom: [{ job: 'a1-3', task: 0 }] },
        ],
      }),
      now,
      paint,
    );
    expect(page).toContain('3: 3 running (1 paused)');
    expect(page).toContain('task 0 on w0, for 5 s, is paused for 2 s while task b2-7/4 uses its CPU\n');
    expect(page).toContain('task 1 on w0, for 5 s, was paused for 1.5 s while others used its CPU\n');
    expect(page).toContain(
      'task 2 on w0, for 5 s, borrows the CPU of task a1-3/0, which has paused for it for 5 s',
    );
  });

  it('describes a running job', () => {
    const running = Array.from({ length: 7 }, (_, task) => ({
      task,
      attempt: task === 0 ? 2 : 1,
      worker: `w${task}`,
      elapsedMs: 1_500,
    }));
    const job = jobDetail({
      state: 'running',
      submittedAt,
      tasks: taskCounts({ waiting: 1_000, running: 7, completed: 3 }),
      running,
      estimateMs: 2_000,
      user: undefined,
      expectedEnd: {
        at: now + 600_000,
        earliest: now + 300_000,
        latest: now + 900_000,
        computedAt: now - 12_000,
      },
    });
    expect(jobPage({ ...job, expectedEnd: undefined }, now, paint)).toContain('\n  ends       unknown\n');
    expect(jobPage(job, now, paint)).toBe(
      [
        'a1-3  sweep  running',
        '  tasks      1,010: 1,000 waiting, 7 running, 3 completed',
        '  class      short, decided by the submitted estimate',
        '  submitted  2026-01-02 03:04:05, 2 min ago',
        '  ends       03:16 (03:11 to 03:21), computed 12 s ago',
        '  waited     3 ms until the first task started',
        '  ran        500 ms per task on average',
        '  running    task 0 on w0, attempt 2, for 1.5 s',
        '             task 1 on w1, for 1.5 s',
        '             task 2 on w2, for 1.5 s',
        '             task 3 on w3, for 1.5 s',
        '             task 4 on w4, for 1.5 s',
        '             and 2 more',
      ].join('\n'),
    );
  });

  it('shows the remaining work of dependent stages with estimates', () => {
    const stages = [
      stageDetail({ name: 'load', state: 'completed', tasks: 2, estimateMs: 9_000, meanRunMs: 3_000 }),
      stageDetail({
        name: 'map',
        state: 'running',
        tasks: 4,
        unfinished: 3,
        after: ['load'],
        estimateMs: 2_000,
      }),
      stageDetail({
        name: 'clean',
        state: 'waiting',
        tasks: 1,
        unfinished: 1,
        after: ['load'],
        estimateMs: 1_000,
      }),
      stageDetail({
        name: 'reduce',
        state: 'blocked',
        tasks: 2,
        unfinished: 2,
        after: ['map', 'clean'],
        estimateMs: 5_000,
      }),
    ];
    const page = jobPage(jobDetail({ state: 'running', stages }), now, paint);
    expect(page).toContain('load: 2 tasks of 3 s on average, completed\n');
    expect(page).toContain('map: 4 tasks, estimated at 2 s each, running, 3 left\n');
    expect(page).toContain('clean: 1 task, estimated at 1 s each, waiting\n');
    expect(page).toContain('reduce: 2 tasks, estimated at 5 s each, blocked, after map, clean\n');
    expect(page).toMatch(/remaining +17 s of task time, 7 s on the critical path\n/);
    const unknown = stages.map(({ estimateMs: _, ...stage }) => stage);
    expect(jobPage(jobDetail({ state: 'running', stages: unknown }), now, paint)).not.toContain(
      'of task time',
    );
  });

  it('describes a failed job, and what to do', () => {
    const job = jobDetail({
      name: 'night\u0007ly',
      state: 'failed',
      submittedAt,
      tasks: taskCounts({ completed: 1, failed: 1 }),
      stages: [
        stageDetail({ name: 'map', state: 'completed', tasks: 1 }),
        stageDetail({ name: 'reduce', state: 'failed', tasks: 1, after: ['map'] }),
      ],
      attempts: { total: 3, failed: 2, lost: 0 },
      wastedMs: 40,
      failures: [
        { task: 1, attempts: 2, kind: 'failed', code: 'exit-code', message: 'exit code 3', worker: 'w1' },
      ],
    });
    expect(jobPage(job, now, paint)).toBe(
      [
        'a1-3  night ly  failed',
        '  tasks      2: 1 completed, 1 failed',
        '  stages     map: 1 task, completed',
        '             reduce: 1 task, failed',
        '  class      short, decided by the submitted estimate',
        '  submitted  2026-01-02 03:04:05 by ann, 2 min ago',
        '  took       5.2 s from submission to end',
        '  waited     3 ms until the first task started',
        '  ran        500 ms per task',
        '  lost       40 ms to 2 failed attempts',
        '  failed     task 1 on w1, the last of 2 attempts: exit code 3',
        '             goshawk logs a1-3 --failed    what they printed',
        '             goshawk retry a1-3 --failed   run the failed tasks again',
      ].join('\n'),
    );
  });
});
