import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { cgroupOfTests } from './cgroup.fixture.js';
import { CgroupError, TaskCgroup } from './cgroup.js';
import { CommandStreams } from './command-streams.js';
import { Executors } from './executors.js';
import { GroupUsage } from './group-usage.js';
import { GroupWatch } from './group-watch.js';
import { isAlive, processIdentity } from './process-identity.js';
import { outcomeOf, record, UNTIL_ESCAPED } from './recording.fixture.js';
import { SpawnedRun } from './spawned-run.js';

const cgroup = cgroupOfTests();
const MIB = 1024 * 1024;
const OWN = '/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)';

let data: string;
let executors: Executors;

beforeAll(() => {
  data = mkdtempSync(join(tmpdir(), 'goshawk-cgroup-'));
  executors = new Executors({ dataFolder: data, graceMs: 60_000, cgroup: cgroup?.folder });
});

afterAll(async () => {
  await executors.close();
  rmSync(data, { recursive: true });
  if (cgroup !== undefined) await vi.waitUntil(() => tried(cgroup.remove));
});

function tried(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

function sh(script: string) {
  return { exec: [script], shell: true };
}

/** Remaining cgroups of commands. */
function left(): string[] {
  return readdirSync(cgroup!.folder).filter((name) => name.startsWith('goshawk-task-'));
}

function isRunning(pid: number): boolean {
  const identity = processIdentity(pid);
  return identity !== undefined && isAlive(identity);
}

describe.skipIf(cgroup === undefined)('a command with a cgroup', () => {
  it('is killed when it uses more memory than it requests, and its neighbor continues', async () => {
    const gate = join(data, 'gate');
    execFileSync('mkfifo', [gate]);
    const neighbour = record(executors, { exec: ['cat', gate] }, { limits: { memory: 64 * MIB } });
    const { outcome } = await outcomeOf(executors, sh('tail /dev/zero'), { limits: { memory: 32 * MIB } });
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { code: 'out-of-memory', message: expect.stringContaining('32 MiB') },
    });
    await writeFile(gate, 'go on');
    expect((await neighbour.sink.end).outcome).toEqual({ kind: 'completed', exitCode: 0 });
  });

  it('gets at most the processor time that it requests', async () => {
    const burn = `timeout 2 sh -c 'while :; do :; done'; cat ${OWN}/cpu.max; grep usage_usec ${OWN}/cpu.stat`;
    const { runMs, cpuMs, sink } = await outcomeOf(executors, sh(burn), { limits: { cpu: 0.25 } });
    const [quota, usage] = sink.text().trim().split('\n');
    expect(quota).toBe('25000 100000');
    const usedMs = Number(usage!.split(' ')[1]) / 1_000;
    expect(usedMs / runMs).toBeLessThan(0.5);
    expect(cpuMs).toBeGreaterThanOrEqual(usedMs);
  });

  it('leaves no process behind, even outside its process group', async () => {
    const script = `setsid sleep 1000 >/dev/null 2>&1 & ${UNTIL_ESCAPED}; echo $!`;
    const { sink } = await outcomeOf(executors, sh(script), { limits: { cpu: 1 } });
    await expect.poll(() => isRunning(Number(sink.text()))).toBe(false);
    await expect.poll(left).toEqual([]);
  });

  it('is killed with all processes of its cgroup', async () => {
    const script = `setsid sleep 1000 & ${UNTIL_ESCAPED}; echo $!; wait`;
    const { run, sink } = record(executors, sh(script), { limits: { memory: 64 * MIB } });
    await expect.poll(() => sink.text()).toMatch(/^\d+\n$/);
    run.kill('cancelled');
    expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
    await expect.poll(() => isRunning(Number(sink.text()))).toBe(false);
    await expect.poll(left).toEqual([]);
  });

  it('fails as usual if its program does not exist', async () => {
    const { outcome } = await outcomeOf(executors, { exec: ['/not/there'] }, { limits: { cpu: 1 } });
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'command-not-found' } });
    await expect.poll(left).toEqual([]);
  });

  it('has no cgroup, and is killed, if its starter cannot leave its own cgroup; the starter continues', async () => {
    const own = readFileSync('/proc/self/cgroup', 'utf8').trim().split(':').at(-1)!;
    const one = new TaskCgroup(cgroup!.folder, 'task-trap');
    let child: ReturnType<typeof spawn> | undefined;
    const fork = () => {
      child = spawn('sleep', ['1000'], { detached: true });
      return child;
    };
    try {
      const home = join(cgroup!.folder, 'cgroup.procs', 'home');
      expect(() => one.forking(fork, { cpu: 1 }, home)).toThrow(CgroupError);
      one.remove();
      expect((await once(child!, 'exit'))[1]).toBe('SIGKILL');
    } finally {
      writeFileSync(join('/sys/fs/cgroup', own, 'cgroup.procs'), `${process.pid}`);
    }
    await expect.poll(left).toEqual([]);
  });

  it('has no cgroup if it requests nothing', async () => {
    const { sink } = await outcomeOf(executors, sh('cat /proc/self/cgroup'));
    expect(sink.text()).toContain('goshawk-spawner-');
  });
});

it('a command without a memory request that the kernel kills for lack of memory was ended by a signal', async () => {
  const cgroup = { forking: (fork: () => unknown) => fork(), ranOutOfMemory: true, kill() {}, remove() {} };
  const outcome = await new Promise((resolve) => {
    const place = { cgroup: cgroup as unknown as TaskCgroup, limits: { cpu: 1 }, home: '' };
    const order = {
      command: 'sh',
      args: ['-c', 'kill -KILL $$'],
      env: {},
      outputBytesMax: 0,
      hasStdin: false,
    };
    const sink = { started() {}, output() {}, ended: resolve };
    const run = new SpawnedRun(
      order,
      100,
      {
        watch: new GroupWatch(),
        usage: new GroupUsage(),
        streams: new CommandStreams('/dev/null/none', () => {}),
      },
      { place, engine: undefined },
      sink,
    );
    run.start(order, Buffer.alloc(0), { PATH: process.env.PATH });
  });
  expect(outcome).toMatchObject({ error: { code: 'signal', message: expect.stringContaining('SIGKILL') } });
});
