import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** A checkout whose programs say which of them runs. */
let packages: string;

beforeEach(() => {
  packages = mkdtempSync(join(tmpdir(), 'goshawk-bundle-'));
  mkdirSync(join(packages, 'core'));
  mkdirSync(join(packages, 'cli'));
  cpSync(join(import.meta.dirname, '../bin'), join(packages, 'cli/bin'), { recursive: true });
  write('cli/package.json', '{ "type": "module" }');
});

afterEach(() => rmSync(packages, { recursive: true }));

function write(file: string, text: string, minute = 0): void {
  const path = join(packages, file);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  utimesSync(path, minute * 60, minute * 60);
}

function run(): string {
  return execFileSync(process.execPath, [join(packages, 'cli/bin/goshawk.js')], { encoding: 'utf8' }).trim();
}

describe('what the command runs', () => {
  it('is the bundle that was made after everything was compiled', () => {
    write('core/tsconfig.tsbuildinfo', '', 1);
    write('cli/dist/main.js', 'console.log("compiled")', 1);
    write('cli/bundle/main.js', 'console.log("bundled")', 2);
    expect(run()).toBe('bundled');
  });

  it('is what was compiled, once any package was compiled again', () => {
    write('core/tsconfig.tsbuildinfo', '', 3);
    write('cli/dist/main.js', 'console.log("compiled")', 1);
    write('cli/bundle/main.js', 'console.log("bundled")', 2);
    expect(run()).toBe('compiled');
  });

  it('is what was compiled, where there is no bundle', () => {
    write('cli/dist/main.js', 'console.log("compiled")', 1);
    expect(run()).toBe('compiled');
  });
});
