import { resolveOptions } from '@goshawk/command';
import { InputError } from '@goshawk/core';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { buildJob } from './build-job.js';
import { PLAN_OPTIONS, SUBMIT_OPTIONS } from './options.js';

interface Line {
  readonly words?: string[];
  readonly command?: string[];
  readonly files?: Record<string, string | Uint8Array>;
  readonly [flag: string]: unknown;
}

/** Builds the job that `submit` would send from the folder /here, and adds the options that it reads to `read`. */
async function job({ words = [], command, files = {}, ...flags }: Line, read = new Set<PropertyKey>()) {
  const { values } = resolveOptions(SUBMIT_OPTIONS, { flags, environment: {}, file: {}, fileName: '' });
  return buildJob(
    new Proxy(values, {
      get(target, name) {
        read.add(name);
        return Reflect.get(target, name);
      },
    }),
    { words, afterDashes: command },
    {
      cwd: '/here',
      modifiedMs: (path) => (path.replace('/here/', '') in files ? 0 : undefined),
      environment: { CC: 'clang', LC_ALL: 'C', LC_TIME: 'C', PWD: '/here', SHLVL: '2', GOSHAWK_KEY: 'x' },
      async read(path, what) {
        const content = files[path];
        if (content === undefined) throw new InputError('no-file', `${what}: no ${path}`);
        return typeof content === 'string' ? Buffer.from(content) : content;
      },
    },
  );
}

/** Returns the tasks as an array. */
async function tasks(line: Line): Promise<Record<string, unknown>[]> {
  const { tasks } = await job(line);
  return 'run' in tasks! ? Array.from({ length: tasks.count }, () => tasks.run) : [...tasks!];
}

afterEach(() => {
  vi.unstubAllEnvs();
});

it('depends on each option that describes a job', async () => {
  const read = new Set<PropertyKey>();
  await job({ command: ['a', 'b'] }, read);
  await job({ shell: true, command: ['a'] }, read);
  await job({ module: '/m.mjs', array: '1-2' }, read);
  await job({ sleep: '1s' }, read);
  await job({ words: ['a.json'], files: { 'a.json': '{"tasks": [{"sleep": 5}]}' } }, read);
  // `predecessors.ts` reads these, which need the cluster.
  const others = ['after', 'afterOk'];
  expect(Object.keys(PLAN_OPTIONS).filter((name) => !read.has(name))).toEqual(others);
});

describe('a job file', () => {
  const text = '{"tasks": [{"sleep": 5}]}';

  it('is refused if a number would change or a field appears twice', async () => {
    const big = '{"tasks": [{"module": "/m.mjs", "input": 9007199254740993}]}';
    const message = '9007199254740993 would become 9007199254740992';
    await expect(job({ words: ['a.json'], files: { 'a.json': big } })).rejects.toThrow(
      `a.json: tasks[0].input: ${message}`,
    );
    await expect(job({ module: '/m.mjs', input: '[9007199254740993]' })).rejects.toThrow(
      `--input: [0]: ${message}`,
    );
    const twice = '{"tasks": [{"sleep": 5}], "name": "a", "name": "b"}';
    await expect(job({ words: ['a.json'], files: { 'a.json': twice } })).rejects.toThrow(
      'a.json: name: the field appears twice',
    );
  });

  it('may have a byte order mark and CRLF', async () => {
    const files = { 'a.json': `\ufeff${text}\r\n` };
    expect(await job({ words: ['a.json'], files })).toMatchObject({ name: 'a', tasks: [{ sleep: 5 }] });
  });

  it.each([
    ['sim.sh', '#!/bin/sh\necho hi\n', './sim.sh'],
    ['bin/my sim', '\x7fELF\x02\x01', "'bin/my sim'"],
  ])('that is a program gets the line to type: %s', async (path, content, word) => {
    const files = { [path]: Buffer.from(content, 'latin1') };
    await expect(job({ words: [path], files })).rejects.toMatchObject({
      message: `submit: ${path} is a program, not a job file`,
      hint: `to run it, write: goshawk submit -- ${word}`,
    });
  });

  it('that is not UTF-8 is rejected in one line', async () => {
    const files = {
      'a.json': Buffer.concat([Buffer.from('{"name":\n"'), Buffer.of(0xe9), Buffer.from('"}')]),
    };
    await expect(job({ words: ['a.json'], files })).rejects.toThrow('a.json: line 2 is not valid UTF-8');
  });
});

