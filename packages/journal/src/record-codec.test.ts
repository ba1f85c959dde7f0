import { readFileSync, writeFileSync } from 'node:fs';
import {
  type JobRecordOf,
  type JobSpec,
  LIMITS,
  NO_RESOURCES,
  type Payload,
  parseJobSpec,
  sumOf,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { BadRecordError, decodeHead, decodeRecord, encodeRecord, FORMAT, jsonOf } from './record-codec.js';
import { accepted, attempt, EVERY_RECORD } from './records.fixture.js';

describe('records as bytes', () => {
  test(`of format ${FORMAT} have not changed (UPDATE_GOLDEN=1 writes them)`, () => {
    const golden = new URL('./record-format.golden.txt', import.meta.url);
    const bytes = EVERY_RECORD.map(encodeRecord);
    const lines = bytes.map((each) => `${each.toString('hex')}\n`).join('');
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(golden, lines);
    expect(lines).toBe(readFileSync(golden, 'utf8'));
    expect(bytes.map((each) => decodeRecord(each))).toEqual(EVERY_RECORD);
  });

  test('keeps a task without a demand one that takes a CPU', () => {
    const read = decodeRecord(encodeRecord(accepted(1, { spec: parseJobSpec({ tasks: [{ sleep: 1 }] }) })));
    expect((read as JobRecordOf<'accepted'>).spec.stages[0]!.demand).toBe(NO_RESOURCES);
  });

  test('preserves every field of a job', () => {
    const spec = parseJobSpec({
      tasks: [{ exec: ['a'], stdout: 'out/{index}', stderr: '/dev/null' }],
      retries: 2,
      retryBackoff: '1s',
      retryOn: [75, 137],
      timeLimit: '10m',
      priority: 'low',
      prefer: { rack: 'r1' },
      slowdown: 2,
      after: ['a-1'],
      afterOk: ['a-2'],
      deadline: '1h',
      value: 3,
      maxRunning: 4,
      timeout: '5s',
    });
    // A field that this version does not know is kept as well.
    const said = { ...spec, added: 'later' };
    expect(decodeRecord(encodeRecord(accepted(1, { spec: said })))).toEqual(accepted(1, { spec: said }));
  });

  test.each(EVERY_RECORD.filter(({ kind }) => kind === 'accepted' || kind === 'classified'))(
    'the estimates of stages are kept with a job that was $kind',
    (record) => {
      const withEstimates = { ...record, stagesMs: [30_000, 1.5] };
      expect(decodeRecord(encodeRecord(withEstimates))).toEqual(withEstimates);
    },
  );

  test('a job with a column of sleeps keeps it', () => {
    const spec = {
      ...accepted(1).spec,
      stages: [{ name: 's', after: [], demand: {}, tasks: { sleepsMs: new Float64Array([1, 2.5]) } }],
    };
    const read = decodeRecord(encodeRecord(accepted(1, { spec })));
    expect(read).toMatchObject({ spec: { stages: [{ tasks: { sleepsMs: [1, 2.5] } }] } });
  });

  test('a job keeps all its fields', () => {
    const spec = { ...accepted(1).spec, user: 'ann', estimateMs: 5, logicalName: 'nightly', seed: '7' };
    expect(decodeRecord(encodeRecord(accepted(1, { spec })))).toEqual(accepted(1, { spec }));
  });

  test('a flipped bit is detected at any position', () => {
    const good = encodeRecord(accepted(1));
    for (let at = 0; at < good.length; at++) {
      const bad = Buffer.from(good);
      bad[at]! ^= 1;
      expect(() => decodeRecord(bad)).toThrow(BadRecordError);
    }
  });

  test('truncation is detected', () => {
    const good = encodeRecord(accepted(1));
    for (const length of [0, 3, 4, good.length - 1]) {
      expect(() => decodeRecord(good.subarray(0, length))).toThrow(BadRecordError);
    }
  });
});

test('a retry with the maximum number of ranges takes less than 64 kB of journal', () => {
  const tasks = Array.from({ length: LIMITS.taskRangesMax }, (_, at) => ({
    first: 900_000 + 2 * at,
    last: 900_000 + 2 * at,
  }));
  const choice = { failedOnly: true, tasks };
  expect(encodeRecord({ kind: 'retried', job: 1, at: 1e12, key: 'k', choice }).length).toBeLessThan(64_000);
});

/** Estimates memory as a scheduler that accepts a job does: 16 bytes for each value and key, and their text. */
function acceptedBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 16;
  const keys = Array.isArray(value) ? 0 : sumOf(Object.keys(value), (key) => 16 + key.length);
  return 16 + keys + sumOf(Object.values(value), acceptedBytes);
}

