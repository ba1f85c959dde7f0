import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runGoshawk, startGoshawk } from './goshawk-process.fixture.js';

/** A package whose programs print which of them runs. */
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'goshawk-program-'));
  cpSync(join(import.meta.dirname, '../bin'), join(home, 'bin'), { recursive: true });
  write('package.json', '{ "type": "module" }');
});

afterEach(() => rmSync(home, { recursive: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(home, file)), { recursive: true });
  writeFileSync(join(home, file), text);
}

const program = () => join(home, 'bin/goshawk.js');

function run(): string {
  return execFileSync(process.execPath, [program()], { encoding: 'utf8' }).trim();
}

describe('the program that the command runs', () => {
  it('is the bundle if it exists, else the compiled code', () => {
    write('dist/main.js', 'console.log("compiled")');
    expect(run()).toBe('compiled');
    write('bundle/main.cjs', 'console.log("bundled")');
    expect(run()).toBe('bundled');
  });

  it('is missing before the first build, which is reported', () => {
    const { status, stderr } = spawnSync(process.execPath, [program()], { encoding: 'utf8' });
    expect(stderr).toBe('goshawk: not built yet; run `npm run build` in the checkout first\n');
    expect(status).toBe(2);
  });
});

describe.runIf(process.platform === 'linux')('a current folder that was removed', () => {
  it('is an error of one line', () => {
    const real = join(import.meta.dirname, '../bin/goshawk.js');
    const gone = mkdtempSync(join(home, 'gone-'));
    const { status, stdout, stderr } = spawnSync(
      'sh',
      ['-c', 'cd "$3" && rmdir "$3" && "$1" "$2" run -- pwd', 'sh', process.execPath, real, gone],
      { encoding: 'utf8', env: { PATH: process.env.PATH } },
    );
    expect(stderr).toBe('goshawk: the current folder no longer exists; change to another folder\n');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });
});

describe.runIf(process.platform === 'linux')('an argument that is not UTF-8', () => {
  it.each([
    ['--name "$(printf \'a\\377\')" --sleep 1ms', 'a�'],
    ['-- echo "$(printf \'\\303(\')"', '�('],
  ])('is an error of one line: submit %s', (words, shown) => {
    const real = join(import.meta.dirname, '../bin/goshawk.js');
    const { status, stdout, stderr } = spawnSync(
      'sh',
      ['-c', `"$1" "$2" submit ${words}`, 'sh', process.execPath, real],
      { encoding: 'utf8', env: { PATH: process.env.PATH } },
    );
    expect(stderr).toBe(
      `goshawk: the argument "${shown}" is not valid UTF-8; pass other bytes in a file: --stdin FILE or --each-line FILE\n`,
    );
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });
});

describe.runIf(process.platform === 'linux')('a failed write', () => {
  const real = join(import.meta.dirname, '../bin/goshawk.js');
  const shell = (line: string) =>
    spawnSync('sh', ['-c', line, 'sh', process.execPath, real], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    });

  it('to a full disk is an error of one line', () => {
    const why = 'cannot write to stdout: ENOSPC: no space left on device, write';
    expect(shell('"$1" "$2" policies > /dev/full')).toMatchObject({ status: 1, stderr: `goshawk: ${why}\n` });
    const { stderr } = shell('"$1" "$2" policies --json > /dev/full');
    expect(JSON.parse(stderr)).toMatchObject({
      schema: 'goshawk.error/1',
      code: 'stdout-failed',
      message: why,
    });
  });

  it('to a closed pipe is not an error', () => {
    const { stdout, stderr } = shell('"$1" "$2" policies | head -n 1');
    expect([stdout, stderr]).toEqual(['policy\n', '']);
  });
});

it('leaves no partial file, also if the terminal is closed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-hang-up-'));
  try {
    const trace = ['trace', 'generate', 'google-like:jobs=2000000', '--out', 'big.tr'];
    const command = startGoshawk([...trace, '--progress', 'plain'], {}, { cwd: folder });
    await command.says(/writing jobs: [1-9]/);
    // A terminal and its shell may both send the signal.
    for (let time = 0; time < 2; time++) command.kill('SIGHUP');
    expect((await command.finished).exitCode).toBe(129);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('says so if a module waits for something that never happens', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-endless-'));
  try {
    writeFileSync(join(folder, 'endless.mjs'), 'await new Promise(() => {}); export default {};');
    const { exitCode, stderr } = await runGoshawk(['policies', './endless.mjs'], {}, { cwd: folder });
    expect(stderr).toMatch(/^goshawk: the command ended before its work was done; a custom policy.*\n$/);
    expect(exitCode).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
