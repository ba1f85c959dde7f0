import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecPayload } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Executors } from './executors.js';
import { Isolation } from './isolation.js';
import { outcomeOf, record } from './recording.fixture.js';

/** The Python package speaks the protocol; an order without cloudpickle names functions of modules. */
const PACKAGE = fileURLToPath(new URL('../../python', import.meta.url));
const PYTHON = process.env.PYTHON ?? 'python3';

let folder: string;
let executors: Executors;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-warm-test-'));
  executors = new Executors({ dataFolder: folder, graceMs: 2_000 });
});
afterEach(async () => {
  await executors.close();
  rmSync(folder, { recursive: true });
});

const orders = new Map<string, string>();

/** Returns a call of `eval(code)`, pickled in a separate process. */
function call(code: string): ExecPayload {
  const stdin = orders.get(code) ?? order(code);
  orders.set(code, stdin);
  return {
    exec: [PYTHON, '-m', 'goshawk._worker'],
    warm: true,
    cwd: folder,
    env: { PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1' },
    stdin,
  };
}

function order(code: string): string {
  const text = `
import sys; sys.path.insert(0, ${JSON.stringify(PACKAGE)})
from goshawk._calls import pickled_function, packed_args, order_of
class NoStore:
    group = "0" * 32
    def __call__(self): return None
f = pickled_function(eval)
print(order_of(f, [("name", packed_args(f, (sys.argv[1], {}), {}, NoStore()))], NoStore()))`;
  const made = spawnSync(PYTHON, ['-c', text, code], {
    encoding: 'utf8',
    env: { ...process.env, XDG_STATE_HOME: folder },
  });
  expect(made.stderr).toBe('');
  return made.stdout.trim();
}

/** Runs a call, and returns what it reports at its end. */
async function endOf(payload: ExecPayload) {
  const { sink } = record(executors, payload);
  const end = await sink.end;
  return { outcome: end.outcome, end };
}

const PID = 'print(__import__("os").getpid())';

async function printed(code: string): Promise<string> {
  const { outcome, sink } = await outcomeOf(executors, call(code));
  expect(outcome.kind).toBe('completed');
  expect(sink.text('stderr')).toBe('');
  return sink.text();
}

it('runs calls one after the other in the same process, and prints for each what it has printed', async () => {
  const first = await printed(PID);
  expect(await printed(PID)).toBe(first);
  expect(await printed('__import__("os").write(1, b"x" * 100000)')).toBe('x'.repeat(100_000));
  expect(await printed(PID)).toBe(first);
});

it('runs calls at the same time in several processes', async () => {
  const [one, other] = await Promise.all([printed(PID), printed(PID)]);
  expect(one).not.toBe(other);
});

it('shares no process between users, variables or limits', async () => {
  const payload = call(PID);
  const first = await outcomeOf(executors, payload, { user: 'user a' });
  const other = await outcomeOf(executors, payload, { user: 'user b' });
  const changed = await outcomeOf(
    executors,
    { ...payload, env: { ...payload.env, MODE: '2' } },
    { user: 'user a' },
  );
  expect(new Set([first, other, changed].map(({ sink }) => sink.text())).size).toBe(3);
});

it('reports an exception as a failed task with a value, and keeps the process', async () => {
  const first = await printed(PID);
  const { outcome, sink } = await outcomeOf(executors, call('1/0'));
  expect(outcome).toMatchObject({
    kind: 'failed',
    error: { code: 'exit-code', message: 'ZeroDivisionError: division by zero' },
    value: { python: [{ id: 'name' }] },
  });
  expect(sink.text('stderr')).toMatch(/ZeroDivisionError: division by zero\n$/);
  expect(await printed(PID)).toBe(first);
});

it.each([
  [
    'exits',
    '__import__("os")._exit(3)',
    'the function ended its process with exit code 3, so it has no result',
  ],
  [
    'closes its files',
    '__import__("os").closerange(3, 1000)',
    'the function closed files that it had not opened, and with them those of its process',
  ],
])('explains that a call %s, and starts another process', async (_, code, message) => {
  const first = await printed(PID);
  const { outcome } = await outcomeOf(executors, call(code));
  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'exit-code', message } });
  expect(await printed(PID)).not.toBe(first);
});

