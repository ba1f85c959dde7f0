import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compiledFile } from './compiled.js';
import { Executors } from './executors.js';
import { STUCK_THREADS_MAX } from './limits.js';
import { ModuleExecutor } from './module.js';
import { outcomeOf, record } from './recording.fixture.js';

const WORK = `
  import { execFileSync } from 'node:child_process';
  import { parentPort } from 'node:worker_threads';
  export default (input) => ({ input });
  export const add = async ({ a, b }) => a + b;
  export const nothing = () => {};
  export const throws = () => { throw new RangeError('too far\\nand more'); };
  export const throwsNull = () => { throw null; };
  export const cycle = () => { const a = {}; a.a = a; return a; };
  export const large = () => 'x'.repeat(3000);
  export const exits = () => process.exit(3);
  export const stray = () => new Promise(() => setTimeout(() => { throw new Error('stray'); }, 1));
  export const strayText = () => new Promise(() => setTimeout(() => { throw 'text'; }, 1));
  export const loops = () => { console.log('looping'); for (;;); };
  export const hangs = () => new Promise(() => setInterval(() => {}, 1000));
  export const prints = () => { console.log('out %d', 1); console.error('err'); process.stdout.write('tail'); };
  export const floods = () => { for (let i = 0; i < 100000; i++) console.log('flood'); };
  const count = () => { for (let i = 1; i <= 1000; i++) console.log(i); };
  export const throwsLate = () => { count(); throw new Error('late'); };
  export const exitsLate = () => { count(); process.exit(3); };
  export const loopsLate = () => { count(); console.error('looping'); for (;;); };
  export const hoards = () => { const all = []; for (let i = 0; i < 1500; i++) all.push(Buffer.alloc(1 << 20, 1)); return all.length; };
  export const hoardsSlowly = async () => {
    const all = [];
    for (let i = 0; i < 1500; i++) {
      all.push(Buffer.alloc(1 << 20, 1));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return all.length;
  };
  export const environment = () => { const seen = { ...process.env }; process.env.LEFT = 'behind'; return seen; };
  export const eats = () => { const all = []; for (;;) all.push({ all: [all.length] }); };
  export const informed = (_, { job, index, attempt, log, progress }) => {
    log('line');
    return { job, index, attempt };
  };
  export const gpus = (_, { gpus }) => gpus;
  export const halves = (_, { progress }) => { for (let i = 1; i <= 1000; i++) progress(i, 1000); };
  export const listens = (_, { signal }) => new Promise((resolve) => {
    console.log('listening');
    signal.addEventListener('abort', () => { console.log(signal.reason.message); resolve(); });
    setInterval(() => {}, 1000);
  });
  export const ignores = (_, { signal }) => { signal.aborted; console.log('deaf'); for (;;); };
  export const exitsOnAbort = (_, { signal }) => new Promise(() => {
    console.log('listening');
    signal.addEventListener('abort', () => process.exit(0));
    setInterval(() => {}, 1000);
  });
  export const posts = () => {
    for (const message of [null, undefined, 'text', { run: 1, kind: 'started' }]) parentPort.postMessage(message);
    parentPort.close();
  };
  export const spoils = () => { Object.entries = () => { throw new Error('spoilt'); }; };
  export const blocks = (path) => { console.log('blocks'); execFileSync('cat', [path]); };
  export const number = 5;
`;

let folder: string;
let work: string;
let executors: Executors;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-module-'));
  work = join(folder, 'work.mjs');
  writeFileSync(work, WORK);
  executors = new Executors({
    dataFolder: folder,
    moduleThreads: 2,
    graceMs: 300,
    moduleHeapMiBMax: 64,
    valueBytesMax: 2_000,
    environment: { PATH: '/bin', DATABASE_PASSWORD: 'secret' },
  });
});

afterAll(async () => {
  await executors.close();
  rmSync(folder, { recursive: true });
});

function call(name: string, input?: unknown) {
  return { module: work, export: name, input };
}

