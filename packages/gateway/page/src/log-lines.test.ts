import { expect, test } from 'vitest';
import { linesOf } from './log-lines.js';

const AT = '2026-11-29T08:15:00.000Z';

function chunk(task: number, text: string, more: { at?: string; stream?: 'stderr'; attempt?: number } = {}) {
  return { task, attempt: 1, stream: 'stdout' as const, at: AT, text, ...more };
}

test('lines are whole if they arrive in parts, between those of other tasks and streams', () => {
  const lines = linesOf([
    chunk(0, 'one '),
    chunk(1, 'a\n\nb'),
    chunk(0, 'oops\n', { stream: 'stderr' }),
    chunk(0, 'line\nlast'),
    chunk(0, 'again\n', { attempt: 2 }),
  ]);
  expect(lines.map(({ task, stream, text }) => `${task} ${stream} ${text}`)).toEqual([
    '1 stdout a',
    '1 stdout ',
    '0 stderr oops',
    '0 stdout one line',
    '0 stdout again',
    '0 stdout last',
    '1 stdout b',
  ]);
});

test('a progress bar is its last state, and lines may end like those of Windows', () => {
  const text = (of: string) => linesOf([chunk(0, of)]).map(({ text }) => text);
  expect(text('10%\r20%\r100%\n')).toEqual(['100%']);
  expect(text('10%\r20%\r')).toEqual(['20%']);
  expect(text('a\r\nb\r\n')).toEqual(['a', 'b']);
});

test('a line has the time at which it began', () => {
  const later = '2026-11-29T08:15:09.000Z';
  const lines = linesOf([
    chunk(0, 'one\ntw'),
    chunk(0, 'o\n', { at: later }),
    chunk(0, 'three\n', { at: later }),
  ]);
  expect(lines.map(({ text, at }) => [text, at])).toEqual([
    ['one', AT],
    ['two', AT],
    ['three', later],
  ]);
});