it('ends the process of a killed call, with its children, and starts another one', async () => {
  const first = await printed(PID);
  const pids = 'print(__import__("subprocess").Popen(["sleep", "600"]).pid, flush=True)';
  const { run, sink } = record(executors, call(`[${pids}, __import__("time").sleep(600)]`));
  await expect.poll(() => sink.text(), { timeout: 10_000 }).toMatch(/^\d+\n$/);
  run.kill('cancelled');
  expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
  await expect.poll(() => existsSync(`/proc/${sink.text().trim()}`)).toBe(false);
  expect(await printed(PID)).not.toBe(first);
});

it('replaces a process in which a call has left a child or a thread', async () => {
  for (const code of [
    '__import__("subprocess").Popen(["sleep", "600"]) and None',
    '__import__("threading").Thread(target=__import__("time").sleep, args=(600,), daemon=True).start()',
  ]) {
    const first = await printed(PID);
    expect((await outcomeOf(executors, call(code))).outcome.kind).toBe('completed');
    expect(await printed(PID)).not.toBe(first);
  }
});

it('loads changed modules again, in another process', async () => {
  const file = join(folder, 'answer.py');
  writeFileSync(file, 'value = 1\n');
  expect(await printed('print(__import__("answer").value)')).toBe('1\n');
  writeFileSync(file, 'value = 22\n');
  expect(await printed('print(__import__("answer").value)')).toBe('22\n');
});

it('pauses the process of a call', async () => {
  const ticks = '[(print(n, flush=True), __import__("time").sleep(0.01)) for n in range(200)] and None';
  const { run, sink } = record(executors, call(ticks));
  await expect.poll(() => sink.text(), { timeout: 10_000 }).toContain('5\n');
  run.pause();
  // Output from before the pause still arrives.
  let before = '';
  const isQuiet = (): boolean => {
    const [last, now] = [before, sink.text()];
    before = now;
    return last === now;
  };
  await expect.poll(isQuiet, { interval: 300 }).toBe(true);
  run.resume();
  expect((await sink.end).outcome.kind).toBe('completed');
  expect(sink.text()).toMatch(/^199$/m);
});

/** A program that speaks the protocol, and does what it should not. */
const HOSTILE = `
import json, os, socket, struct, sys, threading
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["GOSHAWK_CALLS"])
def send(text):
    text = text.encode()
    s.sendall(struct.pack("<I", len(text)) + text)
def receive():
    head = s.recv(4, socket.MSG_WAITALL)
    if len(head) < 4: sys.exit(0)
    return json.loads(s.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL))
mark = receive()["mark"].encode("latin1")
def spin():
    while True: pass
if sys.argv[1] == "spin": threading.Thread(target=spin, daemon=True).start()
if sys.argv[1] == "children" and any(os.fork() == 0 for _ in range(3)): spin()
while True:
    id = receive()["id"]
    if sys.argv[1] == "flood":
        while True: s.sendall((struct.pack("<I", 2) + b"{}") * 10_000)
    os.write(1, b"%d" % os.getpid() + mark)
    os.write(2, mark)
    value = "1"
    if sys.argv[1] == "large":
        kind, many = sys.argv[2].split()
        value = {"keys": lambda n: json.dumps({"k%d" % at: at for at in range(n // 14)}), "list": lambda n: json.dumps([[]] * (n // 4)),
                 "text": lambda n: json.dumps("x" * n), "wide": lambda n: '"' + "\u00fc" * (n // 2) + '"'}[kind](int(many))
    error = ', "error": "no"' if len(sys.argv) > 3 else ""
    peak = sys.argv[2] if sys.argv[1] == "claim" else "1"
    send('{"ended": %d, "value": %s, "last": false, "peak": %s%s}' % (id, value, peak, error))`;

function hostile(what: string, ...how: readonly string[]): ExecPayload {
  return { exec: [PYTHON, '-c', HOSTILE, what, ...how], warm: true, cwd: folder };
}

