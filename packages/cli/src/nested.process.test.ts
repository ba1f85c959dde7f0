import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningGoshawk, startGoshawk } from './goshawk-process.fixture.js';
import { removeFolder } from './test-cluster.fixture.js';

const BIN = fileURLToPath(new URL('../bin/goshawk.js', import.meta.url));
const CLIENT = new URL('../../client/dist/index.js', import.meta.url).href;
const PYTHON = fileURLToPath(new URL('../../python', import.meta.url));

let folder: string;
let up: RunningGoshawk;

/** One CPU, so that a task that waits for a job of its own would wait for ever without a loan. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-nested-'));
  await mkdir(join(folder, 'bin'));
  await symlink(BIN, join(folder, 'bin/goshawk'));
  const sized = ['--workers', '1', '--cpus', '1', '--dashboard', '--data-folder', join(folder, 'data')];
  const environment = {
    XDG_STATE_HOME: folder,
    PATH: `${folder}/bin:${process.env.PATH}`,
    PYTHONPATH: PYTHON,
  };
  up = startGoshawk(['up', '--json', ...sized], environment, { cwd: folder });
  await up.firstLine;
});

afterAll(async () => {
  up.kill('SIGINT');
  await up.finished;
  await removeFolder(folder);
});

/** Runs commands in a shell, and returns what they print. */
function shell(commands: string): Promise<{ readonly code: number | null; readonly text: string }> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  const PATH = `${folder}/bin:${process.env.PATH}`;
  const env = { ...Object.fromEntries(inherited), PATH, XDG_STATE_HOME: folder };
  const child = spawn('sh', ['-ec', commands], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes) => {
      text += bytes;
    });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, text })));
}

/** A command that runs another as a task, and so on, `levels` deep. Each level prints its number after the next one. */
function nested(levels: number): string {
  if (levels === 0) return 'true';
  const inner = `${nested(levels - 1)}; echo level ${levels}`;
  return `goshawk run -- sh -c ${quoted(inner)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

it.each([1, 2, 3])(
  'a task that runs a command as another task does not wait for ever, %i deep',
  async (levels) => {
    const { code, text } = await shell(nested(levels + 1));
    expect([code, text.match(/level \d/g)]).toEqual([
      0,
      Array.from({ length: levels + 1 }, (_, level) => `level ${level + 1}`),
    ]);
  },
);

it('a task submits a job of several tasks and waits for it: both tell whose CPU the child uses', async () => {
  const child =
    'goshawk submit --tasks 3 -- sh -c "echo child \\$GOSHAWK_TASK; until [ -e go ]; do sleep 0.1; done"';
  await shell(`goshawk submit -- sh -c ${quoted(`${child} > id; goshawk wait $(cat id)`)} > parent`);
  const parent = '$(cat parent)/0';
  // The task that runs first is the pilot, which is drawn at random.
  const each = 'for task in 0 1 2; do goshawk why $(cat id)/$task; done';
  await expect.poll(async () => (await shell(each)).text).toMatch(/uses the CPU of its parent, task/);
  expect((await shell(`goshawk why ${parent}`)).text).toMatch(
    /shares its CPU with task .*, whose job it has submitted/,
  );
  expect((await shell('goshawk tasks $(cat parent)')).text).toMatch(/0 +running/);
  expect((await shell('goshawk why $(cat id)')).text).toMatch(/shares its CPUs with another task/);
  const { code, text } = await shell('touch go; goshawk wait $(cat parent); goshawk logs $(cat id)');
  expect([code, text.match(/child \d/g)?.sort()]).toEqual([0, ['child 0', 'child 1', 'child 2']]);
  expect((await shell('goshawk tasks --json $(cat parent)')).text).toContain('"pausedSeconds":0');
});

it('a task waits for jobs of the SDK and of Python', async () => {
  await writeFile(
    join(folder, 'sdk.mjs'),
    `import { connect } from ${JSON.stringify(CLIENT)};
     const cluster = await connect();
     const job = await cluster.submit({ tasks: [{ exec: ['echo', 'from the SDK'] }] });
     console.log((await job.wait()).state);
     await cluster.close();`,
  );
  await writeFile(
    join(folder, 'client.py'),
    `import goshawk
print(goshawk.Client().submit(tasks=[goshawk.command("echo", "from Python")]).results(timeout=60)[0].state)
`,
  );
  const { code, text } = await shell(
    `goshawk run -- node sdk.mjs; goshawk run -- env PYTHONPATH=${PYTHON} python3 client.py`,
  );
  expect([code, text.trim().split('\n')]).toEqual([0, ['completed', 'completed']]);
});

it('a child goes on if its parent is cancelled; a parent in a gang never lends, and `why` says so', async () => {
  const child = (name: string) =>
    `goshawk submit -- sh -c "until [ -e ${name} ]; do sleep 0.1; done" > ${name}.id`;
  const waiting = (name: string) => quoted(`${child(name)}; goshawk wait $(cat ${name}.id)`);
  await shell(`goshawk submit -- sh -c ${waiting('one')} > one.parent`);
  await expect
    .poll(async () => (await shell('goshawk why $(cat one.id)/0')).text)
    .toMatch(/uses the CPU of its parent/);
  await shell('goshawk cancel --yes $(cat one.parent); goshawk wait $(cat one.parent) || true');
  expect(await shell('touch one; goshawk wait $(cat one.id)')).toMatchObject({ code: 0 });

  await shell(`goshawk submit --gang -- sh -c ${waiting('two')} > two.parent`);
  await expect
    .poll(async () => (await shell('goshawk why $(cat two.id)')).text)
    .toMatch(
      /its parent, task 0 of job .*, may wait for it, and is a member of a gang, which never lends CPUs/,
    );
  await shell('goshawk cancel --yes $(cat two.parent); touch two');
  expect(await shell('goshawk wait $(cat two.id)')).toMatchObject({ code: 0 });
});
