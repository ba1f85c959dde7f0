import { expect, test } from 'vitest';
import { deadlineSentence } from './deadline-words.js';

function sentence(job: object, latestStart: object | undefined, now: number): string | undefined {
  const central = { needs: [{}, { latestStart }] };
  const all = { job: { state: 'waiting', submittedAt: 0, deadlineMs: 60_000, ...job }, central };
  return deadlineSentence(all as unknown as Parameters<typeof deadlineSentence>[0], now);
}

test.each([
  [{ deadlineMs: undefined }, undefined, 0, undefined],
  [{}, undefined, 20_000, 'in 40 s'],
  [{ state: 'running' }, undefined, 61_000, 'missed 1 s ago'],
  [{ state: 'completed', endedMs: 50_000 }, undefined, 99_000, 'met, 10 s before it'],
  [{ state: 'completed', endedMs: 62_000 }, undefined, 99_000, 'missed by 2 s'],
  [{ state: 'failed', endedMs: 50_000 }, undefined, 99_000, 'missed: the job did not complete'],
  [
    {},
    { inMs: 15_000, isTooLate: false },
    20_000,
    'in 40 s; it can be met if the waiting tasks start within 15 s, and from then on the job comes before all others',
  ],
  [
    {},
    { inMs: -5_000, isTooLate: false },
    40_000,
    'in 20 s; the latest start was 5 s ago, so the job comes before all others, and may end late',
  ],
  [
    {},
    { inMs: -15_000, isTooLate: true },
    50_000,
    'in 10 s; it can no longer be met, so the job is served like one without a deadline',
  ],
])('the deadline of %j with the latest start %j at %d ms: %s', (job, latest, now, words) => {
  expect(sentence(job, latest, now)).toBe(words);
});

test('the latest start is unknown while pilots run', () => {
  const central = { needs: [{ latestStart: { inMs: 15_000, isTooLate: false } }] };
  const job = { state: 'running', submittedAt: 0, deadlineMs: 60_000 };
  const words = (sampling: object) =>
    deadlineSentence({ job, central, sampling } as unknown as Parameters<typeof deadlineSentence>[0], 20_000);
  expect(words({ pilotTasks: 1, pilots: [] })).toBe('in 40 s; the run time of its tasks is not known yet');
  expect(words({ pilotTasks: 1, pilots: [], decidedMs: 3_000 })).toContain('it can be met');
});