describe('--export-env', () => {
  const envOf = async (line: Line) => (await tasks({ command: ['env'], ...line }))[0]!.env;

  it('passes the named variables, or all except those of the session', async () => {
    expect(await envOf({ exportEnv: 'CC' })).toEqual({ CC: 'clang' });
    expect(await envOf({ exportEnv: 'LC_*, PWD' })).toEqual({ LC_ALL: 'C', LC_TIME: 'C', PWD: '/here' });
    expect(await envOf({ exportEnv: '' })).toEqual({ CC: 'clang', LC_ALL: 'C', LC_TIME: 'C' });
    expect(await envOf({ exportEnv: 'CC', env: ['CC=gcc', 'A=1'] })).toEqual({ CC: 'gcc', A: '1' });
    expect(await envOf({})).toBeUndefined();
  });

  it('rejects an unset variable, and applies only to commands', async () => {
    await expect(envOf({ exportEnv: 'CC,NO' })).rejects.toThrow('--export-env: the variable "NO" is not set');
    await expect(job({ sleep: '1s', exportEnv: '' })).rejects.toThrow('--export-env requires a command');
  });
});

describe('a deadline', () => {
  it('is a duration from now, and may have a higher value', async () => {
    expect(await job({ command: ['true'], deadline: '30m', value: '25' })).toMatchObject({
      deadline: 1_800_000,
      value: 25,
    });
  });

  it.each(['0s', '0ms'])('of %s has passed', async (deadline) => {
    await expect(job({ command: ['true'], deadline })).rejects.toThrow(/deadline of 0 has already passed/);
  });
});

describe('a priority', () => {
  it('is one of three', async () => {
    expect(await job({ command: ['true'], priority: 'low' })).toMatchObject({ priority: 'low' });
    await expect(job({ command: ['true'], priority: 'urgent' })).rejects.toThrow(
      '--priority: "urgent" is not one of low, normal, high',
    );
  });
});

describe('a time to begin at', () => {
  it('is made absolute, and a delay stays a delay', async () => {
    const { begin, hold } = await job({ command: ['true'], begin: '2030-01-02 03:04', hold: true });
    expect(begin).toBe(new Date(2030, 0, 2, 3, 4).toISOString());
    expect(hold).toBe(true);
    expect((await job({ command: ['true'], begin: '+2h' })).begin).toBe('+2h');
    const next = Date.parse(String((await job({ command: ['true'], begin: '12:00' })).begin));
    expect(next).toBeGreaterThan(Date.now());
    expect(new Date(next).getHours()).toBe(12);
  });

  it('is local in a job file too', async () => {
    const files = { 'job.json': JSON.stringify({ tasks: [{ sleep: 1 }], begin: '2030-01-02T03:04' }) };
    expect(await job({ words: ['job.json'], files })).toMatchObject({
      begin: new Date(2030, 0, 2, 3, 4).toISOString(),
    });
  });

  it.each([':/etc/localtime', 'CET-1CEST', 'Europe/Berlinn'])('needs a zone if TZ=%s', async (zone) => {
    vi.stubEnv('TZ', zone);
    const begins = (begin: string) => job({ command: ['true'], begin });
    await expect(begins('22:00')).rejects.toThrow(`--begin: the time zone TZ="${zone}" is unknown here`);
    await expect(begins('2030-01-02')).rejects.toThrow('is unknown here');
    expect(await begins('2h')).toMatchObject({ begin: '2h' });
    const exact = '2030-01-02T03:04:00+01:00';
    expect(await begins(exact)).toMatchObject({ begin: exact });
  });

  it.each(['Europe/Berlin', ':Europe/Berlin'])('is local if TZ=%s', async (zone) => {
    vi.stubEnv('TZ', zone);
    const { begin } = await job({ command: ['true'], begin: '2030-03-31 02:30' });
    expect(begin).toBe('2030-03-31T01:30:00.000Z');
  });

  it('is rejected if it is invalid', async () => {
    await expect(job({ command: ['true'], begin: 'soon' })).rejects.toMatchObject({
      message: '--begin: "soon" is neither a delay nor a time',
      hint: 'write a delay, such as 2h, or a time, such as 22:00 or 2026-11-25T22:00',
    });
  });
});

