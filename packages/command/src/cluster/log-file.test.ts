import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogFile } from './log-file.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-log-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const line = (text: string): Buffer => Buffer.from(`${text}\n`);

describe('the log of a child', () => {
  it('is private and is appended to', () => {
    const path = join(folder, 'logs', 's0.log');
    for (const text of ['one', 'two']) {
      const log = new LogFile(path);
      log.write(line(text));
      log.close();
    }
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'logs')).mode & 0o777).toBe(0o700);
  });

  it('consists of two files of bounded size', () => {
    const path = join(folder, 's0.log');
    const log = new LogFile(path, 10);
    for (const text of ['first', 'second', 'third', 'fourth', 'fifth']) log.write(line(text));
    log.close();
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('fourth\n');
    expect(readFileSync(path, 'utf8')).toBe('fifth\n');
    const again = new LogFile(path, 10);
    again.write(line('sixth'));
    again.write(line('7'));
    again.close();
    expect(readdirSync(folder)).toHaveLength(2);
    expect(statSync(path).size).toBeLessThanOrEqual(12);
  });

  it.runIf(process.platform === 'linux')('ignores write errors', () => {
    const path = join(folder, 's0.log');
    symlinkSync('/dev/full', path);
    const before = readdirSync('/proc/self/fd').length;
    const log = new LogFile(path);
    for (let i = 0; i < 10; i++) log.write(line('lost'));
    expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 1);
    rmSync(path);
    log.write(line('there is room'));
    log.close();
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('there is room\n');
  });
});
