import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compiledFile } from './compiled.js';
import type { Executor } from './contract.js';
import { ExecExecutor } from './exec.js';
import { Executors } from './executors.js';
import { BUSY_MS, UNANSWERED_STARTS_MAX } from './limits.js';
import { createRecord, parseRecord, recordFile, recordFolder } from './process-groups.js';
import { isAlive, type ProcessIdentity, processIdentity } from './process-identity.js';
import { outcomeOf, record, UNTIL_ESCAPED } from './recording.fixture.js';

let folder: string;
let executors: Executors;
let warnings: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-spawner-'));
  warnings = [];
  executors = new Executors({ dataFolder: folder, warn: (message) => warnings.push(message) });
});

afterEach(async () => {
  await executors.close();
  rmSync(folder, { recursive: true });
});

function records() {
  const names = readdirSync(recordFolder(folder)).filter((name) => name.endsWith('.txt'));
  return names.map((name) => parseRecord(readFileSync(join(recordFolder(folder), name), 'latin1'))!);
}

function identities(text: string): ProcessIdentity[] {
  return text
    .trim()
    .split(/\s+/)
    .map((pid) => processIdentity(Number(pid))!);
}

async function expectGone(processes: readonly ProcessIdentity[]): Promise<void> {
  await expect.poll(() => processes.filter(isAlive)).toEqual([]);
}

/** Another worker process with a long command in it: one in the task's group, one in a separate session. */
async function startWorker(): Promise<{ worker: ChildProcess; commands: ProcessIdentity[] }> {
  const source = `
    import { Executors } from ${JSON.stringify(pathToFileURL(compiledFile('./index.js', import.meta.url)).href)};
    const executors = new Executors({ dataFolder: ${JSON.stringify(folder)} });
    const script = ${JSON.stringify(`setsid sleep 1000 & ${UNTIL_ESCAPED}; echo $!; sleep 1001 & echo $! $$; wait`)};
    executors.start(
      { payload: { exec: [script], shell: true }, env: {}, outputBytesMax: 1000 },
      { output: ({ bytes }) => process.stdout.write(bytes), ended() {} },
    );`;
  const script = join(folder, 'worker.mjs');
  writeFileSync(script, source);
  const worker = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const line of createInterface({ input: worker.stdout! })) {
    text += `${line}\n`;
    if (text.split('\n').length === 3) break;
  }
  return { worker, commands: identities(text) };
}

describe('a spawner that a command suspends', () => {
  it('continues, and all commands end', async () => {
    const suspends = outcomeOf(executors, { exec: ['kill -STOP $PPID; echo on'], shell: true });
    const { outcome, sink } = await suspends;
    expect(outcome).toMatchObject({ kind: 'completed', exitCode: 0 });
    expect(sink.text()).toBe('on\n');
    expect((await outcomeOf(executors, { exec: ['true'] })).outcome).toMatchObject({ kind: 'completed' });
    expect(warnings).toEqual(['a command suspended a spawner process, which continues']);
  });
});

describe('when the worker dies', () => {
  it('the spawner kills its commands, even outside the process group, and exits, and leaves no record', async () => {
    const { worker, commands } = await startWorker();
    const [before] = records();
    worker.kill('SIGKILL');
    await expectGone([...commands, before!.spawner]);
    expect(readdirSync(recordFolder(folder))).toEqual([]);
  });
});

describe('when worker and spawner die', () => {
  it('the next worker kills their processes, even outside the process group', async () => {
    const { worker, commands } = await startWorker();
    const { spawner } = records()[0]!;
    process.kill(spawner.pid, 'SIGSTOP');
    worker.kill('SIGKILL');
    process.kill(spawner.pid, 'SIGKILL');
    await expectGone([spawner, { pid: worker.pid!, start: 0 }]);
    expect(commands.filter(isAlive)).toEqual(commands);

    expect(await executors.endLeftovers()).toBe(1);
    await expectGone(commands);
    expect(readdirSync(recordFolder(folder))).toEqual([]);
    expect(await executors.endLeftovers()).toBe(0);
  });

  it('a remaining spawner is killed first', async () => {
    const { worker, commands } = await startWorker();
    const { spawner } = records()[0]!;
    process.kill(spawner.pid, 'SIGSTOP');
    worker.kill('SIGKILL');
    await expectGone([{ pid: worker.pid!, start: 0 }]);
    expect(await executors.endLeftovers()).toBe(1);
    await expectGone([...commands, spawner]);
  });
});

