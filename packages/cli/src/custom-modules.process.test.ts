import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Comparison } from '@goshawk/report';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runGoshawk, startGoshawk } from './goshawk-process.fixture.js';
import { removeFolder, TestCluster } from './test-cluster.fixture.js';

/** Folder with custom policies and estimators. */
const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));
const SMALL = ['google-like:jobs=100,seed=3', '--workers', '40', '--load', '0.9'];

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-own-test-'));
  for (const name of ['shortest-first.js', 'last-time.js'])
    await cp(join(EXAMPLES, name), join(folder, name.replace('.js', '.mjs')));
});
afterAll(() => removeFolder(folder));

const policy = (plan: string): string =>
  `export default { title: 'x', declares: false, options: {}, make: () => ({ update() {}, plan(cluster, draft, now) { ${plan} } }) };`;
const THROWS = policy("if ([...cluster.jobs].length > 0) throw new Error('lost my way');");

const estimator = (predict: string): string =>
  `export default { title: 'x', make: () => ({ name: 'x', savedCharactersMax: 1, weigh() {}, learn() {}, save() {}, load() {}, predict() { ${predict} } }) };`;
const NAN = "return { kind: 'estimate', estimate: { meanMs: NaN, by: 'x' } };";

async function simulated(...args: string[]): Promise<Comparison> {
  const done = await runGoshawk(['simulate', ...SMALL, '--json', ...args], {}, { cwd: folder });
  expect(done).toMatchObject({ exitCode: 0 });
  return JSON.parse(done.stdout) as Comparison;
}

it('a module that never returns while it is loaded or checked is reported, and ends the command', async () => {
  const loop = 'for (;;);';
  const modules = [
    ['up', '--policy', loop],
    ['central', '--policy', policy(loop)],
    [
      'simulate',
      '--policy',
      `export default { title: 'x', declares: false, options: {}, make: () => { ${loop} } };`,
    ],
    ['simulate', '--estimator', `await null; ${loop}`],
  ] as const;
  await Promise.all(
    modules.map(async ([command, flag, source], index) => {
      const file = join(folder, `loop-${index}.mjs`);
      await writeFile(file, source);
      const more =
        command === 'simulate'
          ? SMALL
          : command === 'up'
            ? ['--data-folder', join(folder, 'up')]
            : ['--bind', 'tcp://127.0.0.1:0'];
      const { exitCode, stdout, stderr } = await runGoshawk(
        [command, ...more, flag, file],
        {},
        { cwd: folder },
      );
      expect({ exitCode, stdout }).toEqual({ exitCode: null, stdout: '' });
      expect(stderr).toContain(
        `${flag} ${file}: it has not returned for 5 s while it was loaded and checked`,
      );
    }),
  );
});

it('a policy whose `make` throws no error, when it is made again, ends the command in one line', async () => {
  const file = join(folder, 'late.mjs');
  const make = 'make() { if (made++ > 0) throw undefined; return { update() {}, plan() {} }; }';
  await writeFile(
    file,
    `let made = 0; export default { title: 'x', declares: false, options: {}, ${make} };`,
  );
  const commands = [
    ['central', '--bind', 'tcp://127.0.0.1:0'],
    ['up', '--workers', '1', '--data-folder', join(folder, 'late')],
  ];
  await Promise.all(
    commands.map(async (command) => {
      const done = await runGoshawk([...command, '--policy', file], {}, { cwd: folder });
      expect(done).toMatchObject({ exitCode: 2, stdout: '' });
      expect(done.stderr).toMatch(/late\.mjs: \\?"make\\?" throws undefined/);
    }),
  );
});

