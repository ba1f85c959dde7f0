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

it('lists for an hour what central recorded before this process started, or between two polls', () => {
  const log = new AttentionLog();
  const item = (seconds: number, ...findings: Finding[]) =>
    log
      .note(findings, NOW + 1_000 * seconds)
      .map(({ key, since, times, over }) => ({ key, since, times, over }));
  const recall = (finding: Finding | undefined, seconds: number): void =>
    log.recall(BAD.key, finding, NOW + 1_000 * seconds);
  // The end of a condition whose beginning is unknown.
  recall(undefined, -700);
  for (const begin of [-600, -300, -100]) {
    recall(BAD, begin);
    recall(undefined, begin + 20);
  }
  expect(item(0)).toEqual([{ key: BAD.key, since: at(-100), times: 3, over: at(-80) }]);
  // A worker that was not lost joins again.
  recall(undefined, -20);
  expect(item(1)).toEqual([{ key: BAD.key, since: at(-100), times: 3, over: at(-80) }]);
  // It begins again, and a poll sees it before central's record is read.
  expect(item(2, BAD)).toEqual([{ key: BAD.key, since: at(2), times: 4, over: null }]);
  recall(BAD, 1);
  expect(item(4, BAD)).toEqual([{ key: BAD.key, since: at(2), times: 4, over: null }]);
  // It ends and begins between two polls.
  recall(undefined, 20);
  recall(BAD, 21);
  expect(item(22, BAD)).toEqual([{ key: BAD.key, since: at(21), times: 5, over: null }]);
  expect(item(24)).toEqual([{ key: BAD.key, since: at(21), times: 5, over: at(22) }]);
  const many: Finding = { ...BAD, key: 'quarantined', what: '9 workers', covers: [BAD.key] };
  expect(item(26, many).map(({ key }) => key)).toEqual(['quarantined']);
});

it('adds what is known when an item is shown, also after its end', () => {
  const log = new AttentionLog();
  let failed = 0;
  const bad = { ...BAD, hint: 'why', more: () => ({ hint: `; ${failed} failed`, actions: [] }) };
  expect(log.note([bad], NOW)[0]!.hint).toBe('why; 0 failed');
  failed = 12;
  expect(log.note([], NOW + 2_000)[0]!.hint).toBe('why; 12 failed');
});
