import { describe, expect, test } from 'vitest';
import { fuzz } from './run.js';

const INPUTS = 6_000;

describe.each([
  ['with keys', true],
  ['without', false],
])('a cluster %s', (_, hasKeys) => {
  test('survives all inputs, and serves other clients meanwhile', async () => {
    const { crashed, jobs, inputs, refused } = await fuzz({
      seed: 5,
      inputs: INPUTS,
      hasKeys,
      note: () => {},
    });
    expect(crashed).toStrictEqual([]);
    expect(jobs.failed).toBe(0);
    expect(jobs.completed).toBeGreaterThan(0);
    expect(Object.values(inputs).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(INPUTS);
    expect(refused['goshawk_mailbox_refused_total{reason="malformed"}']).toBeGreaterThan(0);
    expect(refused.goshawk_messages_refused_total).toBeGreaterThan(0);
    if (hasKeys) expect(refused['goshawk_mailbox_refused_total{reason="unknownSender"}']).toBeGreaterThan(0);
  });
});