describe('a module task', () => {
  it('calls the export with the input and completes with its value', async () => {
    const { outcome, sink } = await outcomeOf(executors, call('add', { a: 1, b: 2 }));
    expect(outcome).toEqual({ kind: 'completed', value: 3 });
    expect(sink.calls).toEqual(['started', 'ended']);
  });

  it('calls the default export unless another is named, by path, URL, or relative to a folder', async () => {
    const input = { list: [1, 'ü', null, true], nested: { deep: 0.5 } };
    for (const payload of [
      { module: work, input },
      { module: pathToFileURL(work).href, input },
      { module: './work.mjs', cwd: folder, input },
    ]) {
      expect((await outcomeOf(executors, payload)).outcome).toEqual({ kind: 'completed', value: { input } });
    }
  });

  it('receives its job, index and attempt, and logs lines of output', async () => {
    const env = { GOSHAWK_JOB: 'a-1', GOSHAWK_TASK: '7', GOSHAWK_ATTEMPT: '2' };
    const { outcome, sink } = await outcomeOf(executors, call('informed'), { env });
    expect(outcome).toEqual({ kind: 'completed', value: { job: 'a-1', index: 7, attempt: 2 } });
    expect(sink.text('stdout')).toBe('line\n');
  });

  it('receives its GPUs', async () => {
    const env = { GOSHAWK_GPUS: '2,5' };
    const { outcome } = await outcomeOf(executors, call('gpus'), { env });
    expect(outcome).toEqual({ kind: 'completed', value: ['2', '5'] });
  });

  it('reports its progress at intervals, and at its end', async () => {
    const { sink } = await outcomeOf(executors, call('halves'));
    const lines = sink.text('stderr').trimEnd().split('\n');
    expect(lines[0]).toBe('1 of 1000 (0%)');
    expect(lines.at(-1)).toBe('1000 of 1000 (100%)');
    expect(lines.length).toBeLessThan(500);
  });

  it('may return no value', async () => {
    expect((await outcomeOf(executors, call('nothing'))).outcome).toEqual({ kind: 'completed' });
  });

  it.each([
    [{ module: '/no/such/file.mjs' }, 'no-such-module', 'does not exist'],
    [{ module: tmpdir() }, 'no-such-module', 'does not exist'],
    [() => call('missing'), 'no-such-export', 'is missing: the module exports add, '],
    [() => call('number'), 'no-such-export', 'is a number, not a function'],
    [() => call('throws'), 'module-threw', 'RangeError: too far and more (at throws (file://'],
    [() => call('throwsNull'), 'module-threw', 'null was thrown'],
    [() => call('cycle'), 'result-not-serialisable', 'value.a contains itself'],
    [() => call('large'), 'result-too-large', 'more than 2000 bytes'],
    [() => call('exits'), 'thread-failed', 'exited with code: 3'],
    [() => call('stray'), 'thread-failed', 'Error: stray (at Timeout._onTimeout (file://'],
    [() => call('strayText'), 'thread-failed', 'text was thrown, which is not an Error'],
    [() => call('eats'), 'out-of-memory', '64 MiB'],
    [() => call('add', { a: () => 1 }), 'input-not-serialisable', 'could not be cloned'],
  ])('fails with a reason (%#)', async (payload, code, message) => {
    const { outcome } = await outcomeOf(executors, typeof payload === 'function' ? payload() : payload);
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { code, message: expect.stringContaining(message) },
    });
  });

  it('fails when its file cannot be loaded', async () => {
    const broken = join(folder, 'broken.mjs');
    writeFileSync(broken, 'import "./no-such-dependency.mjs";');
    expect((await outcomeOf(executors, { module: broken })).outcome).toMatchObject({
      error: { code: 'module-load-failed', message: expect.stringContaining('no-such-dependency') },
    });
    writeFileSync(broken, 'export default () => {');
    expect((await outcomeOf(executors, { module: broken })).outcome).toMatchObject({
      error: {
        code: 'module-load-failed',
        message: expect.stringMatching(/: SyntaxError: [^(]*; `node --check` on that machine shows where$/),
      },
    });
  });

  it('is loaded again once a missing file exists', async () => {
    const lacking = join(folder, 'lacking.mjs');
    writeFileSync(lacking, 'export { default } from "./lacked.mjs";');
    expect((await outcomeOf(executors, { module: lacking })).outcome).toMatchObject({
      error: { code: 'module-load-failed' },
    });
    writeFileSync(join(folder, 'lacked.mjs'), 'export default () => 5;');
    expect((await outcomeOf(executors, { module: lacking })).outcome).toEqual({
      kind: 'completed',
      value: 5,
    });
  });

  it('may use its parent port freely', async () => {
    const other = new Executors({ dataFolder: folder, moduleThreads: 1 });
    expect((await outcomeOf(other, call('posts'))).outcome).toEqual({ kind: 'completed' });
    const { outcome, sink } = await outcomeOf(other, call('prints'));
    expect(outcome).toEqual({ kind: 'completed' });
    expect(sink.text()).toBe('out 1\ntail');
    await other.close();
  });

  it.each([
    ['changing.mjs', 'export default'],
    ['changing.cjs', 'module.exports ='],
  ])('runs the current version of the file, not that of an earlier task (%s)', async (name, exports) => {
    const changing = join(folder, name);
    for (const version of [1, 22, 333]) {
      writeFileSync(changing, `${exports} () => ${version};`);
      expect((await outcomeOf(executors, { module: changing })).outcome).toEqual({
        kind: 'completed',
        value: version,
      });
    }
  });

  describe('imports files as they are on disk when it starts', () => {
    const resultOf = async (module: string) => {
      const { outcome } = await outcomeOf(executors, { module });
      return outcome.kind === 'completed' ? outcome.value : outcome;
    };
    let at: string;
    beforeEach(() => {
      at = mkdtempSync(join(folder, 'graph-'));
    });
    const write = (name: string, text: string): void => writeFileSync(join(at, name), text);

    /** Edits a file without a change of its size or its modification time. */
    const edit = (name: string, text: string): void => {
      const path = join(at, name);
      const { atime, mtime, size } = statSync(path);
      expect(Buffer.byteLength(text)).toBe(size);
      writeFileSync(path, text);
      utimesSync(path, atime, mtime);
    };

    it.each<[string, string, string, (value: number) => string]>([
      [
        'an ES module',
        `import { value } from './helper.mjs'`,
        'helper.mjs',
        (value) => `export const value = ${value};`,
      ],
      [
        'a CommonJS module',
        `import { value } from './helper.cjs'`,
        'helper.cjs',
        (value) => `exports.value = ${value};`,
      ],
      [
        'JSON that is required',
        `import { createRequire } from 'node:module'; const { value } = createRequire(import.meta.url)('./helper.json')`,
        'helper.json',
        (value) => `{"value":${value}}`,
      ],
      [
        'JSON that is imported',
        `import json from './helper.json' with { type: 'json' }; const { value } = json`,
        'helper.json',
        (value) => `{"value":${value}}`,
      ],
      [
        'a module at the end of a chain',
        `import { value } from './a.mjs'`,
        'helper.mjs',
        (value) => `export const value = ${value};`,
      ],
    ])('%s', async (_, imports, name, helper) => {
      write('a.mjs', `export * from './b.mjs';`);
      write('b.mjs', `export { value } from './helper.mjs';`);
      write('main.mjs', `${imports}; export default () => value;`);
      write(name, helper(0));
      expect(await resultOf(join(at, 'main.mjs'))).toBe(0);
      for (let value = 1; value < 4; value++) {
        for (let call = 0; call < 3; call++) expect(await resultOf(join(at, 'main.mjs'))).toBe(value - 1);
        edit(name, helper(value));
        expect(await resultOf(join(at, 'main.mjs'))).toBe(value);
      }
    });

    it('the path of a module is a global variable only while the module is loaded', async () => {
      const path = `globalThis[Symbol.for('goshawk.loading-module')]`;
      write('main.mjs', `const loading = ${path}; export default () => [loading, ${path} ?? 'none'];`);
      const main = join(at, 'main.mjs');
      expect(await resultOf(main)).toEqual([main, 'none']);
    });

    it('a module that is imported while a task runs', async () => {
      write('main.mjs', `export default async () => (await import('./' + 'late.mjs')).value;`);
      write('late.mjs', 'export const value = 1;');
      expect(await resultOf(join(at, 'main.mjs'))).toBe(1);
      edit('late.mjs', 'export const value = 2;');
      expect(await resultOf(join(at, 'main.mjs'))).toBe(2);
    });

    it('a module behind a symbolic link, even if the link replaces a folder', async () => {
      for (const version of ['v1', 'v2']) {
        mkdirSync(join(at, version));
        write(`${version}/helper.mjs`, `export const value = '${version}';`);
      }
      const link = (to: string, name: string): void => {
        rmSync(join(at, name), { force: true });
        symlinkSync(to, join(at, name));
      };
      write(
        'main.mjs',
        `import { value } from './lib/helper.mjs'; import * as one from './one.mjs';
        export default () => [value, one.value];`,
      );
      link('v1', 'lib');
      link('v1/helper.mjs', 'one.mjs');
      expect(await resultOf(join(at, 'main.mjs'))).toEqual(['v1', 'v1']);
      link('v2', 'lib');
      expect(await resultOf(join(at, 'main.mjs'))).toEqual(['v2', 'v1']);
      link('v2/helper.mjs', 'one.mjs');
      expect(await resultOf(join(at, 'main.mjs'))).toEqual(['v2', 'v2']);
    });

    it('in the same thread while no file changes', async () => {
      write(
        'main.mjs',
        `import { threadId } from 'node:worker_threads'; import './helper.mjs';
        export default () => { debugger; return threadId; };`,
      );
      write('helper.mjs', '');
      const one = new Executors({ dataFolder: folder, moduleThreads: 1 });
      await setTimeout(100);
      const threads = new Set<unknown>();
      for (let call = 0; call < 20; call++) {
        const { outcome } = await outcomeOf(one, { module: join(at, 'main.mjs') });
        threads.add((outcome as { value?: unknown }).value);
      }
      expect(threads.size).toBe(1);
      await one.close();
    });

    it('fails in one line if it is TypeScript and Node does not support that', async () => {
      write('main.ts', 'export default (): number => 1;');
      const { outcome } = await outcomeOf(executors, { module: join(at, 'main.ts') });
      if (outcome.kind === 'completed') expect(outcome.value).toBe(1);
      else
        expect(outcome).toMatchObject({
          error: { message: expect.stringMatching(/TypeScript.*compile it/) },
        });
    });
  });

  it('sees the listed environment and the order, but no secrets and nothing of the previous task', async () => {
    const values = [];
    for (const task of ['1', '2']) {
      const { outcome } = await outcomeOf(executors, call('environment'), {
        env: { [`GOSHAWK_${task}`]: task },
      });
      values.push(outcome);
    }
    expect(values).toEqual([
      { kind: 'completed', value: { PATH: '/bin', GOSHAWK_1: '1' } },
      { kind: 'completed', value: { PATH: '/bin', GOSHAWK_2: '2' } },
    ]);
  });
});

