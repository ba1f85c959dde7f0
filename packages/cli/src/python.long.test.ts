import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

/** The tests run the Python package against a cluster. `PYTHON` names an interpreter other than `python3`. */

const PACKAGE = fileURLToPath(new URL('../../python', import.meta.url));
const TESTS = join(PACKAGE, 'tests');
const PYTHON = process.env.PYTHON ?? 'python3';
const run = promisify(execFile);

let cluster: TestCluster;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  cluster = await TestCluster.start(['--workers', '3', '--schedulers', '1', '--dashboard']);
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  environment = {
    ...Object.fromEntries(kept),
    GOSHAWK_CLUSTER: cluster.url,
    XDG_STATE_HOME: cluster.folder,
    GOSHAWK_TEST_FOLDER: cluster.folder,
    PYTHONPATH: PACKAGE,
    PYTHONDONTWRITEBYTECODE: '1',
  };
});
afterAll(() => cluster.stop());

it('the client and the executor pass their own tests', async () => {
  const args = ['-W', 'error::SyntaxWarning', '-m', 'unittest', '--verbose'];
  const { stderr } = await run(PYTHON, args, { cwd: TESTS, env: environment });
  expect(stderr).toMatch(/^Ran \d{3} tests/m);
});

it('a grid search of 300 points has a result or an exception by index after a restart of the scheduler', async () => {
  const search = spawn(PYTHON, ['grid_search.py'], {
    cwd: TESTS,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: search.stdout })) {
    lines.push(line);
    if (line !== 'half') continue;
    const scheduler = cluster.children().find(({ command }) => command.includes('goshawk.js scheduler'))!;
    process.kill(scheduler.pid, 'SIGKILL');
  }
  if (search.exitCode === null) await once(search, 'exit');
  expect(search.exitCode).toBe(0);
  const failing = new Set(['3,1', '9,4', '10,0', '17,2', '29,9']);
  const expected = Array.from({ length: 300 }, (_, index) => {
    const [rate, depth] = [Math.floor(index / 10), index % 10];
    if (failing.has(`${rate},${depth}`)) return { error: 'Diverged', rate };
    return { value: { rate, score: rate * 100 + depth } };
  });
  expect(JSON.parse(lines.at(-1)!)).toEqual(expected);
});

it('the wheel is built without network, and runs functions of modules in an empty environment, without cloudpickle', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-wheel-'));
  try {
    await run(PYTHON, [join(PACKAGE, 'make_wheel.py'), folder, '0.1.0'], { env: environment });
    const wheel = join(folder, 'goshawk-0.1.0-py3-none-any.whl');
    expect(existsSync(wheel)).toBe(true);
    const environmentFolder = join(folder, 'venv');
    await run(PYTHON, ['-m', 'venv', environmentFolder]);
    const python = join(environmentFolder, 'bin/python');
    await run(python, ['-m', 'pip', 'install', '--no-index', '--no-deps', '--quiet', wheel]);
    const code = 'from goshawk import Executor\nprint(list(Executor().map(abs, [-1, 2])))';
    const { PYTHONPATH: _, ...clean } = environment;
    const { stdout } = await run(python, ['-c', code], { cwd: folder, env: clean });
    expect(stdout).toBe('[1, 2]\n');
  } finally {
    await rm(folder, { recursive: true });
  }
});