it.each(['1e300', '1.5', '-1', '1e999', '"many"', 'null', '{}', '9007199254740993', '[1]'])(
  'ignores that a process claims a memory of %s',
  async (peak) => {
    const { outcome, end } = await endOf(hostile('claim', peak));
    expect(outcome).toEqual({ kind: 'completed', value: 1, exitCode: 0 });
    expect(end.maxRssBytes).toBeUndefined();
  },
);

// Reason: only Linux shows the state of a process.
it.runIf(process.platform === 'linux')('stops what a call left running, until the next call', async () => {
  const { sink } = await outcomeOf(executors, hostile('spin'));
  const pid = sink.text();
  const state = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]![0];
  await expect.poll(state, { timeout: 20_000 }).toBe('T');
  const again = await outcomeOf(executors, hostile('spin'));
  expect([again.outcome.kind, again.sink.text()]).toEqual(['completed', pid]);
  await expect.poll(state, { timeout: 20_000 }).toBe('T');
  await executors.close();
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});

// Reason: only Linux shows the state of a process.
it.runIf(process.platform === 'linux')(
  'stops it after each call once it has used CPUs between calls',
  async () => {
    const pid = (await outcomeOf(executors, hostile('children'))).sink.text();
    // Calls follow each other too soon for a stop by idle time.
    const stateAndCall = async () => {
      const state = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]![0];
      const { outcome, sink } = await outcomeOf(executors, hostile('children'));
      expect([outcome.kind, sink.text()]).toEqual(['completed', pid]);
      return state;
    };
    await expect.poll(stateAndCall, { timeout: 25_000, interval: 300 }).toBe('T');
  },
);

describe.each(['keys', 'list', 'text', 'wide'])('a value of many %s', (kind) => {
  const MAX = 256 * 1024;
  beforeEach(async () => {
    await executors.close();
    executors = new Executors({ dataFolder: folder, graceMs: 2_000, valueBytesMax: MAX });
  });

  it('is refused above the limit of other values, and the process goes on', async () => {
    expect((await outcomeOf(executors, hostile('large', `${kind} ${MAX - 1_000}`))).outcome.kind).toBe(
      'completed',
    );
    const first = await outcomeOf(executors, hostile('large', `${kind} ${MAX * 3}`));
    expect(first.outcome).toMatchObject({ kind: 'failed', error: { code: 'result-too-large' } });
    const again = await outcomeOf(executors, hostile('large', `${kind} ${MAX * 3}`));
    expect(again.sink.text()).toBe(first.sink.text());
  });

  it('is left out of a failed call', async () => {
    const { outcome } = await outcomeOf(executors, hostile('large', `${kind} ${MAX * 3}`, 'and fails'));
    expect(outcome).toEqual({ kind: 'failed', error: { code: 'exit-code', message: 'no' }, exitCode: 1 });
  });
});

it('hangs up on a process that floods it with messages', async () => {
  const { outcome } = await outcomeOf(executors, hostile('flood'));
  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'exit-code' } });
});

it('leaves no folder behind', async () => {
  const own = mkdtempSync(join(tmpdir(), 'goshawk-warm-test-'));
  const { TMPDIR } = process.env;
  process.env.TMPDIR = own;
  try {
    await printed(PID);
    expect(readdirSync(own).length).toBe(1);
    await executors.close();
    expect(readdirSync(own)).toEqual([]);
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    rmSync(own, { recursive: true });
  }
});

/** Debian's Python, because other accounts cannot enter the home folder of root. */
const DEBIAN = '/usr/bin/python3';
const isRoot = process.getuid?.() === 0;
const canIsolate = isRoot && existsSync('/usr/bin/bwrap') && existsSync(DEBIAN);
const GROUP = 'c'.repeat(32);

