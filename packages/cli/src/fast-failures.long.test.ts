import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { GOSHAWK } from './commands/index.js';
import { Daemons } from './daemons.fixture.js';
import { type Finished, runGoshawk, startGoshawk } from './goshawk-process.fixture.js';

/** Commands that need no cluster for the arguments of this test, with the reason. */
const EXEMPT: Readonly<Record<string, string>> = {
  replay: 'starts its own cluster',
  completion: 'prints a script',
  'config show': 'prints settings',
};

/** Commands that do something else with the address of a cluster, and what they say on a machine without one. */
const ON_ITS_OWN: Readonly<Record<string, RegExp>> = {
  // Starts before its cluster.
  dashboard: /start one with `goshawk up`/,
  'autoscale kubernetes': /not running in a Kubernetes pod/,
  'autoscale slurm': /start one with `goshawk up`/,
  'follow-nodes': /not running in a Kubernetes pod/,
  // Read journals.
  'trace export': /start one with `goshawk up`|no cluster is running/,
  whatif: /no cluster is running/,
};

const MORE: Readonly<Record<string, readonly string[]>> = {
  update: ['--priority', 'high'],
  'autoscale slurm': ['--max', '3'],
  'trace generate': ['--out', 'generated.tr'],
  'trace convert': ['--out', 'converted.jsonl'],
  'trace sample': ['--jobs', '3', '--out', 'sample.tr'],
  'trace export': ['--out', 'timeline.json'],
};

const all = await GOSHAWK.all();
const withCluster = all.filter(({ name, needsNoCluster }) => !needsNoCluster && !(name in EXEMPT));
/** Every command that talks to a cluster, so that a new one is tested, too. */
const commands = withCluster.filter(({ name }) => !(name in ON_ITS_OWN));

