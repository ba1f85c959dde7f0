import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deadlineSentence, deadlineState, matchesDeadline } from './deadline-words.js';
import { DEADLINE_FILTERS, JOB_STATES, type JobSummary } from './view.js';

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
    'in 40 s; its waiting tasks must start within 15 s, and from then on the job comes before all others; its end is not known yet',
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
  expect(words({ pilotTasks: 1, pilots: [], decidedMs: 3_000 })).toContain('must start within');
});

const millis = fc.integer({ min: -200_000, max: 200_000 });
const jobs = fc.record({
  state: fc.constantFrom(...JOB_STATES),
  deadlineMs: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
  endedMs: fc.option(fc.integer({ min: 0, max: 200_000 }), { nil: undefined }),
  end: fc.option(fc.tuple(millis, fc.nat(50_000), fc.nat(50_000), fc.nat(100_000)), { nil: undefined }),
  latestStart: fc.option(fc.record({ inMs: millis, isTooLate: fc.boolean() }), { nil: undefined }),
  sampling: fc.constantFrom(
    undefined,
    { pilotTasks: 1, pilots: [] },
    { pilotTasks: 1, pilots: [], decidedMs: 1 },
  ),
});

/** Returns what a sentence claims, by its words. */
function claimOf(words: string): string {
  if (words.startsWith('met')) return 'met';
  if (words.startsWith('missed')) return 'missed';
  if (words.includes('will probably be missed')) return 'late';
  if (words.includes('at risk')) return 'risk';
  if (words.includes('expected to be met')) return 'fine';
  return 'open';
}

test('the sentence, the state, the column and the filter never disagree', () => {
  fc.assert(
    fc.property(
      jobs,
      fc.integer({ min: 0, max: 150_000 }),
      ({ end, latestStart, sampling, ...more }, now) => {
        const expectedEnd = end && {
          at: now + end[0],
          earliest: now + end[0] - end[1],
          latest: now + end[0] + end[2],
          computedAt: now - end[3],
        };
        const job = { submittedAt: 0, ...more, expectedEnd } as unknown as JobSummary;
        const explained = { job, sampling, central: { needs: [{ latestStart }] } };
        const words = deadlineSentence(explained as never, now);
        const state = deadlineState(job, now);
        if (state === undefined) {
          expect(words).toBeUndefined();
          return;
        }
        expect(claimOf(words!)).toBe(state);
        // Only without an expected end does the latest start say whether the deadline can be met.
        if (state !== 'open')
          expect(words).not.toMatch(/can no longer be met|must start within|may end late/);
        const filters = DEADLINE_FILTERS.filter((filter) => matchesDeadline(filter, job, now));
        const filter = state === 'late' ? 'risk' : state;
        expect(filters).toEqual(
          DEADLINE_FILTERS.filter((each) => each === 'any' || (each === filter && state !== 'risk')),
        );
      },
    ),
  );
});
