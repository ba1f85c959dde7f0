import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Payload, type ProcessStat, parseProcessStat, Random } from '@goshawk/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { cgroupOfTests } from './cgroup.fixture.js';
import { TaskCgroup } from './cgroup.js';
import { Executors } from './executors.js';
import { Isolation, type IsolationOptions } from './isolation.js';
import { parseRecord, recordFolder } from './process-groups.js';
import { type RecordingSink, record, UNTIL_ESCAPED } from './recording.fixture.js';

const isRoot = process.getuid?.() === 0;
const MARK = `PAUSE_TEST_${process.pid}`;
const ACCOUNT = `ghp${process.pid}`;
/** Longer than the time after which processes outside of the group are stopped. */
const SETTLED_MS = 300;
const BURN = 'while :; do :; done';

let folder: string;
const opened: Executors[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-pause-'));
  chmodSync(folder, 0o755);
  if (isRoot) execFileSync('useradd', ['--create-home', '--home-dir', join(folder, 'home'), ACCOUNT]);
});

afterAll(async () => {
  for (const each of opened) await each.close();
  if (isRoot) execFileSync('userdel', [ACCOUNT]);
  rmSync(folder, { recursive: true });
});

let count = 0;

function executorsFor(options: Partial<ConstructorParameters<typeof Executors>[0]> = {}): Executors {
  const dataFolder = join(folder, `data-${count++}`);
  mkdirSync(dataFolder);
  const made = new Executors({ dataFolder, graceMs: 300, ...options });
  opened.push(made);
  return made;
}

function isolated(runAs: IsolationOptions['runAs']): Executors {
  return executorsFor({ isolation: new Isolation({ runAs, hasKeys: true, hidden: [] }) });
}

interface Found extends ProcessStat {
  readonly pid: number;
}

/** The processes of a task, by a variable in their environment. The name differs before a sandbox is set up. */
function processesOf(mark: string): Found[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'latin1');
      if (!environment.includes(`${MARK}=${mark}\0`)) return [];
      return [{ pid: Number(name), ...parseProcessStat(readFileSync(`/proc/${name}/stat`, 'latin1')) }];
    } catch {
      return []; // it has ended
    }
  });
}

function ticksOf(mark: string): number {
  return processesOf(mark).reduce((sum, { processorTicks }) => sum + processorTicks, 0);
}

function endAllOf(mark: string): void {
  for (const { pid } of processesOf(mark)) process.kill(pid, 'SIGKILL');
}

function shell(script: string): Payload {
  return { exec: [script], shell: true };
}

/** Kinds of programs: what they start, and how. Each burns CPU until it is killed. */
const PROGRAMS: Readonly<Record<string, () => { executors: Executors; payload: Payload; user?: string }>> = {
  'a program': () => ({ executors: executorsFor(), payload: shell(BURN) }),
  'a program with children': () => ({
    executors: executorsFor(),
    payload: shell(`sh -c '${BURN}' & sh -c '${BURN}' & wait`),
  }),
  'a shell whose jobs have separate groups': () => ({
    executors: executorsFor(),
    payload: { exec: ['bash', '-mc', `(${BURN}) & (${BURN}) & wait`] },
  }),
  'a program whose child has a separate session': () => ({
    executors: executorsFor(),
    payload: shell(`setsid sh -c '${BURN}' & ${UNTIL_ESCAPED}; wait`),
  }),
  ...(isRoot && {
    'a program of another account': () => ({
      executors: isolated('user'),
      payload: shell(BURN),
      user: ACCOUNT,
    }),
    'a program in a sandbox': () => ({ executors: isolated('sandbox'), payload: shell(BURN) }),
  }),
};

describe.each(Object.keys(PROGRAMS))('%s', (kind) => {
  it('uses no CPU while it is paused, continues afterwards, and ends when it is killed in a pause', async () => {
    const { executors, payload, ...more } = PROGRAMS[kind]!();
    const mark = `uses-${count++}`;
    onTestFinished(() => endAllOf(mark)); // also those in separate sessions
    const { run, sink } = record(executors, payload, { env: { [MARK]: mark }, ...more });
    await expect.poll(() => ticksOf(mark)).toBeGreaterThan(5);
    run.pause();
    run.pause();
    await delay(SETTLED_MS);
    const [before, processes] = [ticksOf(mark), processesOf(mark).length];
    await delay(SETTLED_MS);
    expect(processesOf(mark).length).toBe(processes);
    expect(ticksOf(mark)).toBe(before);
    run.resume();
    await expect.poll(() => ticksOf(mark)).toBeGreaterThan(before + 5);
    run.pause();
    await delay(SETTLED_MS);
    run.kill('cancelled');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    run.pause();
    run.resume();
    await expect.poll(() => processesOf(mark).filter(({ state }) => state === 'T')).toEqual([]);
  });
});

