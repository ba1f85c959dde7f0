import { WAITING_LABELS, WAITING_REASONS } from '@goshawk/core';
import { expect, it } from 'vitest';
import { AttentionList, Tiles, WaitingList } from './overview.js';
import { ago, html, item, overview, storeAt, text } from './page.fixture.js';

it('never mixes tasks and CPUs in one number', () => {
  const shown = text(<Tiles overview={overview()} />);
  expect(shown).toContain('CPUs in use 46 of 48 47 tasks run');
  expect(shown).toContain('Workers 3 1 lost');
  const unknown = text(<Tiles overview={overview({ cpusBusy: null })} />);
  expect(unknown).toContain('Tasks running 47 48 CPUs in total');
});

it('marks numbers without the jobs of a silent scheduler, and unknown ones with their age', () => {
  const silent = text(<Tiles overview={overview({ silent: ['scheduler s0'], failedJobs: 3 })} />);
  expect(silent).toContain('at least 5 waiting or running, at least 3 failed in 1 h, without 1 scheduler');
  const lastSeen = { secondsAgo: 12, slots: 48, busy: 47, queued: 0, schedulers: 2, jobs: 5 };
  const unknown = { slots: null, busy: null, cpusBusy: null, queued: null, schedulers: null, jobs: null };
  const away = text(<Tiles overview={overview({ ...unknown, reachable: false, waiting: null, lastSeen })} />);
  expect(away).toContain('CPUs in use unknown 47 tasks, 48 CPUs in total, 12 s ago');
  expect(away).toContain('Active jobs unknown 5, 12 s ago');
  expect(away).not.toMatch(/\b0\b/);
});

it('counts only problems that are not over', () => {
  const attention = [item(), item({ key: 'b', level: 'warning' }), item({ key: 'c', over: ago(5) })];
  expect(text(<Tiles overview={overview({ attention })} />)).toMatch(/^Needs attention 2 1 error, 1 warning/);
});

it('says since when, how often, and that it is over, with buttons that act', () => {
  const actions = [
    { verb: 'log' as const, job: 'a-1', task: 3, worker: null },
    { verb: 'retry' as const, job: 'a-1', task: null, worker: null },
    { verb: 'drain' as const, job: null, task: null, worker: 'bad' },
  ];
  const shown = html(<AttentionList all={[item({ times: 3, actions })]} />);
  expect(shown).toContain('(30 s ago)');
  expect(shown).toContain('3 times in the last hour');
  expect(shown).toContain('href="#/jobs/a-1?task=3"');
  expect(shown).toContain('Retry a-1…');
  expect(shown).toContain('Drain bad…');
  const reader = html(<AttentionList all={[item({ actions })]} />, storeAt('#/', 'read'));
  expect(reader).not.toMatch(/Retry|Drain/);
  expect(reader).toContain('Open log');
  const over = text(<AttentionList all={[item({ over: ago(5) })]} />);
  expect(over).toMatch(/^Nothing needs attention\. .*over since .* \(5 s ago\), began/);
});

it('hides a dismissed item until it occurs again', () => {
  const store = storeAt();
  store.dismissed.value = new Set(['lost w9 1']);
  expect(text(<AttentionList all={[item()]} />, store)).toBe(
    'Nothing needs attention. 1 dismissed item Show',
  );
  expect(text(<AttentionList all={[item({ times: 2 })]} />, store)).toContain('1 worker lost: w9');
});

it('names each reason for waiting, and schedulers whose tasks are missing', () => {
  const waiting = WAITING_REASONS.map((reason) => ({
    ...{ class: 'short' as const, reason, tasks: 2, example: 'a-1', exampleAgeSeconds: 3 },
    ...{ why: 'because', helps: '`goshawk x`' },
  }));
  const shown = html(<WaitingList overview={{ waiting, silent: ['scheduler s0'] }} />);
  for (const reason of WAITING_REASONS)
    expect(shown).toContain(`title="${reason}">${WAITING_LABELS[reason]}<`);
  expect(shown).toContain('Not listed: tasks of scheduler s0.');
  expect(text(<WaitingList overview={{ waiting: null, silent: [] }} />)).toBe(
    'Unknown: no scheduler answers.',
  );
  expect(text(<WaitingList overview={{ waiting: [], silent: [] }} />)).toBe('No task is waiting.');
});
