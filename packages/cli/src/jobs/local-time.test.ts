import { afterEach, describe, expect, it, vi } from 'vitest';
import { clockTime, localTime } from './local-time.js';

afterEach(() => {
  vi.unstubAllEnvs();
});

const shown = (zone: string, time: string): string => {
  vi.stubEnv('TZ', zone);
  return localTime(Date.parse(time));
};

describe('a local time', () => {
  it('has a date and a time', () => {
    expect(shown('Europe/Berlin', '2026-11-25T21:30:05Z')).toBe('2026-11-25 22:30:05');
    expect(shown('America/New_York', '2026-07-01T03:00:00Z')).toBe('2026-06-30 23:00:00');
  });

  it('follows the clocks when they go forward', () => {
    expect(shown('Europe/Berlin', '2026-03-29T00:59:59Z')).toBe('2026-03-29 01:59:59');
    expect(shown('Europe/Berlin', '2026-03-29T01:00:00Z')).toBe('2026-03-29 03:00:00');
    expect(shown('America/New_York', '2026-03-08T07:00:00Z')).toBe('2026-03-08 03:00:00');
  });

  it.each([
    ['Europe/Berlin', '2026-10-24T23:59:59Z', '2026-10-25 01:59:59'],
    ['Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-25 02:00:00 +02:00'],
    ['Europe/Berlin', '2026-10-25T00:59:59Z', '2026-10-25 02:59:59 +02:00'],
    ['Europe/Berlin', '2026-10-25T01:00:00Z', '2026-10-25 02:00:00 +01:00'],
    ['Europe/Berlin', '2026-10-25T02:00:00Z', '2026-10-25 03:00:00'],
    ['America/New_York', '2026-11-01T04:59:59Z', '2026-11-01 00:59:59'],
    ['America/New_York', '2026-11-01T05:30:00Z', '2026-11-01 01:30:00 -04:00'],
    ['America/New_York', '2026-11-01T06:30:00Z', '2026-11-01 01:30:00 -05:00'],
    ['America/New_York', '2026-11-01T07:00:00Z', '2026-11-01 02:00:00'],
    ['Australia/Lord_Howe', '2026-04-04T14:45:00Z', '2026-04-05 01:45:00 +11:00'],
    ['Australia/Lord_Howe', '2026-04-04T14:15:00Z', '2026-04-05 01:15:00'],
  ])('in %s at %s is %s: with the offset if it occurs twice', (zone, time, text) => {
    expect(shown(zone, time)).toBe(text);
  });

  it('lacks the date today, which may have 23 or 25 hours', () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    const time = (at: string, now: string) => clockTime(Date.parse(at), Date.parse(now));
    expect(time('2026-10-24T22:00:00Z', '2026-10-25T22:59:00Z')).toBe('00:00:00');
    expect(time('2026-10-24T21:59:59Z', '2026-10-25T22:59:00Z')).toBe('10-24 23:59:59');
    expect(time('2026-03-28T22:59:00Z', '2026-03-29T21:59:00Z')).toBe('03-28 23:59:00');
    expect(time('2026-03-28T23:00:00Z', '2026-03-29T21:59:00Z')).toBe('00:00:00');
    expect(time('2026-10-25T00:15:00Z', '2026-10-25T01:15:00Z')).toBe('02:15:00 +02:00');
  });
});
