import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Executors } from './executors.js';
import { recordFolder } from './process-groups.js';
import { isAlive, processIdentity } from './process-identity.js';
import { outcomeOf, record, UNTIL_ESCAPED } from './recording.fixture.js';

let folder: string;
let executors: Executors;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-exec-'));
  executors = new Executors({
    dataFolder: folder,
    // The grace time is enough on a busy machine too.
    graceMs: 60_000,
    environment: { ...process.env, DATABASE_PASSWORD: 'secret' },
  });
});

afterAll(async () => {
  await executors.close();
  rmSync(folder, { recursive: true });
});

function sh(script: string, ...args: string[]) {
  return { exec: [script, ...args], shell: true };
}

/** The process whose number a task has printed is gone. */
async function expectGone(pidText: string): Promise<void> {
  const pid = Number(pidText);
  expect(pid).toBeGreaterThan(1);
  await expect
    .poll(() => {
      const identity = processIdentity(pid);
      return identity !== undefined && isAlive(identity);
    })
    .toBe(false);
}

describe('a command', () => {
  it('gets its arguments unchanged', async () => {
    const { outcome, sink } = await outcomeOf(executors, {
      exec: ['printf', '%s|', 'a b', '$HOME', '', '*'],
    });
    expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
    expect(sink.text()).toBe('a b|$HOME||*|');
    expect(sink.calls).toEqual(['started', 'output', 'ended']);
  });

  it.each([
    ['of its own', 'exec node -e "$BURN"'],
    ['of a child it waited for', 'node -e "$BURN" & wait'],
    ['before it fails', 'node -e "$BURN"; exit 3'],
    ['and ends by a signal', 'node -e "$BURN"; kill -KILL $$'],
  ])('reports the CPU time %s', async (_, command) => {
    const burn =
      'const used = () => { const { user, system } = process.cpuUsage(); return user + system; }; while (used() < 3e5);';
    const { sink } = record(executors, sh(`BURN=$1; ${command}`.replaceAll('$1', `'${burn}'`)));
    const { cpuMs, runMs } = await sink.end;
    // A tick of each of the four sums may be cut off.
    expect(cpuMs).toBeGreaterThanOrEqual(260);
    expect(cpuMs).toBeLessThan(runMs * availableParallelism() + 40);
  });

  it('never reports that it used no CPU time', async () => {
    const commands = ['true', ':', 'exec >&- 2>&-; true', 'sleep 0', 'true & exit 1', 'kill -34 $$'];
    const ends = await Promise.all(commands.map((command) => record(executors, sh(command)).sink.end));
    for (const { cpuMs } of ends) expect(cpuMs ?? 1).toBeGreaterThan(0);
  });

  it('reports its peak memory, including its children', async () => {
    const { sink } = record(
      executors,
      sh(`x=$(head -c 40000000 /dev/zero | tr '\\0' x); sleep 3; echo "$#"`),
    );
    const { maxRssBytes } = await sink.end;
    expect(maxRssBytes).toBeGreaterThan(40_000_000);
    expect(maxRssBytes).toBeLessThan(1_000_000_000);
  });

  it('is run by a shell on request', async () => {
    const { sink } = await outcomeOf(executors, sh('echo "$1" | tr a-z A-Z; echo no >&2', 'a;b'));
    expect(sink.text()).toBe('A;B\n');
    expect(sink.text('stderr')).toBe('no\n');
  });

  it('sees the listed environment, its own variables and those of the order, but no secrets', async () => {
    const payload = { exec: ['env'], env: { MINE: 'yes', GOSHAWK_TASK: 'forged' } };
    const { sink } = await outcomeOf(executors, payload, { env: { GOSHAWK_TASK: '7', GOSHAWK_JOB: 'j' } });
    const lines = sink.text().split('\n');
    expect(lines).toEqual(
      expect.arrayContaining(['MINE=yes', 'GOSHAWK_TASK=7', 'GOSHAWK_JOB=j', `PATH=${process.env.PATH}`]),
    );
    expect(sink.text()).not.toContain('secret');
    expect(sink.text()).not.toContain('forged');
    expect(sink.text()).not.toContain('MALLOC');
  });

  it('runs in its folder', async () => {
    const { sink } = await outcomeOf(executors, { exec: ['pwd'], cwd: '/usr' });
    expect(sink.text()).toBe('/usr\n');
  });

  it('input and output are passed byte for byte', async () => {
    const bytes = randomBytes(800_000);
    const { sink } = await outcomeOf(executors, { exec: ['cat'], stdin: bytes });
    expect(sink.bytes('stdout').equals(bytes)).toBe(true);
    const text = await outcomeOf(executors, { exec: ['cat'], stdin: 'äöü\0\n' });
    expect(text.sink.text()).toBe('äöü\0\n');
  });

  it.runIf(process.platform === 'linux')('opens its input and output by the names in /dev', async () => {
    const script = 'cat /dev/stdin > /dev/stdout; echo no > /dev/stderr; echo both | tee /dev/stderr';
    const { outcome, sink } = await outcomeOf(executors, { ...sh(script), stdin: 'in\n' });
    expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
    expect([sink.text(), sink.text('stderr')]).toEqual(['in\nboth\n', 'no\nboth\n']);
  });

  it.runIf(process.platform === 'linux')(
    'still does so after a cleaner has emptied the data folder',
    async () => {
      const open = sh('echo yes > /dev/stdout');
      expect((await outcomeOf(executors, open)).sink.text()).toBe('yes\n');
      for (const name of readdirSync(recordFolder(folder)))
        if (!name.endsWith('.txt')) rmSync(join(recordFolder(folder), name), { recursive: true });
      expect((await outcomeOf(executors, open)).sink.text()).toBe('yes\n');
    },
  );

  it('has empty input if none is given', async () => {
    expect((await outcomeOf(executors, { exec: ['cat'] })).outcome).toEqual({
      kind: 'completed',
      exitCode: 0,
    });
  });

  it('may ignore its input', async () => {
    const { outcome } = await outcomeOf(executors, { exec: ['true'], stdin: new Uint8Array(5_000_000) });
    expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
  });

  it
    .runIf(process.platform === 'linux')
    .each([[''], ['head -c 3000000 /dev/zero; '], ['exec 2>&-; '], ['exec >&-; echo >&2; ']])(
    'fails when a real-time signal ends it (after "%s")',
    async (before) => {
      for (const [number, name] of [
        [34, 'SIGRTMIN'],
        [50, 'SIGRTMIN+16'],
        [64, 'SIGRTMIN+30'],
      ] as const) {
        const { outcome } = await outcomeOf(executors, sh(`${before}kill -${number} $$`));
        expect(outcome).toEqual({
          kind: 'failed',
          error: { code: 'signal', message: `the command was killed by ${name} (signal ${number})` },
          signal: name,
        });
      }
    },
  );

  it('fails with its exit code, or the signal that ended it', async () => {
    expect((await outcomeOf(executors, sh('exit 37'))).outcome).toEqual({
      kind: 'failed',
      error: { code: 'exit-code', message: 'the command ended with exit code 37' },
      exitCode: 37,
    });
    expect((await outcomeOf(executors, sh('kill -SEGV $$'))).outcome).toEqual({
      kind: 'failed',
      error: { code: 'signal', message: 'the command was killed by SIGSEGV (signal 11)' },
      signal: 'SIGSEGV',
    });
  });

  it('inherits no descriptors of the spawner', async () => {
    const { sink } = await outcomeOf(
      executors,
      sh('exec 2>&1; for f in /proc/$$/fd/*; do readlink $f; done | sed "s/.*deleted.*/own/" | sort'),
    );
    expect(sink.text()).toBe('/dev/null\nown\nown\n');
  });
});