describe('the output of a module', () => {
  it('contains what it prints', async () => {
    const { sink } = await outcomeOf(executors, call('prints'));
    expect(sink.text('stdout')).toBe('out 1\ntail');
    expect(sink.text('stderr')).toBe('err\n');
    expect(sink.calls).toEqual(['started', 'output', 'ended']);
  });

  it('beyond the limit keeps both ends', async () => {
    const { outcome, sink } = await outcomeOf(executors, call('floods'), { outputBytesMax: 48 });
    expect(outcome).toEqual({ kind: 'completed' });
    expect(sink.text('stdout')).toBe(
      `${'flood\n'.repeat(7)}goshawk: stdout is too long: its last 6 bytes follow when the task ends\n` +
        'goshawk: 599952 bytes of stdout omitted here\nflood\n',
    );
    expect(sink.text('stderr')).toBe('');
  });

  it.each(['throwsLate', 'exitsLate'])('beyond the limit keeps its end even if it %s', async (name) => {
    const { outcome, sink } = await outcomeOf(executors, call(name), { outputBytesMax: 72 });
    expect(outcome.kind).toBe('failed');
    expect(sink.text('stdout')).toMatch(/omitted here\n999\n1000\n$/);
  });

  it('beyond the limit keeps its end even if its thread is terminated in a loop', async () => {
    const { run, sink } = record(executors, call('loopsLate'), { outputBytesMax: 72 });
    await expect.poll(() => sink.text('stderr')).toBe('looping\n');
    run.kill('timeout');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'timeout' });
    expect(sink.text('stdout')).toMatch(/omitted here\n999\n1000\n$/);
  });
});

