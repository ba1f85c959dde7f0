import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecPayload } from '@goshawk/core';
import { Containers, Executors, type Outcome, type Run, type RunOrder } from '@goshawk/executors';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { docker, image, missing, named } from './docker.fixture.js';

/** The image is the one under test, which has a shell and Node, and an entry point that must not matter. */
describe.skipIf(missing !== undefined)(named('a command in an image'), () => {
  let folder: string;
  let executors: Executors;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'goshawk-images-'));
    executors = new Executors({
      dataFolder: join(folder, 'data'),
      graceMs: 500,
      containers: await Containers.find(),
    });
  });

  afterAll(async () => {
    await executors?.close();
    await rm(folder, { recursive: true, force: true });
  });

  interface Started {
    readonly run: Run;
    readonly started: Promise<void>;
    readonly ended: Promise<{ readonly outcome: Outcome; readonly out: string; readonly err: string }>;
  }

  function start(exec: string[], payload: Partial<ExecPayload> = {}, order: Partial<RunOrder> = {}): Started {
    const output = { stdout: '', stderr: '' };
    let run!: Run;
    let onStarted!: () => void;
    const started = new Promise<void>((resolve) => {
      onStarted = resolve;
    });
    const ended: Started['ended'] = new Promise((resolve) => {
      run = executors.start(
        { payload: { exec, image, cwd: folder, ...payload }, env: {}, outputBytesMax: 1_000_000, ...order },
        {
          started: onStarted,
          output: ({ stream, bytes }) => {
            output[stream] += Buffer.from(bytes).toString();
          },
          ended: (outcome) => resolve({ outcome, out: output.stdout, err: output.stderr }),
        },
      );
    });
    return { run, started, ended };
  }

  const containers = async (): Promise<string> =>
    docker('ps', '--all', '--quiet', '--filter', 'name=goshawk-');

  test('has its arguments, stdin, variables, folder and output, and not the root of the machine', async () => {
    await writeFile(join(folder, 'data,in.txt'), 'mounted');
    await writeFile(join(folder, 'of-the-machine'), '');
    const script = `cat; cat 'data,in.txt'; echo " $A $GOSHAWK_TASK $PATH $1"; pwd; echo err >&2; test -e /opt/goshawk && echo image`;
    const { outcome, out, err } = await start(
      ['sh', '-c', script, 'sh', 'x y'],
      {
        stdin: 'in ',
        env: { A: 'two words\nand lines', PATH: '/bin:/usr/bin', DOCKER_HOST: 'tcp://nowhere:1' },
      },
      { env: { GOSHAWK_TASK: '7' } },
    ).ended;
    expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
    expect(out).toBe(`in mounted two words\nand lines 7 /bin:/usr/bin x y\n${folder}\nimage\n`);
    expect(err).toBe('err\n');
  });

  test('writes files as the account of the worker, and its output to files', async () => {
    const { outcome } = await start(['sh', '-c', 'echo made >made; echo out'], { stdout: 'out.txt' }).ended;
    expect(outcome.kind).toBe('completed');
    expect((await stat(join(folder, 'made'))).uid).toBe(process.getuid?.());
    expect(await readFile(join(folder, 'out.txt'), 'utf8')).toBe('out\n');
  });

  test('fails with its exit code, which is 127 if it is not in the image', async () => {
    expect((await start(['sh', '-c', 'exit 125']).ended).outcome).toMatchObject({
      error: { code: 'exit-code' },
      exitCode: 125,
    });
    // The engine's init process reports a missing command as a shell does.
    const { outcome, err } = await start(['no-such-command']).ended;
    expect(outcome).toMatchObject({ exitCode: 127 });
    expect(err).toContain('no-such-command');
  });

  test('that uses more memory than it requests fails for that reason', async () => {
    const eat = 'a=[]; for(;;) a.push(Buffer.alloc(8<<20, 1))';
    const { outcome } = await start(['node', '-e', eat], {}, { limits: { memory: 64 << 20 } }).ended;
    expect(outcome).toMatchObject({ error: { code: 'out-of-memory' } });
  });

  test('is refused if its folder would hide files of the image, or does not exist', async () => {
    expect((await start(['true'], { cwd: '/usr' }).ended).outcome).toMatchObject({
      error: { code: 'not-allowed' },
    });
    const absent = join(folder, 'absent');
    expect((await start(['true'], { cwd: absent }).ended).outcome).toMatchObject({
      error: { code: 'no-such-folder' },
    });
  });

  test('in an image that cannot be pulled does not start', async () => {
    const { outcome } = await start(['true'], { image: 'localhost:1/no/such:image' }).ended;
    expect(outcome).toMatchObject({
      error: { code: 'image-unavailable', message: expect.stringContaining('localhost:1/no/such:image') },
    });
  });

  test('ends with a signal that it may handle, or is killed after the grace time; no container stays', async () => {
    const traps = 'trap "echo saved >saved; exit 0" TERM; touch traps; while :; do sleep 0.1; done';
    const polite = start(['sh', '-c', traps]);
    await vi.waitFor(() => stat(join(folder, 'traps')), { timeout: 30_000 });
    polite.run.kill('cancelled');
    expect((await polite.ended).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    expect(await readFile(join(folder, 'saved'), 'utf8')).toBe('saved\n');
    const stubborn = start(['sh', '-c', 'trap "" TERM; while :; do sleep 0.1; done']);
    await stubborn.started;
    stubborn.run.kill('timeout');
    expect((await stubborn.ended).outcome).toEqual({ kind: 'killed', reason: 'timeout' });
    expect(await containers()).toBe('');
  });

  test('ends when its worker and spawner are gone, at the latest before the next start', async () => {
    const lost = new Executors({ dataFolder: join(folder, 'lost'), containers: await Containers.find() });
    const ended = new Promise((resolve) => {
      lost.start(
        { payload: { exec: ['sleep', '600'], image, cwd: folder }, env: {}, outputBytesMax: 0 },
        { output: () => {}, ended: resolve },
      );
    });
    await vi.waitFor(async () => expect(await containers()).not.toBe(''), { timeout: 30_000 });
    await lost.close();
    await ended;
    await vi.waitFor(async () => expect(await containers()).toBe(''), { timeout: 30_000 });
  });
});
