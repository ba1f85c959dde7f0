import { crc32 } from 'node:zlib';
import type { JobRecord } from '@goshawk/core';
import { Packr } from 'msgpackr/index-no-eval';
import { describe, expect, test } from 'vitest';
import { decodeHead, decodeRecord, encodeRecord } from './record-codec.js';
import { accepted, attempt, EVERY_RECORD } from './records.fixture.js';

/** Returns the record with other values for the fields at these paths. */
function tampered(record: JobRecord, changes: Readonly<Record<string, unknown>>): JobRecord {
  const copy = structuredClone(record) as unknown as Record<string, unknown>;
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split('.');
    const last = names.pop()!;
    const parent = names.reduce((at, name) => at[name] as Record<string, unknown>, copy);
    parent[last] = value;
  }
  return copy as unknown as JobRecord;
}

const of = (kind: JobRecord['kind']): JobRecord => EVERY_RECORD.find((record) => record.kind === kind)!;

describe('a record with a valid checksum', () => {
  test.each<[JobRecord['kind'], Readonly<Record<string, unknown>>, string]>([
    ['accepted', { at: 1e300 }, 'at'],
    ['accepted', { job: -1 }, 'job'],
    ['accepted', { class: 'medium' }, 'class'],
    ['accepted', { 'route.by': 'luck' }, 'route.by'],
    ['accepted', { 'spec.stages': [] }, 'spec.stages'],
    ['accepted', { 'spec.retries': -1 }, 'spec.retries'],
    ['accepted', { 'spec.stages.1.after': [1] }, 'spec.stages[1].after'],
    ['accepted', { 'spec.stages.0.after': 'cut' }, 'spec.stages[0].after'],
    ['accepted', { 'spec.stages.0.demand': { memory: -5 } }, 'spec.stages[0].demand'],
    ['accepted', { 'spec.stages.1.tasks.count': -3 }, 'spec.stages[1].tasks.count'],
    ['accepted', { 'spec.stages.1.tasks.count': 1_000_000 }, 'spec.stages'],
    ['accepted', { 'spec.stages.0.tasks.each.1': { sleep: 'long' } }, 'spec.stages[0].tasks.each[1].sleep'],
    ['accepted', { stagesMs: [1] }, 'stagesMs'],
    ['classified', { estimateMs: Number.NaN }, 'estimateMs'],
    ['attempt', { task: -1 }, 'task'],
    ['attempt', { attempt: 1.5 }, 'attempt'],
    ['attempt', { runMs: Number.POSITIVE_INFINITY }, 'runMs'],
    ['attempt', { 'outcome.kind': 'unknown' }, 'outcome.kind'],
    ['attempt', { outcome: null }, 'outcome'],
    ['attempt', { worker: 7 }, 'worker'],
    ['ended', { state: 'running' }, 'state'],
    ['schedulers', { names: [1] }, 'names[0]'],
    ['updated', { priority: 'urgent' }, 'priority'],
    ['retried', { 'choice.tasks.0.first': -3 }, 'choice.tasks[0].first'],
    ['appended', { tasks: [{}] }, 'tasks[0].module'],
    ['tasksCancelled', { tasks: 'all' }, 'tasks'],
    ['notified', { ends: -1 }, 'ends'],
    ['usage', { 'rows.0.day': 1e22 }, 'rows[0].day'],
    ['usage', { 'rows.0.cpuMs': 'much' }, 'rows[0].cpuMs'],
  ])('of kind %s is damaged with %j', (kind, changes, field) => {
    const bytes = encodeRecord(tampered(of(kind), changes));
    for (const decode of [decodeRecord, decodeHead])
      expect(() => decode(bytes)).toThrow(
        new RegExp(`^its field ${field.replaceAll(/[[\].]/g, '\\$&')} has`),
      );
  });

  test('is damaged if its spec is no object or has no stages', () => {
    for (const [spec, field] of [
      [5, 'spec'],
      [{ ...accepted(1).spec, stages: {} }, 'spec.stages'],
    ] as const) {
      const packed = new Packr({ useRecords: false }).pack([0, 1, 5, 'k', spec]);
      const sum = Buffer.alloc(4);
      sum.writeUInt32LE(crc32(packed));
      expect(() => decodeRecord(Buffer.concat([sum, packed]))).toThrow(`its field ${field} has`);
    }
  });

  test('that is large is damaged, too', () => {
    const bytes = encodeRecord(tampered(attempt(1, 0, 'z'.repeat(2_000_000)), { task: -1 }));
    for (const decode of [decodeRecord, decodeHead])
      expect(() => decode(bytes)).toThrow('its field task has an impossible value');
    const [stage] = accepted(1).spec.stages;
    const each = Array.from({ length: 3_000 }, () => ({ exec: ['a'.repeat(1_000)] }));
    const spec = { ...accepted(1).spec, stages: [{ ...stage!, tasks: { each } }] };
    const large = accepted(1, { spec });
    expect(decodeHead(encodeRecord(large)).kind).toBe('accepted');
    expect(() => decodeHead(encodeRecord(tampered(large, { 'spec.weight': -1 })))).toThrow('spec.weight');
  });
});
