import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRecord, GroupRecord, parseRecord, recordFile } from './process-groups.js';
import { bootId, processIdentity } from './process-identity.js';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-groups-'));
  file = recordFile(folder, 'r1');
  createRecord(file, { pid: 100, start: 5 }, { pid: 101, start: 6 });
});

afterEach(() => rmSync(folder, { recursive: true }));

function fail(error: Error): never {
  throw error;
}

function read() {
  return parseRecord(readFileSync(file, 'latin1'));
}

describe('the record of process groups', () => {
  it('contains its owner and the boot id', () => {
    expect(read()).toEqual({
      boot: bootId(),
      worker: { pid: 100, start: 5 },
      spawner: { pid: 101, start: 6 },
      groups: [],
    });
  });

  it('contains a group from add to remove, with its start time', () => {
    const record = new GroupRecord(file, fail);
    const slot = record.add(process.pid);
    const start = processIdentity(process.pid)?.start ?? 0;
    expect(read()?.groups).toEqual([{ pid: process.pid, start }]);
    record.remove(slot);
    expect(read()?.groups).toEqual([]);
    record.delete();
    expect(existsSync(file)).toBe(false);
  });

  it('grows only with the number of concurrent groups', () => {
    const record = new GroupRecord(file, fail);
    record.remove(record.add(process.pid));
    const { size } = statSync(file);
    for (let round = 0; round < 50; round++) record.remove(record.add(process.pid));
    expect(statSync(file).size).toBe(size);
  });

  it('equals a set of groups after any adds and removes', () => {
    const record = new GroupRecord(file, fail);
    const slots = new Map<number, number>();
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 900_000, max: 900_020 }), { maxLength: 40 }), (pids) => {
        for (const pid of pids) {
          const slot = slots.get(pid);
          if (slot === undefined) slots.set(pid, record.add(pid));
          else {
            record.remove(slot);
            slots.delete(pid);
          }
        }
        const recorded = read()!.groups.map((group) => group.pid);
        expect(new Set(recorded)).toEqual(new Set(slots.keys()));
      }),
    );
  });

  it('reports once that it cannot be written, and continues', () => {
    const errors: Error[] = [];
    const record = new GroupRecord(join(folder, 'none', 'r2.txt'), (error) => errors.push(error));
    record.remove(record.add(process.pid));
    expect(errors).toHaveLength(1);
  });

  it('ignores dangerous entries of a damaged file', () => {
    expect(parseRecord('')).toBeUndefined();
    expect(parseRecord('something else\n5 5\n')).toBeUndefined();
    const header = readFileSync(file, 'latin1');
    expect(parseRecord(`${header}0 0\n1 5\n-7 5\nx y\n12`)?.groups).toEqual([]);
  });
});
