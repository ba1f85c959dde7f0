import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { EventLog } from './event-log.js';

function bench() {
  const lines: object[] = [];
  const logger = { info: (fields: object) => void lines.push(fields) } as unknown as Logger;
  const time = { now: 0 };
  return { lines, time, log: new EventLog(logger, () => time.now) };
}

test('a storm of one kind is a few lines and one with the count of the rest; other kinds are unaffected', () => {
  const { lines, time, log } = bench();
  for (let i = 0; i < 1_000; i++) log.report('job-ended', { job: i }, 'job ended');
  log.report('worker-lost', {}, 'worker lost');
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toEqual({ event: 'worker-lost' });
  time.now = 10_000;
  log.report('job-ended', { job: 1_000 }, 'job ended');
  expect(lines.slice(21)).toEqual([
    { event: 'job-ended', heldBack: 980 },
    { event: 'job-ended', job: 1_000 },
  ]);
});
