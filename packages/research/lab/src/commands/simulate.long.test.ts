import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Finished, runGoshawk, startGoshawk } from '@goshawk/cli/testing';
import type { Comparison, Run } from '@goshawk/report';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-simulate-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

type HashedRun = Run & { readonly effectsHash: string };

describe('a simulation is a function of its workload, its options and its seed', () => {
  const SMALL = ['simulate', 'google-like:jobs=120,seed=5', '--workers', '150', '--policy', 'hawk,sparrow'];

  /** Returns the output without machine-dependent parts. */
  async function simulated(...args: string[]): Promise<{ text: string; runs: readonly HashedRun[] }> {
    const { exitCode, stdout } = await runGoshawk([...SMALL, ...args, '--json', '--quiet', '--effects-hash']);
    expect(exitCode).toBe(0);
    const measured = new Set(['wallSeconds', 'eventsPerSecond', 'peakRssBytes']);
    const text = JSON.stringify(JSON.parse(stdout), (name, value: unknown) =>
      measured.has(name) ? undefined : value,
    );
    return { text, runs: (JSON.parse(text) as Comparison).runs as readonly HashedRun[] };
  }

  it('is reproducible with all effects for one seed, and differs for another', async () => {
    const first = await simulated('--seed', '7');
    expect((await simulated('--seed', '7')).text).toBe(first.text);
    const other = await simulated('--seed', '8');
    const hashes = [...first.runs, ...other.runs].map(({ effectsHash }) => effectsHash);
    expect(hashes.every((hash) => /^[0-9a-f]{64}$/.test(hash))).toBe(true);
    expect(new Set(hashes).size).toBe(4);
  });

  it('does not depend on the number of threads or on the other seeds', async () => {
    const [one, two, four] = await Promise.all(
      ['1', '2', '4'].map((parallel) => simulated('--seeds', '3', '--parallel', parallel)),
    );
    expect(two!.text).toBe(one!.text);
    expect(four!.text).toBe(one!.text);
    const alone: HashedRun[] = [];
    for (const seed of ['1', '2', '3']) alone.push(...(await simulated('--seed', seed)).runs);
    const bySeed = (runs: readonly HashedRun[]) =>
      runs.toSorted((a, b) => a.policy.localeCompare(b.policy) || a.seed - b.seed);
    expect(JSON.stringify(bySeed(one!.runs))).toBe(JSON.stringify(bySeed(alone)));
  });
});

it('reports a custom policy that ends its thread', async () => {
  const policy = join(folder, 'leaves.js');
  await writeFile(
    policy,
    `export default { title: 'leaves', declares: false, options: {}, make: () => ({ update() {}, plan(_cluster, _draft, now) { if (now > 0) process.exit(0); } }) };`,
  );
  const args = [
    'google-like:jobs=20',
    '--workers',
    '20',
    '--policy',
    policy,
    '--seeds',
    '2',
    '--parallel',
    '2',
  ];
  const { exitCode, stderr } = await runGoshawk(['simulate', ...args]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('a simulation thread exited');
});

it('loses nothing if a thread fails after its run while another is active', async () => {
  const example = new URL('../../../../../examples/shortest-first.js', import.meta.url);
  const policies = {
    late: `setTimeout(() => { throw new Error('late'); }, 1_000)`,
    slow: 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000)',
  };
  for (const [name, firstOf] of Object.entries(policies)) {
    const code = `import example from '${example}';
      let isFirst = true;
      const make = (...given) => {
        const policy = example.make(...given);
        const plan = (cluster, draft, now) => {
          if (now > 0 && isFirst) ${firstOf};
          if (now > 0) isFirst = false;
          return policy.plan(cluster, draft, now);
        };
        return { update: (changes, now) => policy.update(changes, now), plan };
      };
      export default { ...example, make };`;
    await writeFile(join(folder, `${name}.mjs`), code);
  }
  const policy = Object.keys(policies).map((name) => join(folder, `${name}.mjs`));
  const args = ['google-like:jobs=20', '--workers', '20', '--policy', policy.join(), '--parallel', '2'];
  const { exitCode, stdout, stderr } = await runGoshawk(['simulate', ...args, '--json', '--quiet']);
  expect(stderr).toBe('');
  expect(exitCode).toBe(0);
  expect((JSON.parse(stdout) as Comparison).runs).toHaveLength(2);
});

