import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { allowedBy, withOtherKeys } from './worker.js';

const DEFAULTS = { exec: true, execOnly: [], module: true, moduleOnly: [] };

it.each([
  [{}, { exec: true, module: true }],
  [{ exec: false }, { exec: false, module: true }],
  [{ execOnly: ['/bin/sh'] }, { exec: ['/bin/sh'], module: false }],
  [{ moduleOnly: ['/'] }, { exec: false, module: ['/'] }],
  [
    { execOnly: ['/bin/sh'], moduleOnly: ['/'] },
    { exec: ['/bin/sh'], module: ['/'] },
  ],
  [
    { execOnly: ['/bin/sh'], exec: false },
    { exec: false, module: false },
  ],
])('with %j, a worker runs %j', (given, allowed) => {
  expect(allowedBy({ ...DEFAULTS, ...given })).toEqual(allowed);
});

it('listed paths must be absolute and exist', () => {
  expect(() => allowedBy({ ...DEFAULTS, execOnly: ['sh'] })).toThrow(
    /--exec-only: sh is not an absolute path/,
  );
});

it('the keys beside that of the worker are hidden from tasks, and nothing else beside it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-worker-'));
  try {
    const own = join(folder, 'worker.w7.key');
    for (const name of ['worker.w7.key', 'data.csv']) writeFileSync(join(folder, name), '');
    expect(withOtherKeys(own)).toBe(own);
    writeFileSync(join(folder, 'client.ann.key'), '');
    expect(withOtherKeys(own)).toBe(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