it('a shell with job control does not notice that it was paused', async () => {
  const executors = executorsFor();
  const { run, sink } = record(executors, {
    exec: ['bash', '-mc', 'echo on; (sleep 1.5; exit 7) & wait $!'],
  });
  await expect.poll(() => sink.text()).toBe('on\n');
  for (let pauses = 0; pauses < 3; pauses++) {
    run.pause();
    await delay(SETTLED_MS);
    run.resume();
    await delay(100);
  }
  expect((await sink.end).outcome).toMatchObject({ exitCode: 7 });
  expect(sink.text('stderr')).not.toContain('Stopped');
});

it('a run that is paused before it begins uses no CPU, and its run time excludes the pause', async () => {
  for (const payload of [{ sleep: 50 }, shell('sleep 0.2; exit 0')] satisfies Payload[]) {
    const startedAt = performance.now();
    const { run, sink } = record(executorsFor(), payload);
    run.pause();
    await sink.isStarted;
    await delay(SETTLED_MS);
    expect(sink.calls).toEqual(['started']);
    run.resume();
    const { outcome, runMs } = await sink.end;
    expect(outcome.kind).toBe('completed');
    expect(runMs).toBeGreaterThanOrEqual('sleep' in payload ? 50 : 0);
    expect(runMs).toBeLessThan(performance.now() - startedAt - SETTLED_MS + 2);
  }
});

it('a sleep continues with its remaining time', async () => {
  const startedAt = performance.now();
  const { run, sink } = record(executorsFor(), { sleep: 400 });
  await sink.isStarted;
  for (let pauses = 0; pauses < 3; pauses++) {
    await delay(40);
    run.pause();
    await delay(150);
    run.resume();
  }
  const { runMs } = await sink.end;
  expect(runMs).toBeGreaterThanOrEqual(400);
  expect(runMs).toBeLessThan(performance.now() - startedAt - 3 * 149);
});

// Reason: only then the priority of a thread can be raised again.
it.skipIf(!isRoot)(
  'a module has the lowest priority during a pause, and its thread the usual one afterwards',
  async () => {
    const executors = executorsFor({ moduleThreads: 1 });
    const work = join(folder, 'thread.mjs');
    writeFileSync(
      work,
      `import { existsSync, readlinkSync } from 'node:fs';
     const thread = () => Number(readlinkSync('/proc/thread-self').split('/').at(-1));
     export default async (gate) => {
       console.log(thread());
       while (!existsSync(gate)) await new Promise((resolve) => setTimeout(resolve, 5));
       return thread();
     };`,
    );
    const gate = join(folder, 'thread-gate');
    const usual = getPriority();
    const { run, sink } = record(executors, { module: work, input: gate });
    await expect.poll(() => sink.text()).toMatch(/^\d+\n$/);
    const thread = Number(sink.text());
    expect(getPriority(thread)).toBe(usual);
    run.pause();
    expect(getPriority(thread)).toBe(19);
    run.resume();
    expect(getPriority(thread)).toBe(usual);
    run.pause();
    await delay(SETTLED_MS);
    writeFileSync(gate, '');
    const { outcome, runMs } = await sink.end;
    expect(outcome).toEqual({ kind: 'completed', value: thread });
    expect(runMs).toBeLessThan(60_000);
    expect(getPriority(thread)).toBe(usual);
  },
);

/** A folder for cgroups whose kernel divides CPUs among them: version 2, or the CPUs of version 1. */
function groupsOfCpus(): { readonly folder: string; remove(): void } | undefined {
  const second = cgroupOfTests();
  if (second !== undefined) return second;
  const folder = `/sys/fs/cgroup/cpu/goshawk-test-${process.pid}`;
  try {
    mkdirSync(folder);
    return existsSync(join(folder, 'cpu.shares')) ? { folder, remove: () => rmdirSync(folder) } : undefined;
  } catch {
    return undefined;
  }
}

const groups = groupsOfCpus();
afterAll(() => groups?.remove());