describe('a simulation that uses a solver', () => {
  const RACKS = 'rack=r1,r2,r3,r4,r5,r6,r7,r8';
  const SMALL = ['simulate', 'e2e:jobs=40,nodes=32,seed=3', '--workers', '32', '--attribute', RACKS];
  const POLICY = ['--policy', '3sigma-sched', '--estimator', 'history', '--set', 'cycleMs=10000'];

  async function hashed(): Promise<string> {
    const { exitCode, stdout, stderr } = await runGoshawk([...SMALL, ...POLICY, '--json', '--effects-hash']);
    expect(exitCode, stderr).toBe(0);
    const [run] = (JSON.parse(stdout) as Comparison).runs as readonly HashedRun[];
    expect(run!.planning!.counts.cycles).toBeGreaterThan(20);
    expect(run!.planning!.counts.greedy).toBe(0);
    return run!.effectsHash;
  }

  it('is reproducible, even with two busy processes', async () => {
    const alone = await hashed();
    expect(await hashed()).toBe(alone);
    const busy = [1, 2].map(() => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    try {
      expect(await hashed()).toBe(alone);
    } finally {
      for (const each of busy) each.kill('SIGKILL');
    }
  });
});

describe('Ctrl-C ends a simulation with one line about its progress and leaves nothing', () => {
  /** Interrupts the command at the first output that matches. */
  async function interrupt(args: readonly string[], when: RegExp): Promise<Finished> {
    const report = join(folder, 'interrupted.html');
    const all = ['simulate', ...args, '--json', '--progress', 'plain', '--report', report];
    const simulation = startGoshawk(all);
    await simulation.says(when);
    simulation.kill('SIGINT');
    return simulation.finished;
  }

  /** Returns the output of a run that was interrupted in time. */
  async function interrupted(args: readonly string[], when: RegExp): Promise<string> {
    const { exitCode, stdout, stderr } = await interrupt(args, when);
    expect(exitCode, stderr).toBe(130);
    expect(stdout).toBe('');
    expect(await readdir(folder)).toEqual([]);
    const last = JSON.parse(stderr.trimEnd().split('\n').at(-1)!) as { code: string; message: string };
    expect(last.code).toBe('interrupted');
    return last.message;
  }

  it('while the workload is surveyed', async () => {
    expect(await interrupted(['google-like:jobs=9000000'], /^surveying jobs: /m)).toMatch(
      /^interrupted: the workload was still being read \([\d,]+ jobs so far\); nothing was simulated$/,
    );
  });

  it.each(['1', '2'])('while it is simulated, %s at a time', async (parallel) => {
    const long = ['google-like:jobs=100000', '--policy', 'hawk,sparrow', '--parallel', parallel];
    expect(await interrupted(long, /^simulating: [1-9]/m)).toMatch(
      /^interrupted: [1-9][\d,]* of 200,000 jobs simulated(, (hawk|sparrow) at [\d,]+ s){1,2} of simulated time; nothing was written$/,
    );
  });

  it('during a single long job', async () => {
    // The many probes take a minute on a fast machine; the first progress line appears after five seconds.
    const large = ['poisson:jobs=1,tasks=4000000', '--probe-ratio', '50'];
    const trace = [...large, '--policy', 'hawk', '--workers', '100', '--cutoff', '1e6'];
    expect(await interrupted(trace, /^simulating: 0 of 1 \(0%\)/m)).toMatch(
      /^interrupted: 0 of 1 job simulated, hawk at [\d,]+ s of simulated time; nothing was written$/,
    );
  });

  it('while the report is written, which is then complete or absent', async () => {
    const few = ['google-like:jobs=100', '--workers', '100', '--policy', 'hawk,sparrow,central,split'];
    const { exitCode, stdout, stderr } = await interrupt(few, /^writing the report$/m);
    if (exitCode === 130) {
      expect(stdout).toBe('');
      expect(stderr).toContain('interrupted: all runs ended, but the report was not written');
      expect(await readdir(folder)).toEqual([]);
    } else {
      // The run ended before the signal.
      expect(exitCode).toBe(0);
      expect((JSON.parse(stdout) as Comparison).runs).toHaveLength(4);
      expect(await readdir(folder)).toEqual(['interrupted.html']);
      expect(await readFile(join(folder, 'interrupted.html'), 'utf8')).toMatch(/<\/html>\s*$/);
    }
  });
});
