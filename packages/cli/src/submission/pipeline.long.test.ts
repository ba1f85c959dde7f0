import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFolder, TestCluster } from '../test-cluster.fixture.js';

let folder: string;
let up: TestCluster;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-pipeline-'));
  await cp(fileURLToPath(new URL('../../../../examples/pipeline', import.meta.url)), folder, {
    recursive: true,
  });
  up = await TestCluster.start(['--workers', '2']);
});

afterAll(async () => {
  await up.stop();
  await removeFolder(folder);
});

const goshawk = (...args: string[]) => up.goshawk(args, { cwd: folder });

it('the example runs, then nothing, then what a changed file needs', async () => {
  const planned = await goshawk('plan', 'words.yaml');
  expect(planned).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('count: 3 tasks run') });
  expect(planned.stderr).toContain('total: 1 task runs: stage count writes counts/1.txt');
  const first = await goshawk('submit', 'words.yaml', '--wait');
  expect(first.exitCode, first.stderr).toBe(0);
  expect(await readFile(join(folder, 'total.txt'), 'utf8')).toBe('22\n');

  for (const command of ['plan', 'submit']) {
    const again = await goshawk(command, 'words.yaml');
    expect(again).toMatchObject({ exitCode: 0, stdout: '' });
    expect(again.stderr).toContain('count: skipped, its outputs are newer than its inputs');
  }

  await writeFile(join(folder, 'text/2.txt'), 'shorter\n');
  const changed = await goshawk('submit', 'words.yaml', '--wait');
  expect(changed.exitCode, changed.stderr).toBe(0);
  expect(changed.stderr).toContain('count: 1 of 3 tasks run: text/2.txt is newer than counts/2.txt');
  expect(await readFile(join(folder, 'total.txt'), 'utf8')).toBe('15\n');
});

it('a command that fails in the middle of its output, or does not write it, runs again', async () => {
  const stages = (run: string) =>
    JSON.stringify({ stages: [{ name: 'make', run, outputs: ['deep/er/made'] }] });
  await writeFile(join(folder, 'make.json'), stages('echo half > {outputs}; exit 3'));
  expect((await goshawk('submit', 'make.json', '--wait')).exitCode).toBe(1);
  expect((await goshawk('plan', 'make.json')).stderr).toContain(
    'make: 1 task runs: deep/er/made is incomplete',
  );
  await writeFile(join(folder, 'make.json'), stages('rm -f {outputs}'));
  expect((await goshawk('submit', 'make.json', '--wait')).exitCode).toBe(1);
  expect((await goshawk('logs', 'last')).stderr).toContain('the command did not write deep/er/made');
  await writeFile(join(folder, 'make.json'), stages('echo whole > {outputs}'));
  expect((await goshawk('submit', 'make.json', '--wait')).exitCode).toBe(0);
  expect((await goshawk('plan', 'make.json')).stderr).toContain('make: skipped, its outputs exist');
});

it('a job file in YAML is checked like one in JSON', async () => {
  const refused = async (text: string) => {
    await writeFile(join(folder, 'job.yml'), text);
    const { exitCode, stderr } = await goshawk('submit', 'job.yml');
    expect(exitCode, stderr).toBe(2);
    return stderr;
  };
  expect(await refused('tasks: [{sleep: 5}]\nretrys: 2\n')).toContain('job.yml: ');
  expect(await refused('name: a\nname: b\n')).toMatch(/job\.yml: .*line 2/);
  expect(await refused('name: [a\n')).toMatch(/job\.yml: .*line/);
  expect(await refused('tasks: [{module: /m.mjs, input: 9007199254740993}]\n')).toContain(
    'would lose digits',
  );
  await writeFile(join(folder, 'job.yml'), 'name: yaml\ntasks: {count: 2, run: {sleep: 1ms}}\n');
  expect((await goshawk('submit', 'job.yml', '--wait')).exitCode).toBe(0);
});