describe('simulated', () => {
  it('a custom policy and estimator run beside others, in threads too', async () => {
    const names = ['./shortest-first.mjs', 'goshawk'];
    const args = ['--policy', names.join(), '--estimator', './last-time.mjs', '--seeds', '2'];
    const { runs } = await simulated(...args, '--parallel', '2');
    expect(runs.map(({ policy }) => policy)).toEqual([names[0], names[0], names[1], names[1]]);
    for (const { jobs, options } of runs) {
      expect(jobs).toEqual({ submitted: 100, completed: 100, failed: 0 });
      expect(options.estimator).toBe(join(folder, 'last-time.mjs'));
    }
    const again = await simulated(...args, '--parallel', '1');
    expect(again.runs.map(({ runtimeSeconds }) => runtimeSeconds)).toEqual(
      runs.map(({ runtimeSeconds }) => runtimeSeconds),
    );
  });

  it.each<[what: string, flag: string, source: string | undefined, line: RegExp]>([
    ['a policy that is missing', '--policy', undefined, /the file .*mine\.mjs does not exist/],
    ['an estimator that is missing', '--estimator', undefined, /the file .*mine\.mjs does not exist/],
    [
      'a policy whose file throws',
      '--policy',
      'throw new Error("oops")',
      /cannot load it: Error: oops \(mine/,
    ],
    [
      'a policy that is no JavaScript',
      '--policy',
      'export default {\n  title: "x",\n  plan( {\n};\n',
      /cannot load it: SyntaxError: .* \(mine\.mjs:\d\)$/m,
    ],
    [
      'a policy that makes Goshawk throw',
      '--policy',
      policy('for (const w of cluster.workers) draft.start(undefined, w);'),
      /mine\.mjs threw: \w*Error: stage: it was not given by .* \(mine\.mjs:1:\d+\)$/m,
    ],
    ['a policy that is none', '--policy', 'export default 3', /its default export is not an object/],
    ['an estimator that is none', '--estimator', 'export default { title: "x" }', /no function "make"/],
    [
      'an estimator that throws',
      '--estimator',
      estimator("throw new Error('lost my way');"),
      /the estimator .*mine\.mjs failed: Error: lost my way \(mine\.mjs:1:\d+\)$/m,
    ],
    [
      'an estimator that estimates NaN',
      '--estimator',
      estimator(NAN),
      /the estimator .*mine\.mjs failed: predict: an estimate of NaN ms$/m,
    ],
    [
      'an estimator in shadow that estimates NaN',
      '--shadow',
      estimator(NAN),
      /the estimator .*mine\.mjs failed: predict: an estimate of NaN ms$/m,
    ],
    ['a policy that throws as it plans', '--policy', THROWS, /mine\.mjs threw: Error: lost my way \(mine/],
    [
      'a policy that starts nothing',
      '--policy',
      policy(''),
      /left 100 jobs waiting forever with no task running/,
    ],
    [
      'a policy that asks again at once, for ever',
      '--policy',
      policy('if ([...cluster.jobs].length > 0) draft.again(now);'),
      /is not after now/,
    ],
  ])('%s is an error of one line with exit code 2', async (_, flag, source, line) => {
    const own = await mkdtemp(join(folder, 'bad-'));
    if (source !== undefined) await writeFile(join(own, 'mine.mjs'), source);
    const args = ['simulate', ...SMALL, '--quiet', flag, './mine.mjs'];
    const { exitCode, stdout, stderr } = await runGoshawk(args, {}, { cwd: own });
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(/^goshawk: /)]);
    expect(stderr).toMatch(line);
    expect([exitCode, stdout]).toEqual([2, '']);
  });
});

