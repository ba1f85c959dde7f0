import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compiledFile } from './compiled.js';
import { Executors } from './executors.js';
import { outcomeOf, record } from './recording.fixture.js';

let folder: string;
let executors: Executors;
const env = { GOSHAWK_JOB: 's0-7', GOSHAWK_TASK: '12', GOSHAWK_ATTEMPT: '2' };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-output-'));
  executors = new Executors({ dataFolder: folder });
});

afterAll(async () => {
  await executors.close();
  rmSync(folder, { recursive: true });
});

const SAYS = ['sh', '-c', 'echo out; echo err >&2; echo more'];

function read(path: string): string {
  return readFileSync(join(folder, path), 'utf8');
}

describe('output to a file', () => {
  it('replaces the log, uses the names of job, task and attempt, and creates missing folders', async () => {
    const payload = { exec: SAYS, cwd: folder, stdout: 'of/{job}/{index}.{attempt}.txt' };
    const { outcome, sink } = await outcomeOf(executors, payload, { env });
    expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
    expect(read('of/s0-7/12.2.txt')).toBe('out\nmore\n');
    expect(sink.text('stdout')).toBe('');
    expect(sink.text('stderr')).toBe('err\n');
  });

  it('of both streams may go to one file, in order of writing', async () => {
    await outcomeOf(executors, { exec: SAYS, cwd: folder, stdout: 'both', stderr: './both' }, { env });
    expect(read('both')).toBe('out\nerr\nmore\n');
  });

  it('of both streams may go to one file under two names', async () => {
    mkdirSync(join(folder, 'real'));
    symlinkSync('real', join(folder, 'link'));
    await outcomeOf(
      executors,
      { exec: SAYS, cwd: folder, stdout: 'real/both', stderr: 'link/both' },
      { env },
    );
    expect(read('real/both')).toBe('out\nerr\nmore\n');
  });

  it('replaces the file of an earlier attempt, and has no limit', async () => {
    writeFileSync(join(folder, 'again'), 'x'.repeat(10_000));
    const payload = { exec: ['echo', 'new'], stdout: join(folder, 'again') };
    await outcomeOf(executors, payload, { env, outputBytesMax: 1 });
    expect(read('again')).toBe('new\n');
  });

  it.runIf(process.platform === 'linux')(
    'does not hide the real-time signal that ended the command',
    async () => {
      const exec = ['sh', '-c', 'kill -34 $$'];
      const payload = { exec, stdout: '/dev/null', stderr: '/dev/null' };
      expect((await outcomeOf(executors, payload, { env })).outcome).toMatchObject({
        kind: 'failed',
        signal: 'SIGRTMIN',
      });
    },
  );

  it('may be discarded', async () => {
    const { outcome } = await outcomeOf(executors, { exec: SAYS, stdout: '/dev/null' }, { env });
    expect(outcome).toMatchObject({ kind: 'completed' });
  });

  it.each([
    ['/proc/none/out', 'stdout cannot go to "/proc/none/out" on this worker: '],
    ['a-file/out', 'a part of the path is a file'],
    ['a-folder', 'it is a folder'],
    ['a-pipe', 'it is neither a file nor /dev/null'],
    ['/dev/full', 'it is neither a file nor /dev/null'],
  ])('that cannot be opened fails the task in one line before it starts: %s', async (stdout, message) => {
    writeFileSync(join(folder, 'a-file'), '');
    mkdirSync(join(folder, 'a-folder'), { recursive: true });
    rmSync(join(folder, 'a-pipe'), { force: true });
    execFileSync('mkfifo', [join(folder, 'a-pipe')]);
    const { outcome, sink, runMs } = await outcomeOf(executors, { exec: SAYS, cwd: folder, stdout }, { env });
    expect(outcome).toMatchObject({
      error: { code: 'output-file', message: expect.stringContaining(message) },
    });
    expect(sink.calls).toEqual(['ended']);
    expect(runMs).toBe(0);
  });

  it('does not create the working folder of the command', async () => {
    const payload = { exec: SAYS, cwd: join(folder, 'none'), stdout: 'out' };
    const { outcome } = await outcomeOf(executors, payload, { env });
    expect(outcome).toMatchObject({ error: { message: expect.stringContaining('does not exist') } });
  });

  it('does not prevent a kill at any time', async () => {
    const payload = { exec: ['sleep', '1000'], cwd: folder, stdout: 'killed' };
    const runs = Array.from({ length: 10 }, () => record(executors, payload, { env }));
    runs[0]!.run.kill('cancelled');
    for (const { run, sink } of runs.slice(1)) {
      await sink.isStarted;
      run.kill('cancelled');
    }
    const ends = await Promise.all(runs.map(({ sink }) => sink.end));
    for (const { outcome } of ends) expect(outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
  });
});

describe('a full disk', () => {
  it('is named as the reason of a failed command, and the next command runs', async (context) => {
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { stdio: 'ignore' });
    } catch {
      context.skip('only root may mount a small disk');
    }
    try {
      const payload = { exec: ['head', '-c', '1000000', '/dev/zero'], stdout: join(disk, 'out') };
      const { outcome, sink } = await outcomeOf(executors, payload, { env });
      expect(outcome).toMatchObject({
        kind: 'failed',
        exitCode: 1,
        error: { message: `the command ended with exit code 1; the disk of "${disk}/out" is full` },
      });
      expect(sink.text('stderr')).toContain('No space left');
      expect((await outcomeOf(executors, { exec: SAYS })).outcome).toMatchObject({ kind: 'completed' });
    } finally {
      execFileSync('umount', [disk]);
    }
  });

  it('that fails for lack of file descriptors is not blamed on the task', () => {
    const source = `
      import { openSync } from 'node:fs';
      import { openOutputFiles } from ${JSON.stringify(pathToFileURL(compiledFile('./output-files.js', import.meta.url)).href)};
      try {
        for (;;) openSync('/dev/null');
      } catch {}
      const { error } = await openOutputFiles({ stdout: ${JSON.stringify(join(folder, 'none'))} });
      process.stdout.write(error.code);`;
    const script = join(folder, 'opens.mjs');
    writeFileSync(script, source);
    const code = execFileSync('sh', ['-c', 'ulimit -n 50; exec "$0" "$1"', process.execPath, script]);
    expect(code.toString()).toBe('too-many-files');
  });
});