describe('a module task that is killed', () => {
  it('ends although it never yields', async () => {
    const { run, sink } = record(executors, call('loops'));
    await expect.poll(() => sink.text()).toBe('looping\n');
    run.kill('timeout');
    run.kill('cancelled');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'timeout' });
    expect((await outcomeOf(executors, call('add', { a: 1, b: 1 }))).outcome).toMatchObject({ value: 2 });
  });

  it('is notified by its abort signal, and has time to end', async () => {
    const { run, sink } = record(executors, call('listens'));
    await expect.poll(() => sink.text()).toBe('listening\n');
    run.kill('cancelled');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    expect(sink.text()).toBe('listening\nthe task was stopped: cancelled\n');
  });

  it('may end its thread on its abort signal', async () => {
    const other = new Executors({ dataFolder: folder, graceMs: 1e9 });
    const { run, sink } = record(other, call('exitsOnAbort'));
    await expect.poll(() => sink.text()).toBe('listening\n');
    run.kill('cancelled');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    await other.close();
  });

  it('ends after the grace period if it ignores its abort signal', async () => {
    const { run, sink } = record(executors, call('ignores'));
    await expect.poll(() => sink.text()).toBe('deaf\n');
    run.kill('timeout');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'timeout' });
    expect((await outcomeOf(executors, call('add', { a: 1, b: 1 }))).outcome).toMatchObject({ value: 2 });
  });

  it('never starts if it still waits for a thread', async () => {
    const running = [record(executors, call('hangs')), record(executors, call('hangs'))];
    await Promise.all(running.map(({ sink }) => sink.isStarted));
    const waiting = record(executors, call('add', { a: 1, b: 1 }));
    const next = record(executors, call('add', { a: 2, b: 2 }));
    waiting.run.kill('cancelled');
    expect((await waiting.sink.end).runMs).toBe(0);
    expect(waiting.sink.calls).toEqual(['ended']);
    running[0]!.run.kill('timeout');
    expect((await next.sink.end).outcome).toEqual({ kind: 'completed', value: 4 });
    running[1]!.run.kill('timeout');
    await running[1]!.sink.end;
  });
});