describe('a preference', () => {
  it('is an attribute with one value, or with alternatives', async () => {
    expect(await job({ command: ['true'], prefer: ['rack=r1,r2', 'zone=a'] })).toMatchObject({
      prefer: { rack: ['r1', 'r2'], zone: ['a'] },
    });
  });

  it('has any name that the operator chose', async () => {
    const { require, prefer } = await job({
      command: ['true'],
      require: ['constructor=x'],
      prefer: ['valueOf=1'],
    });
    expect(Object.entries(require ?? {})).toEqual([['constructor', ['x']]]);
    expect(Object.entries(prefer ?? {})).toEqual([['valueOf', ['1']]]);
  });

  it.each(['rack', '=r1', 'rack=', 'rack=r1,'])('is not %s', async (prefer) => {
    await expect(job({ command: ['true'], prefer: [prefer] })).rejects.toThrow(/is not NAME=VALUE/);
  });
});

describe('--spread', () => {
  it('is a requirement, with one task per value by default', async () => {
    const { require } = await job({ command: ['true'], spread: ['rack', 'zone=3'], require: ['model=a,b'] });
    expect(require).toEqual({ model: ['a', 'b'], rack: ['spread:1'], zone: ['spread:3'] });
  });

  it.each(['', '=2', 'rack=0', 'rack=two', 'rack='])('is not %s', async (spread) => {
    await expect(job({ command: ['true'], spread: [spread] })).rejects.toThrow('expected NAME or NAME=N');
  });

  it('does not combine with other requirements of the same attribute', async () => {
    const both = job({ command: ['true'], spread: ['rack'], require: ['rack=r1'] });
    await expect(both).rejects.toThrow('exclude each other');
  });
});

describe('a command', () => {
  it('is one task in this folder, with unchanged arguments', async () => {
    expect(await job({ command: ['echo', '$HOME', '{}', ''] })).toEqual({
      name: 'echo $HOME {}',
      tasks: { count: 1, run: { exec: ['echo', '$HOME', '{}', ''], cwd: '/here' } },
    });
  });

  it('has a folder, variables, a shell and an input', async () => {
    const line = { command: ['cat'], cwd: 'sub', env: ['A=b=c', 'E='], shell: true, stdin: 'in', tasks: '3' };
    expect(await job({ ...line, files: { in: 'text' } })).toEqual({
      name: 'cat',
      tasks: {
        count: 3,
        run: {
          exec: ['cat'],
          shell: true,
          env: { A: 'b=c', E: '' },
          cwd: '/here/sub',
          stdin: Buffer.from('text'),
        },
      },
    });
  });

  it('may write to files', async () => {
    expect(
      await tasks({ command: ['x'], array: '1-2', stdout: 'out/{index}', stderr: '/e/{index}' }),
    ).toMatchObject([
      { stdout: 'out/{index}', stderr: '/e/{index}', cwd: '/here' },
      { stdout: 'out/{index}', stderr: '/e/{index}', cwd: '/here' },
    ]);
    await expect(job({ command: ['x'], tasks: '2', stdout: 'o' })).rejects.toThrow(
      /put \{index\}|several tasks/,
    );
  });

  it('has the properties of the whole job', async () => {
    const line = { sleep: '1s', name: 'n', user: 'u', estimate: '2s', key: 'k', retries: '2' };
    const needs = {
      taskTimeout: '30s',
      timeLimit: '10m',
      priority: 'high',
      retryBackoff: '1s',
      retryOn: '75, 137, SIGXCPU, term',
      cpus: '0.5',
      gpus: '0.25',
      memory: '1GiB',
      resource: ['license=1'],
      maxRunning: '4',
    };
    expect(await job({ ...line, ...needs })).toEqual({
      tasks: { count: 1, run: { sleep: 1_000 } },
      name: 'n',
      user: 'u',
      estimate: 2_000,
      key: 'k',
      retries: 2,
      retryBackoff: 1_000,
      retryOn: [75, 137, 152, 143],
      timeout: 30_000,
      timeLimit: 600_000,
      priority: 'high',
      demand: { cpu: 0.5, gpu: 0.25, memory: 2 ** 30, license: 1 },
      maxRunning: 4,
    });
  });
});