describe('killing leftover processes', () => {
  it('skips the commands of a live worker', async () => {
    const { worker, commands } = await startWorker();
    expect(await executors.endLeftovers()).toBe(0);
    expect(commands.filter(isAlive)).toEqual(commands);
    worker.kill('SIGKILL');
    await expectGone(commands.slice(1));
    process.kill(commands[0]!.pid, 'SIGKILL');
  });

  it('skips a process that has reused the pid of an ended one', async () => {
    const bystander = spawn('sleep', ['1000'], { detached: true });
    const identity = processIdentity(bystander.pid!)!;
    const dead = { pid: identity.pid, start: identity.start - 1 };
    const file = recordFile(folder, 'old');
    createRecord(file, dead, dead);
    writeFileSync(file, `${dead.pid} ${dead.start}\n`, { flag: 'a' });
    expect(await executors.endLeftovers()).toBe(0);
    expect(isAlive(identity)).toBe(true);
    bystander.kill('SIGKILL');
  });

  it('skips everything if the machine has rebooted since', async () => {
    const bystander = spawn('sleep', ['1000'], { detached: true });
    const identity = processIdentity(bystander.pid!)!;
    mkdirSync(recordFolder(folder));
    const header = 'goshawk-process-groups/1 another-boot 5:5 6:6';
    writeFileSync(recordFile(folder, 'old'), `${header}\n${identity.pid} ${identity.start}\n`);
    expect(await executors.endLeftovers()).toBe(0);
    expect(isAlive(identity)).toBe(true);
    expect(readdirSync(recordFolder(folder))).toEqual([]);
    bystander.kill('SIGKILL');
  });

  it('finds nothing if there was no earlier worker', async () => {
    expect(await executors.endLeftovers()).toBe(0);
  });
});

describe('when the spawner dies', () => {
  it('its commands are killed, then its runs fail, and the next run has a new spawner', async () => {
    const { sink } = record(executors, { exec: ['sleep 1000 & echo $! $$; wait'], shell: true });
    await expect.poll(() => sink.text()).toContain('\n');
    const commands = identities(sink.text());
    const { spawner } = records()[0]!;
    process.kill(spawner.pid, 'SIGKILL');
    const { outcome } = await sink.end;
    expect(commands.filter(isAlive)).toEqual([]);
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'spawner-lost' } });
    expect(warnings).toEqual(['a spawner process died with 1 running commands']);

    expect((await outcomeOf(executors, { exec: ['true'] })).outcome).toEqual({
      kind: 'completed',
      exitCode: 0,
    });
    expect(records().map((one) => one.spawner)).not.toContainEqual(spawner);
  });

  it('runs that it has not received go to the next spawner', async () => {
    await outcomeOf(executors, { exec: ['true'] });
    const { spawner } = records()[0]!;
    process.kill(spawner.pid, 'SIGSTOP');
    const runs = Array.from({ length: 100 }, () => record(executors, { exec: ['true'] }));
    // The turn after the one in which starts are sent.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    process.kill(spawner.pid, 'SIGKILL');
    const outcomes = await Promise.all(runs.map(({ sink }) => sink.end));
    const kinds = outcomes.map(({ outcome }) => outcome.kind);
    expect(new Set(kinds.slice(0, UNANSWERED_STARTS_MAX))).toEqual(new Set(['failed']));
    expect(new Set(kinds.slice(UNANSWERED_STARTS_MAX))).toEqual(new Set(['completed']));
  });
});

