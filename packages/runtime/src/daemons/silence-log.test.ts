import { expect, test } from 'vitest';
import { SilenceLog } from './silence-log.js';

/** Looks once per character: `-` central answers, `s` it is silent. @returns the reported kinds, with their second */
function reported(silences: SilenceLog, looks: string): string[] {
  return [...looks].flatMap((look, at) =>
    silences
      .check(look === 's')
      .map((news) => (news.kind === 'held-back' ? `${at} ${news.count} held back` : `${at} ${news.kind}`)),
  );
}

test('a silence of three checks is reported, and its end; a shorter one is not', () => {
  expect(reported(new SilenceLog(), 'ss-sssss--')).toEqual(['5 silent', '8 heard']);
});

test('an alternating central is reported three times, then with one count for ten minutes', () => {
  const silences = new SilenceLog();
  const lines = reported(silences, 'ssss------'.repeat(61));
  expect(lines).toEqual([
    ...['2 silent', '4 heard', '12 silent', '14 heard', '22 silent', '24 heard'],
    '602 57 held back',
    ...['602 silent', '604 heard'],
  ]);
});

test('a long silence is reported however many came before it', () => {
  const silences = new SilenceLog();
  reported(silences, 'ssss------'.repeat(10));
  expect(reported(silences, `${'s'.repeat(100)}-`)).toEqual(['29 silent', '100 heard']);
});