it('keeps its changes of globals in its thread until one of its tasks fails', async () => {
  const other = new Executors({ dataFolder: folder, moduleThreads: 1 });
  expect((await outcomeOf(other, call('spoils'))).outcome.kind).toBe('completed');
  expect((await outcomeOf(other, call('default', 1))).outcome.kind).toBe('failed');
  expect((await outcomeOf(other, call('default', 2))).outcome).toEqual({
    kind: 'completed',
    value: { input: 2 },
  });
  await other.close();
});

describe('a module in a native call that does not return', () => {
  const fifos: string[] = [];

  /** Blocks readers until data is written. */
  function fifo(): string {
    const path = join(mkdtempSync(join(folder, 'fifo-')), 'fifo');
    execFileSync('mkfifo', [path]);
    fifos.push(path);
    return path;
  }

  afterEach(() => {
    for (const path of fifos.splice(0)) {
      // A reader that has opened it sees its end; others find no file.
      const writer = openSync(path, 'r+');
      unlinkSync(path);
      closeSync(writer);
    }
  });

  it('does not block threads of other tasks, up to a number of such calls', async () => {
    const other = new Executors({ dataFolder: folder, moduleThreads: 1 });
    const input = fifo();
    let end = 'killed';
    let runs = 0;
    // Some are killed before their call.
    for (; end === 'killed' && runs < 10 * STUCK_THREADS_MAX; runs++) {
      const { run, sink } = record(other, call('blocks', input));
      await expect.poll(() => sink.calls.at(-1)).toMatch(/output|ended/);
      run.kill('timeout');
      const { outcome } = await sink.end;
      end = outcome.kind === 'failed' ? outcome.error.code : outcome.kind;
    }
    expect(end).toBe('process-limit');
    expect(runs).toBeGreaterThan(STUCK_THREADS_MAX);
  });

  it('does not prevent the process from exiting', async () => {
    const input = fifo();
    const script = `
      const { open } = await import('node:fs/promises');
      const { Executors } = await import(${JSON.stringify(compiledFile('./index.js', import.meta.url))});
      const warn = (line) => console.log(line);
      const executors = new Executors({ dataFolder: ${JSON.stringify(folder)}, warn });
      const order = { payload: ${JSON.stringify(call('blocks', input))}, env: {}, outputBytesMax: 1000 };
      executors.start(order, { output: () => {}, ended: () => {} });
      // Once the module reads it; there is nothing to read.
      const writer = await open(${JSON.stringify(input)}, 'w');
      await executors.close();
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
    expect(said).toMatch(/native call/);
  });
});

describe('a module that allocates memory outside of its heap', () => {
  it.each(['hoards', 'hoardsSlowly'])('is killed, and the worker continues (%s)', async (name) => {
    const other = new Executors({ dataFolder: folder, moduleThreads: 2, moduleHeapMiBMax: 64 });
    const beside = record(other, call('hangs'));
    await beside.sink.isStarted;
    const { outcome } = await outcomeOf(other, call(name));
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { code: 'out-of-memory', message: expect.stringMatching(/outside of the heap/) },
    });
    expect(beside.sink.calls).not.toContain('ended');
    expect((await outcomeOf(other, call('add', { a: 1, b: 2 }))).outcome).toMatchObject({ value: 3 });
    await other.close();
  });
});

describe('a thread that does not start', () => {
  it('fails its run, and the next run tries again', async () => {
    const tight = new Executors({ dataFolder: folder, moduleThreads: 1, moduleHeapMiBMax: 1 });
    for (let run = 0; run < 2; run++) {
      const { outcome, sink } = await outcomeOf(tight, call('nothing'));
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'out-of-memory' } });
      expect(sink.calls).toEqual(['ended']);
    }
    await tight.close();
  });

  it('because it is refused at once fails only its run', async () => {
    const refused = new ModuleExecutor({
      threads: 1,
      heapMiBMax: 64,
      allowedBytes: 1e9,
      valueBytesMax: 2_000,
      graceMs: 300,
      // Simulates a system that cannot create threads.
      environment: 'no environment' as never,
      refusal: () => undefined,
      warn: () => {},
    });
    for (let run = 0; run < 2; run++) {
      const { outcome } = await outcomeOf(refused, call('nothing'));
      expect(outcome).toMatchObject({
        kind: 'failed',
        error: {
          code: 'process-limit',
          message: expect.stringContaining('cannot start another module thread'),
        },
      });
    }
    await refused.close();
  });
});

it('handles 10,000 tasks at once', async () => {
  const ends = await Promise.all(
    Array.from({ length: 10_000 }, (_, a) => record(executors, call('add', { a, b: 1 })).sink.end),
  );
  expect(ends.map(({ outcome }) => outcome)).toEqual(
    ends.map((_, a) => ({ kind: 'completed', value: a + 1 })),
  );
});

it('lets a thread exit on close instead of terminating it, so that it closes its connections', async () => {
  const file = join(folder, 'exits.mjs');
  const mark = join(folder, 'exited');
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs';
    process.on('exit', () => writeFileSync(${JSON.stringify(mark)}, ''));
    export default () => {
      console.log('up');
      return new Promise(() => setInterval(() => {}, 1_000));
    };`,
  );
  const other = new Executors({ dataFolder: folder, moduleThreads: 1 });
  const { sink } = record(other, { module: file });
  await expect.poll(() => sink.text('stdout'), { timeout: 10_000 }).toBe('up\n');
  await other.close();
  expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'shutdown' });
  expect(statSync(mark).size).toBe(0);
});

it('terminates its threads and their tasks on close', async () => {
  const other = new Executors({ dataFolder: folder, moduleThreads: 1 });
  const { sink } = record(other, call('hangs'));
  await sink.isStarted;
  await other.close();
  expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'shutdown' });
});
