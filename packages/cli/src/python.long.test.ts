import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

/** The tests run the Python package against a cluster. `PYTHON` names an interpreter other than `python3`. */

const PACKAGE = fileURLToPath(new URL('../../python', import.meta.url));
const TESTS = join(PACKAGE, 'tests');
const PYTHON = process.env.PYTHON ?? 'python3';
const GOSHAWK = fileURLToPath(new URL('../bin/goshawk.js', import.meta.url));
const EXAMPLES = fileURLToPath(new URL('../../../examples/python', import.meta.url));
/** Debian's packages are those of /usr/bin/python3. */
const DEBIAN = '/usr/bin/python3';
const run = promisify(execFile);

function has(modules: string): boolean {
  return spawnSync(DEBIAN, ['-c', `import ${modules}`]).status === 0;
}

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
afterAll(async () => {
  // A failed test may leave jobs, for which the cluster would wait.
  await cluster.goshawk(['cancel', '--all', '--yes']);
  await cluster.stop();
});

it('the client and the executor pass their own tests', async () => {
  const args = ['-W', 'error::SyntaxWarning', '-m', 'unittest', '--verbose'];
  // Some tests count runs in files, so a repeated run needs another folder.
  const env = { ...environment, GOSHAWK_TEST_FOLDER: await mkdtemp(join(cluster.folder, 'tests-')) };
  const { stderr } = await run(PYTHON, args, { cwd: TESTS, env, timeout: 180_000, killSignal: 'SIGKILL' });
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

it.runIf(has('cloudpickle, ensurepip'))(
  'with pip in a virtual environment, functions, classes and exceptions of a script work, and large values',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-venv-'));
    try {
      await run(DEBIAN, [join(PACKAGE, 'make_wheel.py'), folder, '0.1.0'], { env: environment });
      const environmentFolder = join(folder, 'venv');
      // cloudpickle is that of Debian, because tests need no network.
      await run(DEBIAN, ['-m', 'venv', '--system-site-packages', environmentFolder]);
      const python = join(environmentFolder, 'bin/python');
      const wheel = join(folder, 'goshawk-0.1.0-py3-none-any.whl');
      await run(python, ['-m', 'pip', 'install', '--no-index', '--no-deps', '--quiet', wheel]);
      const code = `
import collections, sys
from goshawk import Client, Executor
Point = collections.namedtuple("Point", "x y")
class Vector:
    def __init__(self, x): self.x = x
class Diverged(Exception): pass
def double(value): return type(value)(*(2 * part for part in vars(value).values())) if isinstance(value, Vector) else value._replace(x=2 * value.x)
def diverge(): raise Diverged("rate")
if __name__ == "__main__":
    print(type(Client().jobs()).__name__, sys.prefix != sys.base_prefix)
    with Executor() as executor:
        print(executor.submit(lambda: sys.prefix).result() == sys.prefix)
        vector = executor.submit(double, Vector(3)).result()
        print(type(vector) is Vector, vector.x, executor.submit(double, Point(2, 1)).result() == Point(4, 1))
        print(type(executor.submit(diverge).exception()) is Diverged)
        print(len(executor.submit(lambda: b"x" * 10_000_000).result()))
`;
      const script = join(folder, 'script.py');
      await writeFile(script, code);
      const { PYTHONPATH: _, GOSHAWK_CLUSTER: __, ...clean } = environment;
      const { stdout } = await run(python, [script], { cwd: cluster.folder, env: clean, timeout: 60_000 });
      expect(stdout).toBe('list True\nTrue\nTrue 6 True\nTrue\n10000000\n');
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

it('a client finds the cluster of its folder, and the one of the command line', async () => {
  const code = 'from goshawk import Client; print(Client().jobs(), Client().url)';
  const { GOSHAWK_CLUSTER: _, XDG_STATE_HOME: __, ...clean } = environment;
  const none = { ...clean, XDG_STATE_HOME: join(cluster.folder, 'no-state') };
  const address = cluster.dashboard!.replace(/\/(#.*)?$/, '');
  const here = await run(PYTHON, ['-c', code], { cwd: cluster.folder, env: none });
  expect(here.stdout).toContain(address);
  const only = await run(PYTHON, ['-c', code], {
    cwd: tmpdir(),
    env: { ...clean, XDG_STATE_HOME: cluster.folder },
  });
  expect(only.stdout).toContain(address);
});

it.each([
  ['no cluster runs', {}, /start one with `goshawk up --dashboard`/],
  [
    'a cluster has no HTTP',
    { GOSHAWK_CLUSTER: 'tcp://127.0.0.1:9' },
    /type `goshawk dashboard --cluster tcp:/,
  ],
  ['nothing answers', { GOSHAWK_API: 'http://127.0.0.1:9' }, /start it with `goshawk dashboard`/],
])('a client says in three seconds what to type when %s', async (_, variables, expected) => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-none-'));
  const { GOSHAWK_CLUSTER: __, ...clean } = environment;
  const code = `import time, goshawk
begun = time.monotonic()
try: goshawk.Client().jobs()
except goshawk.GoshawkError as error: print(time.monotonic() - begun < 4, error)`;
  const env = { ...clean, XDG_STATE_HOME: folder, ...variables };
  const { stdout } = await run(PYTHON, ['-c', code], { cwd: folder, env });
  await rm(folder, { recursive: true });
  expect(stdout).toMatch(/^True /);
  expect(stdout).toMatch(expected);
  expect(stdout.trim().split('\n').length).toBe(1);
});

it('the first lines of the documentation start a cluster, run calls, and leave nothing behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-first-'));
  const text = await readFile(new URL('../../../docs/PYTHON.md', import.meta.url), 'utf8');
  await writeFile(join(folder, 'first.py'), /```python\n([\s\S]*?)```/.exec(text)![1]!);
  const env = { ...environment, GOSHAWK_COMMAND: `${process.execPath} ${GOSHAWK}`, TMPDIR: folder };
  const python = has('cloudpickle') ? DEBIAN : PYTHON;
  const { stdout } = await run(python, ['first.py'], { cwd: folder, env });
  expect(stdout).toBe('[0, 1, 4, 9, 16]\n45\n');
  expect((await readdir(folder)).filter((name) => name.startsWith('goshawk-'))).toEqual([]);
  await rm(folder, { recursive: true });
});

it.runIf(has('mypy'))(
  'mypy accepts the annotations of the package, and finds mistakes of its users',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'goshawk-mypy-'));
    const mypy = (...args: string[]) =>
      run(DEBIAN, ['-m', 'mypy', '--cache-dir', folder, ...args], {
        cwd: PACKAGE,
        env: { ...environment, MYPYPATH: PACKAGE },
      });
    await mypy('goshawk');
    const file = join(folder, 'user.py');
    await writeFile(file, 'from goshawk import Client\n\nClient().job(1.5)\n');
    const found = mypy(file);
    await expect(found).rejects.toMatchObject({
      stdout: expect.stringContaining('incompatible type "float"'),
    });
    await rm(folder, { recursive: true });
  },
);

it('no process keeps more than three large results, and no file is left after the job is gone', async () => {
  const kept = await TestCluster.start(['--workers', '2', '--cpus', '1', '--dashboard', '--keep', '1s']);
  try {
    const { GOSHAWK_CLUSTER: _, ...clean } = environment;
    const env = { ...clean, XDG_STATE_HOME: kept.folder };
    const [count, size] = [40, 32_000_000];
    const argv = [join(TESTS, 'memory.py'), kept.pid, count, size].map(String);
    const python = has('cloudpickle, numpy') ? DEBIAN : PYTHON;
    const { stdout } = await run(python, argv, { cwd: kept.folder, env });
    const grown = JSON.parse(stdout) as [number, string][];
    // The program, `up`, central, schedulers, workers, the dashboard and an interpreter at least.
    expect(grown.length).toBeGreaterThan(6);
    expect(grown.filter(([bytes]) => bytes > 3 * size)).toEqual([]);
    const values = join(kept.folder, 'data/values');
    const left = async () => (await readdir(values)).filter((name) => name !== 'identity');
    expect((await left()).length).toBe(1);
    await expect.poll(left, { timeout: 150_000, interval: 1_000 }).toEqual([]);
  } finally {
    await kept.stop();
  }
});

const canIsolate = process.getuid?.() === 0 && existsSync('/usr/bin/bwrap') && has('json');

it.runIf(canIsolate)('large values reach calls in a sandbox', async () => {
  const isolated = await TestCluster.start(
    ['--workers', '1', '--dashboard', '--secure', '--run-as', 'sandbox'],
    { GOSHAWK_CLUSTER: undefined },
  );
  // The account of the calls may be unable to enter the checkout.
  const own = await mkdtemp(join(tmpdir(), 'goshawk-package-'));
  try {
    await chmod(own, 0o755);
    await cp(join(PACKAGE, 'goshawk'), join(own, 'goshawk'), { recursive: true });
    const code = `import operator, os
from goshawk import Executor
with Executor(cwd="/usr") as executor:
    data = os.urandom(5_000_000)
    print(executor.submit(os.getuid).result(), executor.submit(operator.concat, data, data).result() == data + data)
    print(list(executor.map(len, [data] * 3)))`;
    const { GOSHAWK_CLUSTER: _, ...clean } = environment;
    const env = { ...clean, XDG_STATE_HOME: isolated.folder, PYTHONPATH: own };
    // The folder is closed to the account, and a part of the module path.
    const { stdout } = await run(DEBIAN, ['-c', code], { cwd: isolated.folder, env, timeout: 60_000 });
    expect(stdout).toBe('65534 True\n[5000000, 5000000, 5000000]\n');
  } finally {
    await isolated.stop();
    await rm(own, { recursive: true });
  }
});

describe.runIf(has('cloudpickle, sklearn, joblib, pandas, nbconvert, ipykernel'))('an example', () => {
  it.each([
    ['grid_search.py', ['grid_search.py'], /^best: \{'C': 10, 'gamma': 0\.1\} 0\.973$/m],
    ['sweep.py', ['sweep.py', 'key-of-a-test'], /^20 points; the best: \{'rate': 0\.3, 'depth': 1\.0/m],
    ['sweep.py, resumed', ['sweep.py', 'key-of-a-test'], /^20 points/m],
    [
      'notebook.ipynb',
      ['-m', 'nbconvert', '--to', 'markdown', '--execute', '--stdout', 'notebook.ipynb'],
      /Point\(x=2, y=1\) True 42/,
    ],
  ])('%s runs with the packages of Debian', async (_, args, expected) => {
    const { stdout } = await run(DEBIAN, args, {
      cwd: EXAMPLES,
      env: { ...environment, HOME: cluster.folder },
    });
    expect(stdout).toMatch(expected);
  });
});
