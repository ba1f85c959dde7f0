import { describe, expect, it } from 'vitest';
import { beginOf, parseBegin } from './begin.js';

const NOW = Date.parse('2026-11-25T21:30:00Z');

describe('the begin time of a job', () => {
  it('is a delay, or a time with its zone', () => {
    expect(parseBegin('2h', 'begin')).toEqual({ afterMs: 7_200_000 });
    expect(parseBegin('+1h30m', 'begin')).toEqual({ afterMs: 5_400_000 });
    expect(parseBegin('2026-11-25T22:00:00Z', 'begin')).toEqual({ at: Date.parse('2026-11-25T22:00:00Z') });
    expect(parseBegin('2026-11-25T22:00+01:00', 'begin')).toEqual({ at: Date.parse('2026-11-25T21:00:00Z') });
  });

  it.each(['22:00', '2026-11-25', '2026-11-25T22:00', '2026-11-25 22:00:00'])('%s lacks its zone', (text) => {
    expect(() => parseBegin(text, 'begin')).toThrow(`begin: "${text}" does not say its time zone`);
  });

  it.each([
    '',
    'soon',
    '7',
    '-1h',
    '25:00Z',
    '2026-02-30T10:00:00Z',
    '2026-13-01T10:00:00Z',
    '2026-11-25T24:61:00Z',
  ])('%j is neither', (text) => {
    expect(() => parseBegin(text, 'begin')).toThrow(/^begin: .* is neither a delay nor a time$/);
  });

  it('is limited to a finite delay', () => {
    expect(() => parseBegin(`${'9'.repeat(60)}d`, 'begin')).toThrow(/^begin: /);
  });
});

describe('a written begin time', () => {
  const at = (text: string, now = NOW, zone = 'Europe/Berlin') => beginOf(text, '--begin', now, zone);

  it('is local, and the next time that the clock shows it', () => {
    // 22:30 in Berlin.
    expect(at('23:00')).toBe('2026-11-25T22:00:00.000Z');
    expect(at('22:30')).toBe('2026-11-26T21:30:00.000Z');
    expect(at('6:05')).toBe('2026-11-26T05:05:00.000Z');
    expect(at('22:30:01')).toBe('2026-11-25T21:30:01.000Z');
    expect(at('23:00', NOW, 'Asia/Kolkata')).toBe('2026-11-26T17:30:00.000Z');
  });

  it('may be a date, or a date and a time, in the given zone or an explicit one', () => {
    expect(at('2026-12-01')).toBe('2026-11-30T23:00:00.000Z');
    expect(at('2026-07-01 12:00')).toBe('2026-07-01T10:00:00.000Z');
    expect(at('2026-12-01T12:00:30')).toBe('2026-12-01T11:00:30.000Z');
    expect(at('2026-12-01T12:00:00-05:00')).toBe('2026-12-01T12:00:00-05:00');
  });

  it('may be a delay from the acceptance', () => {
    expect(at(' +2h ')).toBe('+2h');
    expect(at('90m')).toBe('90m');
  });

  it('skips the gap when clocks go forward', () => {
    // On 29 March 2026 clocks in Berlin go from 2:00 to 3:00.
    const evening = Date.parse('2026-03-28T20:00:00Z');
    expect(at('02:30', evening)).toBe('2026-03-29T01:30:00.000Z');
    expect(at('03:30', evening)).toBe('2026-03-29T01:30:00.000Z');
    expect(at('2026-03-29 01:59', evening)).toBe('2026-03-29T00:59:00.000Z');
  });

  it('is the first future one of two when clocks go back', () => {
    // On 25 October 2026 clocks in Berlin go from 3:00 to 2:00.
    const evening = Date.parse('2026-10-24T20:00:00Z');
    expect(at('02:30', evening)).toBe('2026-10-25T00:30:00.000Z');
    expect(at('02:30', Date.parse('2026-10-25T00:45:00Z'))).toBe('2026-10-25T01:30:00.000Z');
    expect(at('02:30', Date.parse('2026-10-25T01:45:00Z'))).toBe('2026-10-26T01:30:00.000Z');
  });

  it('follows the clocks of New York', () => {
    const in2026 = (text: string, now: string) => at(text, Date.parse(now), 'America/New_York');
    expect(in2026('2026-03-08 02:30', '2026-03-07T20:00:00Z')).toBe('2026-03-08T07:30:00.000Z');
    expect(in2026('01:30', '2026-11-01T04:00:00Z')).toBe('2026-11-01T05:30:00.000Z');
    expect(in2026('01:30', '2026-11-01T05:45:00Z')).toBe('2026-11-01T06:30:00.000Z');
    expect(in2026('01:30', '2026-11-01T06:45:00Z')).toBe('2026-11-02T06:30:00.000Z');
  });

  it.each(['24:00', '12:60', '2026-02-30', '2026-11-25T25:00'])('%s does not exist', (text) => {
    expect(() => at(text)).toThrow(`--begin: "${text}" is not a valid time`);
  });

  it('is refused if it is none', () => {
    expect(() => at('tomorrow')).toThrow(/^--begin: "tomorrow" is neither/);
  });
});