describe('live', () => {
  it('all jobs run with a custom policy and estimator', async () => {
    const own = [
      '--policy',
      join(folder, 'shortest-first.mjs'),
      '--estimator',
      join(folder, 'last-time.mjs'),
    ];
    const cluster = await TestCluster.start(['--workers', '4', '--schedulers', '1', ...own]);
    try {
      const submit = ['submit', '--name', 'nightly', '--tasks', '6', '--sleep', '20ms', '--wait'];
      expect(await cluster.goshawk(submit)).toMatchObject({ exitCode: 0 });
      const second = await cluster.goshawk(submit);
      expect(second).toMatchObject({ exitCode: 0 });
      const job = await cluster.goshawk(['job', second.stdout.trim(), '--json']);
      expect(JSON.parse(job.stdout)).toMatchObject({ classifiedBy: 'last time' });
    } finally {
      expect(await cluster.stop()).toMatchObject({ exitCode: 0 });
    }
  });

  it('exceptions of a policy are logged and counted, and the jobs run', async () => {
    const file = join(folder, 'throws.mjs');
    await writeFile(file, THROWS);
    const cluster = await TestCluster.start(['--workers', '3', '--schedulers', '1', '--policy', file]);
    try {
      const done = await cluster.goshawk(['submit', '--tasks', '9', '--sleep', '10ms', '--wait']);
      expect(done).toMatchObject({ exitCode: 0 });
      expect((await cluster.goshawk(['why'])).stderr).toMatch(
        /the policy \S*throws\S* fails, so tasks start in order of arrival: Error: lost my way/,
      );
      const log = await readFile(join(cluster.folder, 'data', 'logs', 'central.log'), 'utf8');
      expect(log).toMatch(/"error":"Error: lost my way \(throws\.mjs:.*the policy threw/);
    } finally {
      expect(await cluster.stop()).toMatchObject({ exitCode: 0 });
    }
  });

  it('faults of an estimator are logged and counted, and the jobs run', async () => {
    const throwing = join(folder, 'estimator-throws.mjs');
    await writeFile(throwing, estimator("throw new Error('lost my way');"));
    const unsure = join(folder, 'estimates-nan.mjs');
    await writeFile(unsure, estimator(NAN));
    const files = ['--estimator', throwing, '--shadow', unsure];
    const cluster = await TestCluster.start(['--workers', '3', '--schedulers', '1', ...files]);
    try {
      for (let i = 0; i < 3; i++)
        expect(
          await cluster.goshawk([
            'submit',
            '--tasks',
            '9',
            '--estimate',
            '10ms',
            '--sleep',
            '10ms',
            '--wait',
          ]),
        ).toMatchObject({ exitCode: 0 });
      const log = await readFile(join(cluster.folder, 'data', 'logs', 's0.log'), 'utf8');
      const lines = log.split('\n').filter((line) => line.includes('"event":"estimator-failed"'));
      // One line whenever the number of faults doubles.
      expect(lines.filter((line) => line.includes('a shadow estimator failed'))).toHaveLength(2);
      expect(lines.join('\n')).toMatch(
        /"error":"Error: lost my way \(estimator-throws\.mjs:.*the submitter’s estimate is used/,
      );
      expect(lines.join('\n')).toMatch(/"error":"predict: an estimate of NaN ms".*a shadow estimator failed/);
    } finally {
      expect(await cluster.stop()).toMatchObject({ exitCode: 0 });
    }
  });

  it('a scheduler without the estimator of its cluster reports an error', async () => {
    const at = ['--bind', 'tcp://127.0.0.1:0', '--json'];
    const estimator = ['--estimator', join(folder, 'last-time.mjs')];
    const central = startGoshawk(['central', ...at, ...estimator]);
    const { endpoint } = JSON.parse(await central.firstLine) as { endpoint: string };
    const where = ['scheduler', ...at, '--central-url', endpoint];
    const without = startGoshawk([...where, '--name', 'without']);
    const having = startGoshawk([...where, '--name', 'having', ...estimator]);
    try {
      await without.says(/last-time\.mjs.*does not have that estimator/);
      await having.says(/has joined the cluster/);
      expect(having.stderr()).not.toMatch(/does not have that estimator/);
    } finally {
      for (const each of [without, having, central]) each.kill('SIGKILL');
      await Promise.all([without, having, central].map(({ finished }) => finished));
    }
  });

  it('a cluster does not start with an invalid policy', async () => {
    const args = ['up', '--policy', './nothing.mjs'];
    const { exitCode, stderr } = await runGoshawk(args, {}, { cwd: folder });
    expect(stderr).toMatch(/^goshawk: --policy \.\/nothing\.mjs: the file .* does not exist[^\n]*\n$/);
    expect(exitCode).toBe(2);
  });
});