describe('a record of more than a megabyte', () => {
  const big = (text: string): Payload => ({ exec: ['true'], env: { BIG: text.repeat(1_000) } });
  const specOf = (each: readonly Payload[]): JobSpec => ({
    ...accepted(1).spec,
    stages: [
      { name: 'one', after: [], demand: {}, tasks: { each: [{ sleep: 1 }] } },
      { name: 'two', after: [0], demand: {}, tasks: { each } },
    ],
  });
  const alike = accepted(1, { spec: specOf(Array.from({ length: 3_000 }, () => big('x'))) });
  const mixed = accepted(1, {
    spec: specOf(
      Array.from({ length: 3_000 }, (_, task) =>
        task % 3 === 2 ? { exec: ['cat'], stdin: `${task}` } : big(`${task % 7}`),
      ),
    ),
  });
  const appended = {
    kind: 'appended',
    job: 1,
    at: 5,
    first: 0,
    tasks: Array.from({ length: 2_000 }, () => big('y')),
    digest: 'd',
    close: true,
  } as const;
  const returned = attempt(1, 0, 'z'.repeat(2_000_000));

  test.each([
    ['payloads that are alike', alike],
    ['payloads that differ', mixed],
    ['tasks that were appended', appended],
    ['what a task returned', returned],
  ])('with %s can be read completely, by its head alone, or as JSON', (_, record) => {
    const bytes = encodeRecord(record);
    expect(bytes.length).toBeGreaterThan(1_100_000);
    const read = decodeRecord(bytes);
    expect(read).toEqual(record);
    const { kind, job, at } = record;
    expect(decodeHead(bytes)).toEqual({ kind, job, at });
    const parts = [...jsonOf(bytes, (head) => `t-${head.job}`)];
    expect(parts.join('')).toBe(`${JSON.stringify({ id: 't-1', ...read })}\n`);
  });

  test('uses no more memory for equal payloads than for one', () => {
    const bytes = encodeRecord(alike);
    const read = decodeRecord(bytes, 100_000);
    const { tasks } = (read as JobRecordOf<'accepted'>).spec.stages[1]!;
    expect(new Set('each' in tasks ? tasks.each : []).size).toBe(1);
  });

  test.each<[string, Payload]>([
    ['sleeps', { sleep: 1 }],
    ['commands', { exec: ['a', 'b'] }],
    ['modules', { module: '/m.js', input: { a: [1, [2, 'x']], b: { c: true } } }],
  ])('of %s takes at most half as much again as the scheduler that accepts it estimates', (_, one) => {
    const each = Array.from({ length: 100_000 }, (_, task) => ({ ...one, env: { K: `${task}` } }) as Payload);
    const accepts = each.length * 64 + acceptedBytes(each);
    expect(decodeRecord(encodeRecord(accepted(1, { spec: specOf(each) })), 1.5 * accepts)).toBeDefined();
  });

  test('that needs more than the limit is omitted and reported', () => {
    const read = (): unknown => decodeRecord(encodeRecord(mixed), 1_000_000);
    expect(read).toThrow(BadRecordError);
    expect(read).toThrow('it takes more than 1 MiB of memory, the limit for one record');
  });

  test('that is truncated or has a flipped bit is detected', () => {
    const bytes = encodeRecord(mixed);
    const bad = Buffer.from(bytes);
    bad[1_000_000]! ^= 1;
    for (const each of [bad, bytes.subarray(0, bytes.length - 1)]) {
      expect(() => decodeRecord(each)).toThrow(BadRecordError);
      expect(() => decodeHead(each)).toThrow(BadRecordError);
      expect(() => [...jsonOf(each, () => '')]).toThrow(BadRecordError);
    }
  });
});