describe('--array', () => {
  it('is one task per value: in place of {} and in a variable', async () => {
    expect(await tasks({ array: '1-3:2', command: ['x', 'a{}b{}'], env: ['A=1'] })).toEqual([
      { exec: ['x', 'a1b1'], env: { A: '1', GOSHAWK_ARRAY_VALUE: '1' }, cwd: '/here' },
      { exec: ['x', 'a3b3'], env: { A: '1', GOSHAWK_ARRAY_VALUE: '3' }, cwd: '/here' },
    ]);
  });

  it('is the input of a module', async () => {
    expect(await tasks({ array: '7', module: 'w.js#run' })).toEqual([
      { module: '/here/w.js', export: 'run', input: 7 },
    ]);
  });

  it('may be part of a shell command', async () => {
    const [task] = await tasks({ array: '7', command: ['echo $(({} * 2))'], shell: true });
    expect(task).toMatchObject({ exec: ['echo $((7 * 2))'], shell: true });
  });
});

describe('--each-line', () => {
  const awkward = `a "b" 'c'\n$HOME $& $1 \\ \`x\`\n\nlast`;

  it('is one task per line: bytes on stdin, text in place of {} and in a variable', async () => {
    const found = await tasks({ eachLine: 'f', command: ['x', '<{}>'], files: { f: awkward } });
    const lines = [`a "b" 'c'`, '$HOME $& $1 \\ `x`', '', 'last'];
    expect(found.map((task) => (task.exec as string[])[1])).toEqual(lines.map((line) => `<${line}>`));
    expect(found.map((task) => task.env)).toEqual(lines.map((line) => ({ GOSHAWK_LINE: line })));
    expect(Buffer.concat(found.map((task) => task.stdin as Uint8Array)).toString()).toBe(awkward);
  });

  it('passes lines that are not text only on stdin', async () => {
    const file = Uint8Array.of(0xff, 0x0a, 0x00, 0x0a, 0x61);
    const found = await tasks({ eachLine: '-', command: ['x'], files: { '-': file } });
    expect(found.map((task) => task.env)).toEqual([undefined, undefined, { GOSHAWK_LINE: 'a' }]);
    expect(Buffer.concat(found.map((task) => task.stdin as Uint8Array)).equals(file)).toBe(true);
  });

  it('passes a line that is too long for a variable only on stdin', async () => {
    const long = 'ä'.repeat(70_000);
    const [task] = await tasks({ eachLine: 'f', command: ['x'], files: { f: long } });
    expect(task!.env).toBeUndefined();
    expect(Buffer.from(task!.stdin as Uint8Array).toString()).toBe(long);
  });

  it('is the input of a module', async () => {
    const found = await tasks({ eachLine: 'f', module: 'file:///w.js', files: { f: 'a\nb' } });
    expect(found).toEqual([
      { module: 'file:///w.js', input: 'a' },
      { module: 'file:///w.js', input: 'b' },
    ]);
  });

  it.each([
    [
      { command: ['x', '{}'], files: { f: Uint8Array.of(0x61, 0x0a, 0xff) } },
      'line 2 of f is not valid UTF-8',
    ],
    [{ command: ['x', '{}'], files: { f: 'a\0\n' } }, 'line 1 of f contains a NUL byte'],
    [{ command: ['x', '{}'], files: { f: 'x'.repeat(131_073) } }, 'line 1 of f is too long'],
    [{ module: 'm', files: { f: Uint8Array.of(0xff) } }, 'line 1 of f is not valid UTF-8'],
    [{ command: ['x'], files: { f: '' } }, '--each-line: f has no lines'],
    [{ command: ['x'], files: {} }, '--each-line: no f'],
    [{ command: ['echo {}'], shell: true, files: { f: 'a' } }, '{} would be interpreted as code'],
  ])('rejects lines that cannot be passed (%#)', async (line, message) => {
    await expect(job({ eachLine: 'f', ...line })).rejects.toThrow(message);
  });
});

