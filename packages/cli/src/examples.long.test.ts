import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

const run = promisify(execFile);

/**
 * The tests run `examples/` as a user would; those of policies and estimators are in
 * `custom-modules.process.test.ts`.
 */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const GOSHAWK = join(ROOT, 'packages/cli/bin/goshawk.js');

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start(['--workers', '8', '--schedulers', '2']);
});
afterAll(() => cluster.stop());

/**
 * @param variables additions to the environment
 * @throws with its output if its exit code is not 0
 */
function output(command: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, GOSHAWK_CLUSTER: cluster.url, ...variables };
  const running = run(command, args, { cwd: ROOT, env });
  running.child.stdin?.end();
  return running;
}

describe('examples', () => {
  it('primes: functions of a module with each of many inputs', async () => {
    const { stdout } = await output(process.execPath, ['examples/primes.js']);
    expect(stdout).toBe('17984 primes below 200,000\n');
  });

  it('sweep: parameters, with a progress bar', async () => {
    const { stdout, stderr } = await output(process.execPath, ['examples/sweep.js']);
    expect(stdout).toBe('farthest: 91.7 m at {"angle":45,"drag":0}\n');
    expect(stderr).toMatch(/\[#{30}\] 42 of 42\n$/);
  });

  it('pipeline: what tasks print is the input of the next command', async () => {
    const files = ['LICENSE', 'examples/sweep.js'];
    const args = ['examples/pipeline.sh', ...files];
    const { stdout } = await output('sh', args, { GOSHAWK: `${process.execPath} ${GOSHAWK}` });
    const texts = await Promise.all(files.map((file) => readFile(join(ROOT, file), 'utf8')));
    const words = texts.flatMap((text) => text.split(/\s+/).filter((word) => word !== ''));
    expect(stdout).toBe(`${words.length} words in 2 files\n`);
  });

  it('gang: ranks that connect to the first of them', async () => {
    const gang = ['submit', '--gang', '--tasks', '4', '--logs', '--', process.execPath, 'examples/gang.js'];
    const { stdout } = await output(process.execPath, [GOSHAWK, ...gang]);
    expect(stdout).toBe('the sum of 4 ranks is 30\n');
  });

  it('cluster: real processes inside a vitest test', async () => {
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');

    const { stdout } = await output(process.execPath, [
      vitest,
      'run',
      '--root',
      'examples',
      '--reporter',
      'json',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ numPassedTests: 1, numTotalTests: 1 });
  });
});
