import { expect, it } from 'vitest';
import { AttentionLog, type Finding } from './attention.js';

const NOW = 1_764_000_000_000;
const BAD: Finding = {
  key: 'quarantined bad',
  level: 'warning',
  what: 'bad',
  hint: '',
  link: null,
  isLasting: true,
};
const SLOW: Finding = { key: 'slow a-1', level: 'warning', what: 'slow', hint: '', link: null };

function at(seconds: number): string {
  return new Date(NOW + 1_000 * seconds).toISOString();
}

it('keeps since when and how often a condition was true, for an hour after its end', () => {
  const log = new AttentionLog();
  const note = (seconds: number, ...findings: Finding[]) =>
    log
      .note(findings, NOW + 1_000 * seconds)
      .map(({ key, since, times, over }) => ({ key, since, times, over }));
  expect(note(0, BAD)).toEqual([{ key: BAD.key, since: at(0), times: 1, over: null }]);
  expect(note(4, BAD)).toEqual([{ key: BAD.key, since: at(0), times: 1, over: null }]);
  expect(note(6)).toEqual([{ key: BAD.key, since: at(0), times: 1, over: at(4) }]);
  expect(note(8, BAD)).toEqual([{ key: BAD.key, since: at(8), times: 2, over: null }]);
  expect(note(10)).toEqual([{ key: BAD.key, since: at(8), times: 2, over: at(8) }]);
  expect(note(3_608)).toHaveLength(1);
  expect(note(3_609)).toEqual([]);
  // An hour later, it counts from the beginning.
  expect(note(4_000, BAD)).toEqual([{ key: BAD.key, since: at(4_000), times: 1, over: null }]);
});

it('lists a condition that comes and goes with the sample once, and not after its end', () => {
  const log = new AttentionLog();
  log.note([SLOW], NOW);
  expect(log.note([BAD], NOW + 2_000).map(({ key }) => key)).toEqual([BAD.key]);
  const again = log.note([SLOW, BAD], NOW + 4_000);
  expect(again.map(({ key, since, times }) => ({ key, since, times }))).toEqual([
    { key: SLOW.key, since: at(0), times: 1 },
    { key: BAD.key, since: at(2), times: 1 },
  ]);
  log.note([], NOW + 5_000);
  expect(log.note([SLOW], NOW + 90_000)).toMatchObject([{ since: at(90) }, { key: BAD.key, over: at(4) }]);
});

it('shows present conditions first, and the last ten that are over', () => {
  const log = new AttentionLog();
  const many = Array.from({ length: 15 }, (_, index) => ({ ...BAD, key: `lost w${index}` }));
  for (const [index, finding] of many.entries()) log.note([finding], NOW + 1_000 * index);
  const shown = log.note([SLOW], NOW + 20_000);
  expect(shown.map(({ key }) => key)).toEqual([
    SLOW.key,
    ...Array.from({ length: 10 }, (_, index) => `lost w${14 - index}`),
  ]);
});

it('begins when the condition is known to have begun', () => {
  expect(new AttentionLog().note([{ ...SLOW, since: NOW - 60_000 }], NOW)).toMatchObject([
    { since: at(-60) },
  ]);
});