describe('columns and parameters', () => {
  const execOf = async (line: Line) => (await tasks(line)).map(({ exec }) => (exec as string[]).join(' '));

  it('fill in {}, {1} and {name}; doubled braces are literal', async () => {
    const files = { f: '\ufeffname,size\r\nred,1\r\nblue,22\r\n' };
    const command = ['{}', '{2}{1}', '{size}', '{{}} {{1}} {{size}}', '\u0024{other} {{x}} {"a":{{}}} {9a}'];
    expect(await execOf({ eachLine: 'f', colsep: ',', header: true, command, files })).toEqual([
      'red,1 1red 1 {} {1} {size} \u0024{other} {x} {"a":{}} {9a}',
      'blue,22 22blue 22 {} {1} {size} \u0024{other} {x} {"a":{}} {9a}',
    ]);
    expect(await execOf({ array: '7', command: ['{"a":{{}},"b":{}}', '{1}'] })).toEqual([
      '{"a":{},"b":7} {1}',
    ]);
    expect(await execOf({ eachLine: 'f', colsep: '\\t', command: ['{2}'], files: { f: 'a b\tc' } })).toEqual([
      'c',
    ]);
  });

  it('do not change a command without values', async () => {
    expect(await execOf({ tasks: '1', command: ['{}', '{{}}', '{1}'] })).toEqual(['{} {{}} {1}']);
  });

  it('are combined, with the last one changing fastest', async () => {
    expect(await execOf({ param: ['a=1,2', 'b=x,y'], command: ['{a}{b}'] })).toEqual([
      '1x',
      '1y',
      '2x',
      '2y',
    ]);
    expect(await execOf({ array: '1-2', param: ['a=x,y'], command: ['{}', '{a}'] })).toEqual([
      '1 x',
      '1 y',
      '2 x',
      '2 y',
    ]);
  });

  it.each([
    ['0.1:1:0.1', '0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0'],
    ['1:10:4,x', '1 5 9 x'],
    ['2:-1:-1.5', '2.0 0.5 -1.0'],
    ['-0.05:0.05:0.05', '-0.05 0.00 0.05'],
    ['10:00', '10:00'],
    ['a:b:c', 'a:b:c'],
  ])('have ranges: %s is %s', async (values, expected) => {
    const found = await execOf({ param: [`a=${values}`], command: ['{a}'] });
    expect(found.join(' ')).toBe(expected);
  });

  it('have ranges of exactly the values that fit, without rounding errors', async () => {
    const number = fc.integer({ min: -500, max: 500 });
    await fc.assert(
      fc.asyncProperty(
        number,
        number,
        fc.integer({ min: 1, max: 99 }),
        fc.nat(3),
        async (one, other, step, places) => {
          const [first, last] = [Math.min(one, other), Math.max(one, other)];
          const text = [first, last, step].map((value) => (value / 10 ** places).toFixed(places)).join(':');
          const expected: string[] = [];
          for (let value = first; value <= last; value += step)
            expected.push((value / 10 ** places).toFixed(places).replace(/^-(0\.?0*)$/, '$1'));
          expect(await execOf({ param: [`a=${text}`], command: ['{a}'] })).toEqual(expected);
        },
      ),
    );
  });

  it('are the rows of a CSV file, also in variables and folders', async () => {
    const files = { 'sweep.csv': 'rate,name\n0.1,"a, b"\n0.2,c\n' };
    const line = {
      param: ['@sweep.csv', 'x=1,2'],
      command: ['{name}'],
      env: ['R={rate}'],
      cwd: 'run-{x}',
      files,
    };
    expect(await tasks(line)).toMatchObject([
      {
        exec: ['a, b'],
        env: { R: '0.1' },
        cwd: '/here/run-1',
        params: { rate: '0.1', name: 'a, b', x: '1' },
      },
      { exec: ['a, b'], env: { R: '0.1' }, cwd: '/here/run-2' },
      { exec: ['c'], env: { R: '0.2' }, cwd: '/here/run-1' },
      { exec: ['c'], env: { R: '0.2' }, cwd: '/here/run-2' },
    ]);
  });

  it('skip tasks whose file exists', async () => {
    const files = { 'out/1-y.txt': '', 'sub/out/2-x.txt': '' };
    const line = { param: ['a=1,2', 'b=x,y'], command: ['{a}{b}'], skipExisting: 'out/{a}-{b}.txt', files };
    expect(await execOf(line)).toEqual(['1x', '2x', '2y']);
    expect(await execOf({ ...line, cwd: 'sub' })).toEqual(['1x', '1y', '2y']);
    expect((await job({ ...line, param: ['a=1', 'b=y'] })).tasks).toEqual([]);
  });

  it('name files of output', async () => {
    expect(
      await execOf({ param: ['constructor=1', 'toString=2'], command: ['{constructor}{toString}'] }),
    ).toEqual(['12']);
    const found = await tasks({ param: ['a=1,2'], stdout: 'out/{a}-{index}.txt', command: ['x'] });
    expect(found.map(({ params }) => params)).toEqual([{ a: '1' }, { a: '2' }]);
    expect(found.map(({ stdout }) => stdout)).toEqual(['out/1-{index}.txt', 'out/2-{index}.txt']);
  });

  it('are the input of a module', async () => {
    const inputs = async (line: Line) => (await tasks({ module: 'w.js', ...line })).map(({ input }) => input);
    const files = { f: 'n,m\n1,2' };
    expect(await inputs({ eachLine: 'f', colsep: ',', header: true, files })).toEqual([{ n: '1', m: '2' }]);
    expect(await inputs({ eachLine: 'f', colsep: ',', files })).toEqual([
      ['n', 'm'],
      ['1', '2'],
    ]);
    expect(await inputs({ array: '5', param: ['a=x'] })).toEqual([{ value: 5, a: 'x' }]);
    expect(await inputs({ param: ['a=x,y'] })).toEqual([{ a: 'x' }, { a: 'y' }]);
  });

  it.each<[Line, string]>([
    [{ eachLine: 'f', colsep: ',', command: ['{3}'] }, 'line 1 of f has 2 columns, but not {3}'],
    [
      { eachLine: 'f', colsep: ',', header: true, command: ['{3}'] },
      'line 2 of f has 2 columns, but not {3}',
    ],
    [
      { eachLine: 'g', colsep: ',', header: true, command: ['x'] },
      'line 2 of g has 3 columns, and the header names 2',
    ],
    [
      { eachLine: 'i', colsep: ',', header: true, command: ['x'] },
      'line 3 of i has 1 column, and the header names 2',
    ],
    [{ eachLine: 'h', header: true, command: ['x'] }, 'h has no lines after its header'],
    [{ eachLine: 'd', colsep: ',', header: true, command: ['x'] }, '"a" cannot be the name of column 2'],
    [{ colsep: ',', command: ['x'] }, '--colsep needs --each-line'],
    [{ header: true, array: '1', command: ['x'] }, '--header needs --each-line'],
    [{ param: ['a=1'], command: ['{}'] }, '{} has no value without --array or --each-line'],
    [{ param: ['1=a'], command: ['x'] }, '"1" cannot be the name'],
    [
      { param: ['a={index},x'], stdout: 'out/{a}', command: ['x'] },
      '"{index}", a value of the job, cannot be part of a path, because workers would fill in its braces',
    ],
    [{ param: ['a=1', 'a=2'], command: ['x'] }, '--param names a twice'],
    [{ param: ['a'], command: ['x'] }, '--param: "a" is neither NAME=VALUES nor @FILE'],
    [
      { param: ['rate=1'], command: ['{rte}'] },
      '{rte} in the command is not a parameter; did you mean {rate}?',
    ],
    [
      { param: ['rate=1'], command: ['{rate}'], env: ['R={rat}'] },
      '{rat} in --env is not a parameter; did you',
    ],
    [{ param: ['rate=1'], command: ['{rate}'], stdout: '{rte}' }, '{rte} in --stdout is not a parameter'],
    [{ param: ['rate=1', 'b=2'], command: ['{rate}'] }, '--param b: the command does not contain {b}'],
    [{ param: ['@i'], command: ['x'] }, 'the command contains no column of i'],
    [{ param: ['@g'], command: ['x'] }, 'g: line 2 has 3 cells, and the header 2'],
    [{ param: ['@h'], command: ['x'] }, 'h has no rows after its header'],
    [{ param: ['@d'], command: ['x'] }, '"a" cannot be the name of column 2'],
    [{ param: ['@f', 'a=1'], command: ['{a}'] }, '--param names a twice'],
    [{ param: ['a=1:0:1'], command: ['{a}'] }, '1:0:1 never reaches its end'],
    [{ param: ['a=1:2:0'], command: ['{a}'] }, '1:2:0 has the step 0'],
    [{ param: ['a=0:1:0.0000001'], command: ['{a}'] }, 'has 10000001 values'],
    [{ resume: true, command: ['x'] }, '--resume needs --param, --array or --each-line'],
    [
      { param: ['a=1'], resume: true, key: 'k', command: ['{a}'] },
      '--resume and --key cannot be used together',
    ],
    [
      { param: ['a=1'], resume: true, stdout: 'o/{index}', command: ['{a}'] },
      '--resume numbers the remaining tasks from 0',
    ],
    [
      { param: ['a=1'], skipExisting: 'o/{b}', command: ['{a}'] },
      '{b} in --skip-existing is not a parameter',
    ],
    [
      { array: '1-2', skipExisting: 'o', command: ['x'] },
      '--skip-existing: o is the same file for all tasks',
    ],
    [{ array: '1-1000000', param: ['a=1,2'], command: ['x'] }, 'there are 2000000 combinations'],
    [{ param: ['a=1'], tasks: '2', command: ['x'] }, '--tasks and --param cannot be used together'],
    [{ eachLine: 'f', colsep: ',', shell: true, command: ['echo {1}'] }, 'would be interpreted as code'],
    [
      { array: '1-200000', command: ['sh', '-c', 'echo {}'] },
      '--array: 200,000 tasks with individual arguments are too large',
    ],
  ])('are rejected if invalid: %j', async (line, message) => {
    const files = { f: 'a,b\nc,d', g: 'a,b\n1,2,3', h: 'a', d: 'a,a\n1,2', i: 'a,b\n1,2\n\n' };
    await expect(job({ ...line, files })).rejects.toThrow(message);
  });
});