describe('the spawner', () => {
  it('that dies while its record cannot be removed fails its runs', async () => {
    const { sink } = record(executors, { exec: ['sleep', '1000'] });
    await sink.isStarted;
    const [{ spawner, groups }] = records() as [NonNullable<ReturnType<typeof parseRecord>>];
    const [name] = readdirSync(recordFolder(folder)).filter((each) => each.endsWith('.txt'));
    const file = join(recordFolder(folder), name!);
    rmSync(file);
    mkdirSync(file);
    process.kill(spawner.pid, 'SIGKILL');
    expect((await sink.end).outcome).toMatchObject({ error: { code: 'spawner-lost' } });
    expect(warnings.at(-1)).toContain('cannot remove the record of a dead spawner process: ');
    process.kill(groups[0]!.pid, 'SIGKILL');
    rmSync(file, { recursive: true });
  });

  it('ignores the signals with which a service manager or a terminal stops its worker', async () => {
    const { sink } = record(executors, { exec: ['cat; sleep 0.1'], shell: true });
    await sink.isStarted;
    const { spawner } = records()[0]!;
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(spawner.pid, name);
    expect((await sink.end).outcome).toEqual({ kind: 'completed', exitCode: 0 });
    expect(isAlive(spawner)).toBe(true);
  });

  it('stays small under a flood of output', async () => {
    await Promise.all(
      Array.from({ length: 4 }, () =>
        outcomeOf(
          executors,
          { exec: ['head', '-c', '100000000', '/dev/zero'] },
          { outputBytesMax: 50_000_000 },
        ),
      ),
    );
    const { spawner } = records()[0]!;
    const status = readFileSync(`/proc/${spawner.pid}/status`, 'latin1');
    const peakKiB = Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]);
    expect(peakKiB).toBeLessThan(200 * 1024);
  });

  it('exits with the executors, and running commands are killed', async () => {
    const { sink } = record(executors, { exec: ['sleep', '1000'] });
    await sink.isStarted;
    const { spawner } = records()[0]!;
    await executors.close();
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'shutdown' });
    expect(isAlive(spawner)).toBe(false);
    expect(readdirSync(recordFolder(folder))).toEqual([]);
  });

  it('that hangs does not prevent the executors from closing, and its commands are killed', async () => {
    const other = new Executors({ dataFolder: folder, graceMs: 100 });
    const { sink } = record(other, { exec: ['echo $$; sleep 1000'], shell: true });
    await expect.poll(() => sink.text()).toContain('\n');
    const commands = identities(sink.text());
    process.kill(records()[0]!.spawner.pid, 'SIGSTOP');
    await other.close();
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'shutdown' });
    expect(commands.filter(isAlive)).toEqual([]);
    expect(readdirSync(recordFolder(folder))).toEqual([]);
  });

  it('that cannot be started for lack of file descriptors fails the run, and the worker continues', async () => {
    const source = `
      import { closeSync, openSync } from 'node:fs';
      import { Executors } from ${JSON.stringify(pathToFileURL(compiledFile('./index.js', import.meta.url)).href)};
      const executors = new Executors({ dataFolder: ${JSON.stringify(folder)} });
      const outcome = () => new Promise((resolve) => executors.start(
        { payload: { exec: ['true'] }, env: {}, outputBytesMax: 1000 },
        { output() {}, ended: resolve },
      ));
      const taken = [];
      try {
        for (;;) taken.push(openSync('/dev/null'));
      } catch {}
      const outcomes = [await outcome()];
      for (const descriptor of taken) closeSync(descriptor);
      outcomes.push(await outcome());
      await executors.close();
      console.log(JSON.stringify(outcomes));`;
    const script = join(folder, 'worker.mjs');
    writeFileSync(script, source);
    const text = execFileSync('sh', ['-c', 'ulimit -n 200; exec "$0" "$1"', process.execPath, script]);
    expect(JSON.parse(text.toString())).toEqual([
      {
        kind: 'failed',
        error: {
          code: 'spawner-failed',
          message: expect.stringMatching(/^cannot start commands: .*EMFILE/),
        },
      },
      { kind: 'completed', exitCode: 0 },
    ]);
  });

  it('that cannot write its record fails the run with the reason', async () => {
    const blocked = join(folder, 'file');
    writeFileSync(blocked, '');
    const other = new Executors({ dataFolder: blocked });
    const { outcome } = await outcomeOf(other, { exec: ['true'] });
    expect(outcome).toMatchObject({
      error: { code: 'spawner-failed', message: expect.stringContaining('cannot start commands') },
    });
    await other.close();
  });
});