/** Words that name a file, a folder, or something else that must exist. */
const NAMED = /^\[?(?:FILE|FOLDER|WORKLOAD|FIGURE|GENERATOR|NAME)/;
/** Commands whose words may name what does not exist, with the reason. */
const CREATES: Readonly<Record<string, string>> = {
  keygen: 'creates the folder',
  'journal import': 'creates the folder',
};

/** Returns arguments for the words that a command takes. */
function argsOf({ name, words }: (typeof commands)[number], names: Names): string[] {
  const given =
    words.includes('-- CMD') && (names.file === undefined || !NAMED.test(words))
      ? ['--', 'true']
      : words.split(' ').flatMap((word) => {
          if (word === '' || (word.startsWith('[TASKS') && name === 'retry')) return [];
          if (NAMED.test(word)) return names.file === undefined ? [] : [names.file];
          if (/^TO$/.test(word)) return ['copy'];
          if (/ID/.test(word)) return [names.job];
          if (/WORKER/.test(word)) return [names.worker];
          return /SCHEDULER/.test(word) ? [names.scheduler] : [];
        });
  return [...name.split(' '), ...(MORE[name] ?? []), ...given];
}

interface Names {
  readonly job: string;
  readonly worker: string;
  readonly scheduler: string;
  /** For words that name a file or a folder; none: they are left out. */
  readonly file?: string;
}

const NOBODY: Names = { job: 'zzzzz-1', worker: 'w9', scheduler: 's9' };

const folder = mkdtempSync(join(tmpdir(), 'goshawk-failures-'));
const daemons = new Daemons(folder);
afterEach(() => daemons.stop());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * The promise is three seconds on an idle machine. A test shares its machine with others; answers that wait for a request
 * to time out take 15 seconds.
 */
const ANSWER_MS = 8_000;
const AT_ONCE = 3;

/** An error is one line with the cause, and what to do next after a semicolon. */
const WITH_REMEDY = /^goshawk: .+; .+$/m;

interface State {
  /** Address for `--cluster`; none: the command finds the cluster. */
  readonly url?: string;
  readonly of?: typeof commands;
  readonly names?: Names;
  readonly environment?: NodeJS.ProcessEnv;
  /** Brings the cluster into the state again, before every few commands. */
  readonly enter?: () => Promise<void>;
  /** Checks the outcome of a command, and returns what is wrong with it. */
  readonly expected: (finished: Finished, command: string) => string | undefined;
}

/** Runs every command, and returns what is wrong with the answers. */
async function faultsIn({
  url,
  of = commands,
  names = NOBODY,
  environment,
  enter,
  expected,
}: State): Promise<string[]> {
  const faults: string[] = [];
  const left = [...of];
  const some = async (count: number): Promise<void> => {
    for (const command of left.splice(-count)) {
      const args = argsOf(command, names);
      const words = command.name.split(' ').length;
      if (url !== undefined) args.splice(words, 0, '--cluster', url);
      const startedAt = performance.now();
      const finished = await runGoshawk(
        args,
        { XDG_STATE_HOME: folder, HOME: folder, ...environment },
        { cwd: folder },
      );
      const tookMs = performance.now() - startedAt;
      const said = `${args.join(' ')} → ${finished.exitCode}: ${finished.stderr}`;
      if (tookMs > ANSWER_MS) faults.push(`${Math.round(tookMs)} ms: ${said}`);
      if (finished.exitCode !== 0 && !WITH_REMEDY.test(finished.stderr)) faults.push(`no remedy: ${said}`);
      const wrong = expected(finished, command.name);
      if (wrong !== undefined) faults.push(`${wrong}: ${said}`);
    }
  };
  const each = enter === undefined ? Math.ceil(left.length / AT_ONCE) : 1;
  while (left.length > 0) {
    await enter?.();
    await Promise.all(Array.from({ length: AT_ONCE }, () => some(each)));
  }
  return faults;
}

function says(text: string, code = 3): State['expected'] {
  return ({ exitCode, stderr }) =>
    stderr.includes(text) && exitCode === code ? undefined : `expected "${text}" and ${code}`;
}

/** Commands that need no scheduler. */
const OF_CENTRAL = new Set(['top', 'workers', 'drain', 'takeover', 'predictor', 'shares', 'events']);

describe('every command answers soon, and says what to do next', () => {
  it('without a cluster', async () => {
    const expected: State['expected'] = ({ exitCode, stderr }, command) => {
      const own = ON_ITS_OWN[command];
      const isRight = own === undefined ? exitCode === 3 : exitCode === 2 || exitCode === 3;
      return isRight && (own ?? /start one with `goshawk up`/).test(stderr) ? undefined : 'expected a cause';
    };
    expect(await faultsIn({ of: withCluster, expected })).toEqual([]);
  });

  it('with files and folders that do not exist', async () => {
    const of = all.filter(
      ({ name, words }) => words.split(' ').some((word) => NAMED.test(word)) && !(name in CREATES),
    );
    expect(of.length).toBeGreaterThan(15);
    const expected: State['expected'] = ({ exitCode, stderr }) =>
      exitCode === 2 && stderr.includes('nowhere') ? undefined : 'expected the name and 2';
    expect(await faultsIn({ of, names: { ...NOBODY, file: 'nowhere' }, expected })).toEqual([]);
  });

  it.each(['worker', 'scheduler'])('%s without central', async (role) => {
    const running = startGoshawk([role, '--central-url', 'tcp://127.0.0.1:9'], {
      XDG_STATE_HOME: folder,
    });
    const startedAt = performance.now();
    await running.says(/no answer from central yet: check that it is running/);
    expect(performance.now() - startedAt).toBeLessThan(ANSWER_MS);
    running.kill('SIGINT');
    await running.finished;
  });

  it('without central', async () => {
    const central = await daemons.startCentral();
    await central.kill();
    expect(await faultsIn({ url: daemons.url, expected: says(`no answer from ${daemons.url}`) })).toEqual([]);
  });

  it('without central, where a scheduler answers', async () => {
    const central = await daemons.startCentral();
    const scheduler = await daemons.startScheduler('s0');
    await daemons.startWorker('w0');
    const url = `${daemons.url},${scheduler.endpoint}`;
    // A job that has ended: no command waits for it, or changes it.
    const submitted = await runGoshawk(['submit', '--sleep', '1ms', '--wait', '--json', '--cluster', url]);
    const { job } = JSON.parse(submitted.stdout.split('\n')[0]!) as { job: string };
    await central.kill();
    const saysWhatWorks = /`goshawk jobs`, `submit`, `wait` and `logs` work without central/;
    const worked: string[] = [];
    const expected: State['expected'] = ({ exitCode, stderr }, command) => {
      if (exitCode !== 3) worked.push(command);
      return exitCode !== 3 || saysWhatWorks.test(stderr) ? undefined : 'expected what works without central';
    };
    const of = commands.filter(({ name }) => !['run', 'submit'].includes(name));
    expect(await faultsIn({ url, of, names: { job, worker: 'w0', scheduler: 's0' }, expected })).toEqual([]);
    expect(worked).toEqual(expect.arrayContaining(['jobs', 'job', 'tasks', 'results', 'logs', 'wait']));
  });

  it('without a scheduler', async () => {
    await daemons.startCentral();
    const expected: State['expected'] = (finished, command) =>
      OF_CENTRAL.has(command)
        ? undefined
        : says('no scheduler of the cluster accepts jobs')(finished, command);
    expect(await faultsIn({ url: daemons.url, expected })).toEqual([]);
  });

  it('after the loss of the only scheduler', async () => {
    await daemons.startCentral();
    const scheduler = await daemons.startScheduler('s0');
    await daemons.startWorker('w0');
    const run = (...args: string[]) => runGoshawk([...args, '--cluster', daemons.url]);
    const job = (await run('submit', '--hold', '--sleep', '1ms')).stdout.trim();
    await scheduler.kill();
    // Central notices the loss when the lease expires.
    while (!/no scheduler of the cluster is running/.test((await run('jobs')).stderr));
    const expected: State['expected'] = ({ exitCode, stderr }, command) =>
      OF_CENTRAL.has(command) || (exitCode === 3 && stderr.includes('s0')) ? undefined : 'expected s0 and 3';
    const names = { job, worker: 'w0', scheduler: 's9' };
    expect(await faultsIn({ url: daemons.url, names, expected })).toEqual([]);
  });

  it('just after a crash of the only scheduler', async () => {
    await daemons.startCentral();
    let scheduler = await daemons.startScheduler('s1');
    await daemons.startWorker('w0');
    const submitted = await runGoshawk(['submit', '--hold', '--sleep', '1ms', '--cluster', daemons.url]);
    const enter = async () => {
      await scheduler.kill();
      scheduler = await daemons.startScheduler('s1');
      await scheduler.kill();
    };
    const names = { job: submitted.stdout.trim(), worker: 'w0', scheduler: 's9' };
    const expected: State['expected'] = ({ exitCode, stderr }, command) =>
      OF_CENTRAL.has(command) || (exitCode === 3 && stderr.includes('s1')) ? undefined : 'expected s1 and 3';
    expect(await faultsIn({ url: daemons.url, names, enter, expected })).toEqual([]);
  });

  it('with a key of another cluster', async () => {
    for (const keys of ['ours', 'theirs']) await runGoshawk(['keygen', join(folder, keys)]);
    await daemons.startCentral(['--keys', join(folder, 'ours')]);
    const environment = { GOSHAWK_KEYS: join(folder, 'theirs') };
    expect(await faultsIn({ url: daemons.url, environment, expected: says('key') })).toEqual([]);
  });

  it('with names that do not exist', async () => {
    await daemons.startCentral();
    await daemons.startScheduler('s0');
    await daemons.startWorker('w0');
    const named = new Set(
      commands.filter(({ words }) => /ID|WORKER|SCHED/.test(words)).map(({ name }) => name),
    );
    const expected: State['expected'] = ({ exitCode, stderr }, command) =>
      !named.has(command) || (exitCode === 2 && /zzzzz-1|w9|s9/.test(stderr))
        ? undefined
        : 'expected the name and 2';
    expect(await faultsIn({ url: daemons.url, expected })).toEqual([]);
  });
});