describe('a command that does not start', () => {
  it.each([
    [{ exec: ['no-such-command'] }, 'command-not-found', "is not in the worker's PATH"],
    [{ exec: ['/no/such/command'] }, 'command-not-found', 'does not exist'],
    [{ exec: ['true'], env: { PATH: '/none' } }, 'command-not-found', "is not in the job's PATH"],
    [{ exec: ['true'], cwd: '/no/such/folder' }, 'no-such-folder', '--cwd'],
    [{ exec: ['true'], cwd: '/etc/passwd' }, 'no-such-folder', 'is not a folder'],
    [{ exec: ['/etc/passwd'] }, 'permission-denied', 'is not executable'],
    [{ exec: ['true', 'x'.repeat(4_000_000)] }, 'arguments-too-long', 'pass them on stdin or in a file'],
    [{ exec: ['true', 'a\0b'] }, 'spawn-failed', 'ERR_INVALID_ARG_VALUE'],
    [{ exec: [] }, 'bad-payload', 'at least a command'],
  ])('reports the reason (%#)', async (payload, code, message) => {
    const { outcome, runMs, sink } = await outcomeOf(executors, payload);
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { code, message: expect.stringContaining(message) },
    });
    expect(sink.calls).toEqual(['ended']);
    expect(runMs).toBe(0);
  });

  it('distinguishes a missing interpreter from a missing command', async () => {
    const script = join(folder, 'script');
    writeFileSync(script, '#!/no/such/interpreter\n');
    chmodSync(script, 0o755);
    expect((await outcomeOf(executors, { exec: [script] })).outcome).toMatchObject({
      error: { code: 'command-not-found', message: expect.stringContaining('interpreter') },
    });
  });
});

