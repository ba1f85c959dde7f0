import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { Containers } from './containers.js';
import { Executors } from './executors.js';
import { outcomeOf, record } from './recording.fixture.js';

const IMAGE = 'localhost/goshawk-podman-test:1';
const WAIT = { timeout: 60_000 };

const folder = mkdtempSync(join(tmpdir(), 'goshawk-podman-'));
mkdirSync(join(folder, 'work'));
let executors: Executors | undefined;

const PACKAGE = fileURLToPath(new URL('../../python', import.meta.url));
/** Its modules are in the working folder of the calls, so that the image stays small. */
const hasPython = existsSync('/usr/bin/python3');

/** Returns the libraries of the modules that the package needs. */
function librariesOfPython(): string[] {
  const code = 'import _ctypes, _hashlib; print(_ctypes.__file__, _hashlib.__file__)';
  const modules = execFileSync('/usr/bin/python3', ['-c', code], { encoding: 'utf8' }).trim().split(' ');
  return [...execFileSync('ldd', modules, { encoding: 'utf8' }).matchAll(/=> (\/\S+)/g)].map(
    ([, library]) => library!,
  );
}

/** Makes an image of the machine's shell, and runs it once. Returns why that is impossible here. */
async function prepare(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'Linux only';
  // Podman needs no daemon, systemd or overlay file system with these settings.
  const conf = join(folder, 'containers.conf');
  writeFileSync(conf, '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n');
  const storage = join(folder, 'storage.conf');
  const [root, run] = ['root', 'run'].map((name) => join(folder, name));
  writeFileSync(storage, `[storage]\ndriver = "vfs"\ngraphroot = "${root}"\nrunroot = "${run}"\n`);
  Object.assign(process.env, { CONTAINERS_CONF: conf, CONTAINERS_STORAGE_CONF: storage });
  const containers = await Containers.findPodman();
  if (containers === undefined) return 'podman is not usable';
  const programs = ['sh', 'cat', 'sleep', 'touch', 'id'].map((name) =>
    execFileSync('/bin/sh', ['-c', `readlink -f "$(command -v ${name})"; command -v ${name}`], {
      encoding: 'utf8',
    }),
  );
  const files = new Set(programs.join('').trim().split('\n'));
  if (hasPython) for (const file of ['/usr/bin/python3', realpathSync('/usr/bin/python3')]) files.add(file);
  for (const file of [...files]) {
    const { stdout } = await promisify(execFile)('ldd', [file]);
    for (const [library] of stdout.matchAll(/\/\S+/g)) files.add(library);
  }
  if (hasPython) for (const library of librariesOfPython()) files.add(library);
  const tar = join(folder, 'image.tar');
  execFileSync('tar', ['-cPhf', tar, '--transform', 's,^/,,', ...files], { stdio: 'pipe' });
  await promisify(execFile)('podman', ['import', tar, IMAGE]);
  const values = join(folder, 'values');
  executors = new Executors({ dataFolder: join(folder, 'data'), graceMs: 500, containers, values });
  const { outcome, sink } = await outcomeOf(executors, { exec: ['sh', '-c', ':'], image: IMAGE });
  return outcome.kind === 'completed' ? undefined : sink.text('stderr') || JSON.stringify(outcome);
}

const missing = await prepare().catch(({ message }: Error) => message.trim());

afterAll(async () => {
  await executors?.close();
  delete process.env.CONTAINERS_CONF;
  delete process.env.CONTAINERS_STORAGE_CONF;
  rmSync(folder, { recursive: true, force: true });
});

