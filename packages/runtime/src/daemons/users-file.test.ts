import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@goshawk/transport';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { followUsersFile, readUsersFile } from './users-file.js';

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-users-'));
  path = join(folder, 'users.json');
  writeFileSync(path, '{"ann": {"weight": 2}}');
});
afterEach(() => rmSync(folder, { recursive: true }));

it('is refused if it is too large, because central would stand still while it reads', () => {
  writeFileSync(path, ' '.repeat(4 * 1024 * 1024 + 1));
  expect(() => readUsersFile(path)).toThrow(/--users: cannot read .*: it has more than 4 MiB/);
});

it('is reported once if it is removed, and read again when it is back', () => {
  vi.useFakeTimers();
  try {
    const log: string[] = [];
    const weights: (number | undefined)[] = [];
    const note = (fields: object, message: string) => void log.push(`${JSON.stringify(fields)} ${message}`);
    const logger = { error: note, info: () => {} } as unknown as Logger;
    const stop = followUsersFile(readUsersFile(path), logger, (grants) =>
      weights.push(grants.get('ann')?.weight),
    );
    rmSync(path);
    vi.advanceTimersByTime(20_000);
    expect(log).toEqual([expect.stringMatching(/there is no such file.*the users are unchanged/)]);
    writeFileSync(path, '{"ann": {"weight": 3}}');
    vi.advanceTimersByTime(4_000);
    writeFileSync(`${path}.new`, '{"ann": {"weight": 4}}');
    renameSync(`${path}.new`, path);
    vi.advanceTimersByTime(4_000);
    stop();
    expect(weights).toEqual([3, 4]);
  } finally {
    vi.useRealTimers();
  }
});