describe('output', () => {
  it('beyond the limit keeps both ends of each stream, and the command continues', async () => {
    const command = 'head -c 300000000 /dev/zero; echo last; echo cause >&2; exit 5';
    const { outcome, sink } = await outcomeOf(executors, sh(command), { outputBytesMax: 1_000 });
    expect(outcome).toMatchObject({ exitCode: 5 });
    const zeros = (count: number): string => '\0'.repeat(count);
    expect(sink.text('stdout')).toBe(
      `${zeros(875)}\ngoshawk: stdout is too long: its last 125 bytes follow when the task ends\n` +
        `goshawk: 299999005 bytes of stdout omitted here\n${zeros(120)}last\n`,
    );
    expect(sink.text('stderr')).toBe('cause\n');
  });

  it('beyond the limit keeps its end even if the command is killed', async () => {
    const { run, sink } = record(executors, sh('seq 100000; echo last >&2; sleep 1000'), {
      outputBytesMax: 1_000,
    });
    await expect.poll(() => sink.text('stderr')).toBe('last\n');
    run.kill('timeout');
    await sink.end;
    expect(sink.text('stdout')).toMatch(/\n99999\n100000\n$/);
  });

  it('within the limit arrives completely, even if the worker reads slowly', async () => {
    const { sink } = record(
      executors,
      { exec: ['head', '-c', '60000000', '/dev/zero'] },
      {
        outputBytesMax: 1e9,
      },
    );
    await sink.isStarted;
    // Blocks the worker's event loop, so that the pipes and the link fill up.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    await sink.end;
    expect(sink.bytes('stdout').length).toBe(60_000_000);
  });

  it('of an ended process is read even if a grandchild in another session keeps the pipe open', async () => {
    const { outcome, sink } = await outcomeOf(
      executors,
      sh(`setsid sleep 1000 & ${UNTIL_ESCAPED}; echo $!; head -c 100000 /dev/zero`),
    );
    expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
    const [pid] = sink.text().split('\n', 1);
    expect(sink.bytes('stdout').length).toBe(100_000 + pid!.length + 1);
    await expectGone(pid!);
  });

  it('of a grandchild that never stops does not delay the task', async () => {
    const { outcome } = await outcomeOf(executors, sh(`setsid yes & ${UNTIL_ESCAPED}`), {
      outputBytesMax: 1e9,
    });
    expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
  });
});