// Reason: only a container that has run shows that Podman works here.
describe.skipIf(missing !== undefined)(
  `a command in an image, with Podman${missing ? ` (skipped: ${missing})` : ''}`,
  () => {
    const inImage = (exec: string[], more: object = {}) => ({
      exec: exec as [string, ...string[]],
      image: IMAGE,
      cwd: join(folder, 'work'),
      ...more,
    });

    it('has its arguments, stdin, variables and folder, and its exit code', async () => {
      writeFileSync(join(folder, 'work', 'in.txt'), 'mounted ');
      const env = {
        A: 'two words',
        CONTAINERS_CONF: '/nowhere',
        STORAGE_DRIVER: 'none',
        HTTP_PROXY: 'http://x',
      };
      const script = 'cat; cat in.txt; echo "$A $STORAGE_DRIVER $1"; pwd; echo made >made; exit 7';
      const { outcome, sink } = await outcomeOf(
        executors!,
        inImage(['sh', '-c', script, 'sh', 'x y'], { stdin: 'in ', env }),
      );
      expect(outcome).toMatchObject({ kind: 'failed', exitCode: 7 });
      expect(sink.text()).toBe(`in mounted two words none x y\n${join(folder, 'work')}\n`);
      expect(readFileSync(join(folder, 'work', 'made'), 'utf8')).toBe('made\n');
    });

    it.runIf(hasPython)('runs Python calls, whose large values its worker reads and writes', async () => {
      const work = join(folder, 'work');
      const group = 'c'.repeat(32);
      mkdirSync(join(folder, 'values', group), { recursive: true });
      cpSync(join(PACKAGE, 'goshawk'), join(work, 'goshawk'), { recursive: true });
      const ask = (code: string, ...args: string[]) =>
        execFileSync('/usr/bin/python3', ['-c', code, ...args], {
          encoding: 'utf8',
          env: { PYTHONPATH: PACKAGE, XDG_STATE_HOME: folder, PYTHONDONTWRITEBYTECODE: '1' },
        }).trim();
      const library = ask('import os; print(os.path.dirname(os.__file__))');
      const isNeeded = (path: string) => !/\/(test|__pycache__|config-[^/]*|idlelib|lib2to3)$/.test(path);
      cpSync(library, join(work, 'home/lib', basename(library)), { recursive: true, filter: isNeeded });
      const order = `
import operator, os, sys
from goshawk._calls import pickled_function, packed_args, order_of
from goshawk._values import Folder
class Store:
    group = sys.argv[2]
    def __call__(self): return Folder(sys.argv[1], self.group)
f = pickled_function(operator.concat)
print(order_of(f, [("name", packed_args(f, (b"x" * int(sys.argv[3]), b"!"), {}, Store()))], Store()))`;
      const env = { PYTHONHOME: join(work, 'home'), PYTHONPATH: work, PYTHONDONTWRITEBYTECODE: '1' };
      for (const size of [300_000, 4_000_000]) {
        const stdin = ask(order, join(folder, 'values'), group, String(size));
        const payload = inImage(['/usr/bin/python3', '-m', 'goshawk._worker'], { warm: true, env, stdin });
        const { outcome, sink } = await outcomeOf(executors!, payload);
        expect(outcome, sink.text('stderr')).toMatchObject({
          kind: 'completed',
          value: { python: [{ id: 'name', file: expect.stringMatching(/^[0-9a-f]{64}$/) }] },
        });
        const { file } = (outcome as unknown as { value: { python: [{ file: string }] } }).value.python[0];
        expect(statSync(join(folder, 'values', group, file)).size).toBeGreaterThan(size);
      }
    });

    it('is killed with its container', async () => {
      const { run, sink } = record(
        executors!,
        inImage(['sh', '-c', 'touch up; while :; do sleep 0.1; done']),
      );
      await expect.poll(() => existsSync(join(folder, 'work', 'up')), WAIT).toBe(true);
      run.kill('cancelled');
      expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
      const left = execFileSync('podman', ['ps', '--all', '--quiet'], { encoding: 'utf8' });
      expect(left).toBe('');
    });

    it('writes nothing while it is paused, even if it is paused before it runs, and continues afterwards', async () => {
      const file = join(folder, 'work', 'ticks');
      const size = () => (existsSync(file) ? statSync(file).size : 0);
      const { run, sink } = record(
        executors!,
        inImage(['sh', '-c', 'while :; do echo >>ticks; sleep 0.01; done']),
      );
      for (let pauses = 0; pauses < 2; pauses++) {
        run.pause();
        // Equal sizes half a second apart: the engine has paused it.
        const sizes = [-1, 0];
        const isConstant = (): boolean => {
          sizes.push(size());
          return sizes.at(-1) !== 0 && sizes.at(-1) === sizes.at(-2);
        };
        await expect.poll(isConstant, { ...WAIT, interval: 500 }).toBe(true);
        run.resume();
        const paused = size();
        await expect.poll(size, WAIT).toBeGreaterThan(paused);
      }
      run.pause();
      run.kill('cancelled');
      expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
      expect(execFileSync('podman', ['ps', '--all', '--quiet'], { encoding: 'utf8' })).toBe('');
    });

    it('in an image that cannot be pulled does not start', async () => {
      const { outcome } = await outcomeOf(
        executors!,
        inImage(['true'], { image: 'localhost:1/no/such:image' }),
      );
      expect(outcome).toMatchObject({ error: { code: 'image-unavailable' } });
    });
  },
);