describe('--module', () => {
  it.each([
    ['./w.js#run', {}, '/here/w.js', 'run'],
    ['./m #1/plain.mjs', {}, '/here/m #1/plain.mjs', undefined],
    ['./m #1/plain.mjs#run', {}, '/here/m #1/plain.mjs', 'run'],
    ['a#b', { 'a#b': '' }, '/here/a#b', undefined],
    ['a#b', { a: '' }, '/here/a', 'b'],
    ['a#b.mjs#default', { 'a#b.mjs': '' }, '/here/a#b.mjs', 'default'],
    ['~/w.mjs', {}, '/here/~/w.mjs', undefined],
  ])('%s with %j here is %s, export %s', async (module, files, path, name) => {
    const [task] = await tasks({ module, files });
    expect({ module: task!.module, export: task!.export }).toEqual({ module: path, export: name });
  });
});

describe('a job file', () => {
  const file = JSON.stringify({
    name: 'night',
    demand: { cpu: 1, gpu: 2 },
    stages: [
      { name: 'a', tasks: [{ exec: ['make'] }, { exec: ['make'], cwd: 'sub' }, { sleep: 5 }] },
      { name: 'b', after: ['a'], tasks: { count: 2, run: { module: 'w.js', cwd: '/lib' } } },
    ],
  });

  it('is sent with absolute paths', async () => {
    expect(await job({ words: ['j.json'], files: { 'j.json': file } })).toEqual({
      name: 'night',
      demand: { cpu: 1, gpu: 2 },
      stages: [
        {
          name: 'a',
          tasks: [{ exec: ['make'], cwd: '/here' }, { exec: ['make'], cwd: '/here/sub' }, { sleep: 5 }],
        },
        { name: 'b', after: ['a'], tasks: { count: 2, run: { module: '/lib/w.js' } } },
      ],
    });
  });

  it('is overridden by flags, and may be stdin', async () => {
    const line = { words: ['-'], files: { '-': file }, name: 'day', cpus: '2', cwd: '/there' };
    const found = await job(line);
    expect(found).toMatchObject({ name: 'day', demand: { cpu: 2, gpu: 2 } });
    expect(found.stages![0]!.tasks).toMatchObject([{ cwd: '/there' }, { cwd: '/there/sub' }, {}]);
  });

  it.each([
    ['{"tasks": [{"slep": 5}]}', 'j.json: tasks[0]: unknown field "slep"'],
    ['{"tasks": [{"sleep": 5}], "retry": 1}', 'j.json: unknown field "retry"'],
    ['{"tasks": []', 'j.json: not JSON'],
    ['[]', 'j.json: '],
  ])('%s is rejected: %s', async (content, message) => {
    await expect(job({ words: ['j.json'], files: { 'j.json': content } })).rejects.toThrow(message);
  });
});