describe('the end of a command', () => {
  it('also ends its background processes', async () => {
    const { outcome, sink } = await outcomeOf(executors, sh('sleep 1000 & echo $!'));
    expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
    await expectGone(sink.text());
  });

  it.each([
    ['in another session', `setsid sleep 1000 & ${UNTIL_ESCAPED}; echo $!`],
    ['of a daemon, whose parent has ended', 'sh -c "setsid sleep 1000 & echo \\$!"; sleep 0.1'],
    ['that start processes', `setsid sh -c 'while :; do sleep 1000; done' & ${UNTIL_ESCAPED}; echo $!`],
    ['that ignore signals', `setsid sh -c 'trap "" TERM HUP; sleep 1000; :' & ${UNTIL_ESCAPED}; echo $!`],
    ['of a command that fails', `setsid sleep 1000 & ${UNTIL_ESCAPED}; echo $!; exit 3`],
  ])('also ends processes %s', async (_, script) => {
    const other = executors.start(
      { payload: sh('setsid sleep 1000 & echo $!; wait'), env: {}, outputBytesMax: 100 },
      { output: () => {}, ended: () => {} },
    );
    const { sink } = await outcomeOf(executors, sh(script.replaceAll('\\\\$', '\\$')));
    await expectGone(sink.text());
    other.kill('cancelled');
  });
});

describe('a command that is killed', () => {
  it('is killed with its whole process group', async () => {
    const { run, sink } = record(executors, sh('sleep 1000 & echo $!; sleep 1001'));
    await expect.poll(() => sink.text()).toContain('\n');
    run.kill('timeout');
    run.kill('cancelled');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'timeout' });
    await expectGone(sink.text());
  });

  it('may clean up during its grace period', async () => {
    const { run, sink } = record(
      executors,
      sh('trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.01; done'),
    );
    await expect.poll(() => sink.text()).toBe('ready\n');
    run.kill('cancelled');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    expect(sink.text()).toBe('ready\nbye\n');
  });

  it('leaves the rest of its grace period to its children', async () => {
    const child = 'trap "echo saved; exit 0" TERM; echo ready; while :; do sleep 0.01; done';
    const { run, sink } = record(executors, sh('sh -c "$1" & wait; echo never', child));
    await expect.poll(() => sink.text()).toBe('ready\n');
    run.kill('cancelled');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    expect(sink.text()).toBe('ready\nsaved\n');
  });

  it('gets SIGKILL if it ignores SIGTERM, including stopped children', async () => {
    const script =
      'trap "" TERM; (trap "" TERM; while :; do sleep 1; done) & echo $!; while :; do sleep 1; done';
    const hasty = new Executors({ dataFolder: join(folder, 'hasty'), graceMs: 300 });
    const { run, sink } = record(hasty, sh(script));
    await expect.poll(() => sink.text()).toContain('\n');
    process.kill(Number(sink.text()), 'SIGSTOP');
    run.kill('cancelled');
    const { outcome, runMs } = await sink.end;
    expect(outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    expect(runMs).toBeGreaterThanOrEqual(299);
    await expectGone(sink.text());
    await hasty.close();
  });

  it('never starts if it is killed before its start', async () => {
    const others = Array.from({ length: 100 }, () => record(executors, { exec: ['true'] }));
    const { run, sink } = record(executors, { exec: ['true'] });
    others[99]!.run.kill('cancelled');
    await Promise.resolve();
    run.kill('cancelled');
    const { outcome, runMs } = await sink.end;
    expect(outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    expect(runMs).toBe(0);
    expect(sink.calls).toEqual(['ended']);
    await Promise.all(others.map((other) => other.sink.end));
  });

  it('keeps its outcome if it is killed after its end', async () => {
    const { run, sink } = record(executors, { exec: ['true'] });
    await sink.end;
    run.kill('cancelled');
    await outcomeOf(executors, { exec: ['true'] });
    expect(sink.calls).toEqual(['started', 'ended']);
  });
});
