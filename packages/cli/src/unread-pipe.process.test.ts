import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runGoshawk, startGoshawk } from './goshawk-process.fixture.js';

/** Longer than a command takes to start. */
const STARTED_MS = 1_500;

let folder: string;
let pipe: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-pipes-'));
  pipe = join(folder, 'pipe');
  execFileSync('mkfifo', ['-m', '600', pipe]);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('a pipe without a writer', () => {
  it.each([
    ['a job file', () => ['submit', pipe], 'SIGINT', 130],
    ['input of tasks', () => ['submit', '--each-line', pipe, '--', 'cat'], 'SIGTERM', 143],
    ['input of a command', () => ['submit', '--stdin', pipe, '--', 'cat'], 'SIGINT', 130],
    ['a job file of plan', () => ['plan', pipe], 'SIGINT', 130],
    ['settings', () => ['policies', '--config', pipe], 'SIGINT', 130],
    ['a token', () => ['worker', '--http', '127.0.0.1:0', '--http-token-file', pipe], 'SIGTERM', 143],
    ['a comparison', () => ['compare', pipe], 'SIGINT', 130],
  ] as const)('as %s does not keep the command from ending at a signal', async (_, args, signal, code) => {
    const command = startGoshawk(args(), {}, { cwd: folder });
    const timer = setTimeout(() => command.kill(signal), STARTED_MS);
    const { exitCode, stdout } = await command.finished;
    clearTimeout(timer);
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
  });

  it.each([
    [
      'users',
      () => ['central', '--bind', 'tcp://127.0.0.1:0', '--users', pipe],
      /--users: cannot read .*not a regular file/,
    ],
    ['keys', () => ['jobs', '--keys', pipe, '--cluster', 'tcp://127.0.0.1:1'], /is not a file/],
    ['a trace', () => ['trace', 'stats', pipe], /this is a pipe or a device/],
    [
      'delays',
      () => ['simulate', 'poisson:jobs=1', '--network-delay', `measured:${pipe}`],
      /not a regular file/,
    ],
    ['a policy', () => ['policies', `${pipe}.js`], /does not exist/],
    // Schedulers read it again whenever they start.
    [
      'the secret of `up`',
      () => ['up', '--data-folder', join(folder, 'up'), '--no-secure', '--notify-secret-file', pipe],
      /--notify-secret-file: cannot read .*not a regular file/,
    ],
  ] as const)('as %s is refused at once', async (_, args, line) => {
    const { exitCode, stderr } = await runGoshawk(args(), {}, { cwd: folder });
    expect(stderr).toMatch(line);
    expect(exitCode).toBe(2);
  });
});

describe('a pipe with a writer', () => {
  const real = join(import.meta.dirname, '../bin/goshawk.js');

  it.each([
    ['process substitution', `"$1" "$2" policies --config <(cat "$3")`],
    ['a here-document', `"$1" "$2" policies --config /dev/stdin < "$3"`],
    ['stdin', `cat "$3" | "$1" "$2" policies --config /dev/stdin`],
  ])('is read: %s', (_, line) => {
    const file = join(folder, 'settings.json');
    writeFileSync(file, '{"workerz": 17}');
    const { status, stderr } = spawnSync('bash', ['-c', line, 'bash', process.execPath, real, file], {
      encoding: 'utf8',
      cwd: folder,
      env: { PATH: process.env.PATH },
    });
    expect(stderr).toContain('unknown setting "workerz"; did you mean workers?');
    expect(status).toBe(2);
  });

  it('is read once by the command that shows settings', () => {
    const line = `"$1" "$2" config show --json --config <(echo '{"workers": 17}')`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', line, 'bash', process.execPath, real], {
      encoding: 'utf8',
      cwd: folder,
      env: { PATH: process.env.PATH },
    });
    expect(status, stderr).toBe(0);
    const { settings } = JSON.parse(stdout) as { settings: { name: string; value: unknown }[] };
    expect(settings).toContainEqual(expect.objectContaining({ name: 'workers', value: 17 }));
  });
});