describe('a contradiction', () => {
  it.each<[Line, string]>([
    [{}, 'nothing to run'],
    [{ tasks: '5' }, 'nothing to run'],
    [{ command: [] }, 'there is no command after --'],
    [{ words: ['a.json'], command: ['x'] }, 'a job file and a command cannot be used together'],
    [{ sleep: '1s', command: ['x'] }, 'a command and --sleep cannot be used together'],
    [{ sleep: '1s', module: 'm' }, '--sleep and --module cannot be used together'],
    [{ words: ['echo', 'hi'] }, '"hi" is not expected'],
    [{ sleep: '1s', array: '1-3' }, '--array requires a command or --module, not --sleep'],
    [{ sleep: '1s', shell: true }, '--shell requires a command, not --sleep'],
    [{ sleep: '1s', cwd: '/' }, '--cwd requires a command or --module or a job file, not --sleep'],
    [{ words: ['a.json'], tasks: '3' }, '--tasks requires'],
    [{ words: ['a.json'], env: ['A=b'] }, '--env requires a command, not a job file'],
    [{ command: ['x'], input: '1' }, '--input requires --module, not a command'],
    [{ command: ['x'], tasks: '2', array: '1-2' }, '--tasks and --array cannot be used together'],
    [{ command: ['x'], eachLine: 'f', stdin: 'g' }, '--each-line and --stdin cannot be used together'],
    [{ module: 'm', array: '1', input: '1' }, '--array and --input cannot be used together'],
    [{ module: 'm', input: '{' }, '--input: not JSON'],
    [{ module: 'm#' }, '"m#" is not PATH#EXPORT'],
    [{ command: ['x'], env: ['A'] }, '--env: "A" is not NAME=VALUE'],
    [{ command: ['x'], resource: ['gpu'] }, '--resource: "gpu" is not NAME=AMOUNT'],
    [{ command: ['x'], resource: ['gpu=1', 'gpu=2'] }, '--resource names gpu twice'],
    [{ command: ['x'], memory: 'much' }, '--memory: "much" is not an amount'],
    [{ command: ['x'], tasks: '0' }, '--tasks: 0 is out of range'],
    [{ command: ['x'], env: ['A=1', 'A=2'] }, '--env names A twice'],
    [{ command: ['x'], retries: '1001' }, '--retries: 1001 is out of range'],
    [{ command: ['x\0'] }, 'NUL'],
    [{ sleep: '100' }, '--sleep: "100" is not a duration'],
  ])('%j is rejected: %s', async (line, message) => {
    const refusal = expect(job(line)).rejects;
    await refusal.toThrow(InputError);
    await expect(job(line)).rejects.toThrow(message);
  });
});

it('--no-lend keeps running tasks from pausing, also those of a job file', async () => {
  expect(await job({ command: ['true'] })).not.toHaveProperty('lend');
  expect(await job({ command: ['true'], lend: false })).toMatchObject({ lend: false });
  const files = { 'a.json': '{"tasks": [{"sleep": 5}], "lend": true}' };
  expect(await job({ words: ['a.json'], files })).toMatchObject({ lend: true });
  expect(await job({ words: ['a.json'], files, lend: false })).toMatchObject({ lend: false });
});
