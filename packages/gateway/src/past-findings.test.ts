import type { HappenedEvent } from '@goshawk/core';
import { expect, it } from 'vitest';
import { AttentionLog } from './attention.js';
import { failuresAt, pastFinding } from './past-findings.js';
import type { Bar } from './task-stream.js';

const NOW = 1_764_000_000_000;

function event(
  kind: string,
  text: string,
  secondsAgo: number,
  of: Partial<HappenedEvent> = {},
): HappenedEvent {
  const at = NOW - 1_000 * secondsAgo;
  return { number: 1, at, kind, text, worker: undefined, scheduler: undefined, by: undefined, ...of };
}

function listed(...events: HappenedEvent[]) {
  const log = new AttentionLog();
  for (const past of events.map(pastFinding))
    for (const key of past?.keys ?? []) log.recall(key, past!.finding, past!.at);
  return log.note([], NOW).map(({ key, times, hint, over }) => [key, times, hint, over !== null]);
}

it('tells from events of a quarantined worker, with the reason, and of lost members that are back', () => {
  const w = { worker: 'bad' };
  const reason = 'tasks of a-1 fail here but complete elsewhere';
  const quarantined = (ago: number) =>
    event('worker-quarantined', `worker bad is quarantined: ${reason}`, ago, w);
  const cured = (ago: number) => event('worker-cured', 'worker bad accepts tasks again', ago, w);
  expect(listed(quarantined(900), cured(895), quarantined(800), cured(790))).toEqual([
    ['quarantined bad', 2, reason, true],
  ]);
  const s = { scheduler: 's1' };
  const lost = 'scheduler s1 is lost with 3 jobs: silent for 5 s';
  expect(listed(event('scheduler-lost', lost, 60, s), event('scheduler-joined', '', 40, s))).toEqual([
    ['silent scheduler s1', 1, `${lost}; its log says why it stopped`, true],
  ]);
  expect(
    listed(event('worker-lost', 'worker bad is lost', 4_000, w), event('worker-joined', '', 3_900, w)),
  ).toEqual([]);
  expect(listed(event('policy', 'the policy is hawk', 5))).toEqual([]);
});

it('counts what failed at a worker by job, most first, with the log of the latest', () => {
  expect(failuresAt([])).toEqual({ hint: '', actions: [] });
  const bars = ['b-1', 'a-1', 'a-1'].map((job, task) => ({ job, name: 'etl', task }) as Bar);
  expect(failuresAt(bars)).toEqual({
    hint: '; within the last hour at least 2 attempts of etl (a-1), at least 1 attempt of etl (b-1) failed there',
    actions: [{ verb: 'log', job: 'a-1', task: 2, worker: null }],
  });
});