/** Returns the order of `operator.concat(SIZE bytes, b"!")`, whose argument and result are files. */
function largeOrder(values: string, size: number): string {
  const text = `
import operator, sys; sys.path.insert(0, ${JSON.stringify(PACKAGE)})
from goshawk._calls import pickled_function, packed_args, order_of
from goshawk._values import Folder
class Store:
    group = sys.argv[2]
    def __call__(self): return Folder(sys.argv[1], self.group)
f = pickled_function(operator.concat)
args = packed_args(f, (b"x" * int(sys.argv[3]), b"!"), {}, Store())
assert "file" in args, args
print(order_of(f, [("name", args)], Store()))`;
  const env = { ...process.env, XDG_STATE_HOME: folder };
  const made = spawnSync(PYTHON, ['-c', text, values, GROUP, String(size)], { encoding: 'utf8', env });
  expect(made.stderr).toBe('');
  return made.stdout.trim();
}

describe.runIf(canIsolate).each([
  ['sandbox', 'no-such-account'],
  ['user', 'goshawk-warm'],
] as const)('a worker with --run-as %s', (runAs, user) => {
  let own: string;
  let isolated: Executors;

  beforeEach(() => {
    own = mkdtempSync(join(tmpdir(), 'goshawk-warm-test-'));
    chmodSync(own, 0o755);
    // Other accounts may be unable to enter the checkout.
    cpSync(join(PACKAGE, 'goshawk'), join(own, 'goshawk'), { recursive: true });
    if (runAs === 'user') spawnSync('useradd', ['--no-create-home', user]);
    const isolation = new Isolation({ runAs, hasKeys: true, hidden: [join(folder, 'values')] });
    const values = join(folder, 'values');
    isolated = new Executors({ dataFolder: folder, graceMs: 2_000, isolation, values });
  });
  afterEach(async () => {
    await isolated.close();
    if (runAs === 'user') spawnSync('userdel', [user]);
    rmSync(own, { recursive: true });
  });

  const inOwn = (payload: ExecPayload): ExecPayload => ({
    ...payload,
    exec: [DEBIAN, '-m', 'goshawk._worker'],
    cwd: '/usr',
    env: { PYTHONPATH: own, PYTHONDONTWRITEBYTECODE: '1', GOSHAWK_FOLDERS: own },
  });

  it('keeps a process under the account of the user', async () => {
    mkdirSync(join(folder, 'values'));
    const payload = inOwn(call('print(__import__("os").getuid(), __import__("os").getpid())'));
    // Without an account, a sandbox runs as nobody.
    const uid =
      runAs === 'user' ? spawnSync('id', ['-u', user], { encoding: 'utf8' }).stdout.trim() : '65534';
    const first = await outcomeOf(isolated, payload, { user });
    expect(first.outcome, first.sink.text('stderr')).toMatchObject({ kind: 'completed' });
    expect(first.sink.text().split(' ')[0]).toBe(uid);
    expect((await outcomeOf(isolated, payload, { user })).sink.text()).toBe(first.sink.text());
  });

  it('reads and writes large values for a process that does not see them', async () => {
    const values = join(folder, 'values');
    mkdirSync(join(values, GROUP), { recursive: true, mode: 0o700 });
    for (const size of [300_000, 5_000_000, 5_000_000]) {
      const payload = inOwn({ ...call('1'), stdin: largeOrder(values, size) });
      const { outcome, sink } = await outcomeOf(isolated, payload, { user });
      expect(outcome, sink.text('stderr')).toMatchObject({
        kind: 'completed',
        value: { python: [{ id: 'name', file: expect.stringMatching(/^[0-9a-f]{64}$/) }] },
      });
      const { file } = (outcome as unknown as { value: { python: [{ file: string }] } }).value.python[0];
      // The pickle has a head and an end besides the bytes.
      const { size: written, uid } = statSync(join(values, GROUP, file));
      expect([written - size > 0, written - size < 100, uid]).toEqual([true, true, 0]);
    }
    // The cluster has forgotten the job.
    const late = inOwn({ ...call('1'), stdin: largeOrder(values, 400_000) });
    rmSync(join(values, GROUP), { recursive: true });
    const { outcome } = await outcomeOf(isolated, late, { user });
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { message: expect.stringMatching(/^OSError: the file of the value is gone/) },
    });
    const printing = inOwn(call('print(len(__import__("os").listdir("/usr")) > 0)'));
    mkdirSync(values, { recursive: true });
    expect((await outcomeOf(isolated, printing, { user })).sink.text()).toBe('True\n');
  });
});
