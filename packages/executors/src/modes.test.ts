import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createRecord, recordFile } from './process-groups.js';

it('only their owner can read records of process groups, with any umask', () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-modes-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const before = process.umask(0);
  try {
    const file = recordFile(folder, 'a');
    createRecord(file, { pid: 1, start: 1 }, { pid: 2, start: 2 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
  } finally {
    process.umask(before);
  }
});