describe('a spawner that exits before it is ready', () => {
  it('fails the waiting runs, but no later ones', async () => {
    const environment: Record<string, string> = { ...process.env, NODE_OPTIONS: '--no-such-option' } as never;
    const own = new ExecExecutor({
      dataFolder: folder,
      graceMs: 1_000,
      environment,
      warn: () => {
        if (!('NODE_OPTIONS' in environment)) return;
        delete environment.NODE_OPTIONS;
        later = outcomeOf(own, { exec: ['true'] });
      },
    });
    let later: ReturnType<typeof outcomeOf> | undefined;
    const { outcome } = await outcomeOf(own, { exec: ['true'] });
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'spawner-failed' } });
    expect((await later!).outcome).toMatchObject({ kind: 'completed' });
    await own.close();
  });
});

describe('several spawners', () => {
  function own(environment = process.env as Record<string, string>): ExecExecutor {
    const warn = (message: string) => warnings.push(message);
    return new ExecExecutor({ dataFolder: folder, graceMs: 1_000, environment, warn, spawnersMax: 2 });
  }

  /** Runs commands, ten at a time, until `isEnough`. Returns the pids of the spawners that ran them. */
  async function keepBusy(
    executor: Executor,
    isEnough: (spawners: ReadonlySet<number>) => boolean,
  ): Promise<Set<number>> {
    const spawners = new Set<number>();
    const one = async (): Promise<void> => {
      while (!isEnough(spawners)) {
        const { outcome, sink } = await outcomeOf(executor, { exec: ['echo $PPID'], shell: true });
        expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
        spawners.add(Number(sink.text()));
      }
    };
    await Promise.all(Array.from({ length: 10 }, one));
    return spawners;
  }

  it('start while all are busy, share the commands, and exit with the executors', async () => {
    const executor = own();
    const used = await keepBusy(executor, ({ size }) => size === 2);
    const spawners = records().map(({ spawner }) => spawner);
    expect(new Set(spawners.map(({ pid }) => pid))).toEqual(used);
    await executor.close();
    expect(spawners.filter(isAlive)).toEqual([]);
    expect(readdirSync(recordFolder(folder))).toEqual([]);
  });

  it('lose only the commands of the one that dies', async () => {
    const executor = own();
    const [dying] = await keepBusy(executor, ({ size }) => size === 2);
    const runs = Array.from({ length: 8 }, () =>
      record(executor, { exec: ['echo $PPID; exec sleep 1000'], shell: true }),
    );
    await expect.poll(() => runs.every(({ sink }) => sink.text().endsWith('\n'))).toBe(true);
    process.kill(dying!, 'SIGKILL');
    const lost = runs.filter(({ sink }) => Number(sink.text()) === dying);
    const kept = runs.filter((run) => !lost.includes(run));
    expect([lost.length > 0, kept.length > 0]).toEqual([true, true]);
    for (const { sink } of lost)
      expect((await sink.end).outcome).toMatchObject({ error: { code: 'spawner-lost' } });
    for (const { run } of kept) run.kill('cancelled');
    for (const { sink } of kept) expect((await sink.end).outcome).toMatchObject({ kind: 'killed' });
    await executor.close();
  });

  it('one that cannot start is reported once, and the others run the commands', async () => {
    const environment = { ...process.env } as Record<string, string>;
    const executor = own(environment);
    await outcomeOf(executor, { exec: ['true'] });
    environment.NODE_OPTIONS = '--no-such-option';
    await keepBusy(executor, () => warnings.length > 0);
    const until = performance.now() + 2 * BUSY_MS;
    expect((await keepBusy(executor, () => performance.now() > until)).size).toBe(1);
    expect(warnings).toEqual(['a spawner process exited before it was ready']);
    await executor.close();
  });
});