// Reason: the kernel divides CPUs by share only in cgroups.
it.skipIf(groups === undefined)(
  'a command with a cgroup has a hundredth of the share of others while it is paused',
  async () => {
    // Both burn the same CPU.
    const [paused, other] = ['paused', 'other'].map((name) => {
      const path = join(groups!.folder, `goshawk-task-${name}`);
      mkdirSync(path);
      const child = spawn('taskset', ['-c', '0', 'sh', '-c', BURN]);
      writeFileSync(join(path, 'cgroup.procs'), `${child.pid}`);
      const ticks = () => parseProcessStat(readFileSync(`/proc/${child.pid}/stat`, 'latin1')).processorTicks;
      return { cgroup: new TaskCgroup(groups!.folder, `task-${name}`), path, child, ticks };
    }) as [Burner, Burner];
    try {
      expect(paused.cgroup.setPaused(true)).toBe(true);
      const before = [paused.ticks(), other.ticks()] as const;
      await expect.poll(() => other.ticks() - before[1]).toBeGreaterThan(100);
      expect(paused.ticks() - before[0]).toBeLessThan(10);
      expect(paused.cgroup.setPaused(false)).toBe(true);
      const resumedAt = paused.ticks();
      await expect.poll(() => paused.ticks() - resumedAt).toBeGreaterThan(20);
    } finally {
      for (const { child, path } of [paused, other]) {
        child.kill('SIGKILL');
        await expect.poll(() => readFileSync(join(path, 'cgroup.procs'), 'utf8')).toBe('');
        rmdirSync(path);
      }
    }
    expect(paused.cgroup.setPaused(true)).toBe(false);
  },
);

interface Burner {
  readonly cgroup: TaskCgroup;
  readonly path: string;
  readonly child: ChildProcess;
  ticks(): number;
}

interface Drawn {
  readonly mark: string;
  readonly sink: RecordingSink;
  readonly run: { kill(reason: 'cancelled'): void; pause(): void; resume(): void };
  /** Lets the run end. */
  readonly gate: string;
}

const SEEDS = 6;

it.each(Array.from({ length: SEEDS }, (_, index) => 1 + index))(
  'no process stays stopped after pauses, resumes, kills and ends in any order, and after the death of a spawner: seed %i',
  async (seed) => {
    const random = Random.seeded(seed);
    const below = (bound: number) => Math.floor(bound * random.next());
    const data = join(folder, `drawn-${seed}`);
    mkdirSync(data);
    const plain = executorsFor({ dataFolder: data });
    const all = [plain, ...(isRoot ? [isolated('sandbox'), isolated('user')] : [])];
    const work = join(folder, 'drawn.mjs');
    writeFileSync(
      work,
      `import { existsSync } from 'node:fs';
       export default async (gate) => { while (!existsSync(gate)) await new Promise((resolve) => setTimeout(resolve, 5)); };`,
    );
    const draw = (index: number): Drawn => {
      const gate = join(folder, `gate-${seed}-${index}`);
      const mark = `drawn-${seed}-${index}`;
      const until = `until [ -e ${gate} ]; do sleep 0.02; done`;
      const payloads: Payload[] = [
        shell(until),
        shell(`sh -c '${until}' & wait`),
        { exec: ['bash', '-mc', `(${until}) & wait`] },
        shell(`trap '' TERM; ${until}`),
        shell('kill -STOP $$; exit 0'),
        { sleep: below(300) },
        { module: work, input: gate },
      ];
      const executors = all[below(all.length)]!;
      const payload = payloads[below(payloads.length)]!;
      return { mark, gate, ...record(executors, payload, { env: { [MARK]: mark }, user: ACCOUNT }) };
    };
    const runs = Array.from({ length: 12 }, (_, index) => draw(index));
    for (let step = 0; step < 150; step++) {
      const { run, gate } = runs[below(runs.length)]!;
      const chance = below(20);
      if (chance < 9) run.pause();
      else if (chance < 17) run.resume();
      else if (chance === 17) run.kill('cancelled');
      else if (chance === 18) writeFileSync(gate, '');
      else await delay(below(80));
    }
    for (const each of runs) if (below(2) === 0) each.run.pause();
    if (below(2) === 0) {
      const records = readdirSync(recordFolder(data)).filter((name) => name.endsWith('.txt'));
      for (const name of records) {
        const { spawner } = parseRecord(readFileSync(join(recordFolder(data), name), 'latin1'))!;
        process.kill(spawner.pid, 'SIGKILL');
      }
    }
    if (below(2) === 0) for (const each of all) await each.close();
    else for (const { run } of runs) run.kill('cancelled');
    for (const { sink } of runs) {
      await sink.end;
      expect(sink.calls.filter((call) => call === 'ended')).toHaveLength(1);
    }
    for (const { mark } of runs) await expect.poll(() => processesOf(mark)).toEqual([]);
  },
);
