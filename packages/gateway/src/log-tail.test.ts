import { expect, it } from 'vitest';
import { LogTail } from './log-tail.js';

const AT = Date.UTC(2026, 10, 29, 8, 15);

const chunk = (bytes: Uint8Array, task = 0, stream: 'stdout' | 'stderr' = 'stdout') => ({
  task,
  attempt: 1,
  stream,
  bytes,
  at: AT,
});

it('keeps the end of output beyond the limit, in order of arrival', () => {
  const tail = new LogTail(10);
  for (let i = 0; i < 8; i++) tail.add(chunk(Buffer.from(`${i}..\n`), i % 3));
  const at = '2026-11-29T08:15:00.000Z';
  expect(tail.end()).toEqual([
    { task: 0, attempt: 1, stream: 'stdout', at, text: '6..\n' },
    { task: 1, attempt: 1, stream: 'stdout', at, text: '7..\n' },
  ]);
  expect(tail.isTruncated).toBe(true);
});

it('joins characters split between two chunks of a stream, with other chunks between', () => {
  const tail = new LogTail(100);
  const euro = Buffer.from('€');
  tail.add(chunk(euro.subarray(0, 1)));
  tail.add(chunk(euro.subarray(0, 2), 0, 'stderr'));
  tail.add(chunk(euro.subarray(1)));
  expect(tail.end().map(({ text }) => text)).toEqual(['', '\ufffd', '€']);
  expect(tail.isTruncated).toBe(false);
});
