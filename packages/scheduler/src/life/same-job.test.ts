import { parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import { isSameJob } from './same-job.js';

const stdin = (...bytes: number[]) =>
  parseJobSpec({ tasks: [{ exec: ['cat'], stdin: new Uint8Array(bytes) }] });

test('submissions are equal if they request the same', () => {
  const job = parseJobSpec({ tasks: [{ sleep: 1 }, { exec: ['a'], env: { A: '1', B: '2' } }], retries: 2 });
  const again = parseJobSpec({ retries: 2, tasks: [{ sleep: 1 }, { exec: ['a'], env: { B: '2', A: '1' } }] });
  expect(isSameJob(job, again)).toBe(true);
  // A journal omits undefined fields.
  expect(isSameJob(job, JSON.parse(JSON.stringify(job)))).toBe(true);
  expect(isSameJob(stdin(1, 2), stdin(1, 2))).toBe(true);
});

test('a submission repeated from another span is equal', () => {
  const from = (span: string) =>
    parseJobSpec({ tasks: [{ sleep: 1 }], traceparent: `00-${'a'.repeat(32)}-${span}-01` });
  expect(isSameJob(from('b'.repeat(16)), from('c'.repeat(16)))).toBe(true);
});

test('submissions differ if any field does', () => {
  const job = parseJobSpec({ tasks: [{ sleep: 1 }, { sleep: 2 }] });
  for (const other of [
    { tasks: [{ sleep: 1 }, { sleep: 3 }] },
    { tasks: [{ sleep: 1 }] },
    { tasks: { count: 2, run: { sleep: 1 } } },
    { tasks: [{ sleep: 1 }, { sleep: 2 }], retries: 1 },
    { tasks: [{ sleep: 1 }, { sleep: 2 }], timeout: 5 },
  ]) {
    expect(isSameJob(job, parseJobSpec(other))).toBe(false);
    expect(isSameJob(parseJobSpec(other), job)).toBe(false);
  }
  expect(isSameJob(stdin(1, 2), stdin(1, 3))).toBe(false);
});
