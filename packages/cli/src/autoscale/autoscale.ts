import type { Cluster, ClusterView, ClusterWaiting } from '@goshawk/client';
import type { Context, OptionSpecs, Resolved } from '@goshawk/command';
import { type FoundCluster, findCluster, openCluster } from '@goshawk/command/cluster';
import { counted, formatDuration, InputError, type Millis, sumOf, type WaitingReason } from '@goshawk/core';
import { HEALTH_OPTIONS, healthPort } from '../commands/daemon-options.js';
import { drainUnlessGone } from '../jobs/drain-unless-gone.js';
import { someNames } from '../jobs/words.js';
import { NOT_CHECKED, repeatUntilInterrupted } from '../repeat-until-interrupted.js';
import { type Actions, type Member, type Pool, Scaler } from './scaler.js';

/** Options of every kind of pool. */
export const SCALE_OPTIONS = {
  pool: { type: 'text', setting: true, value: 'NAME', default: 'goshawk-pool', describe: 'name of the pool' },
  min: { type: 'count', setting: true, default: 0, describe: 'minimum number of workers' },
  max: {
    type: 'count',
    setting: true,
    min: 1,
    max: 10_000,
    describe: 'maximum number of workers (required)',
  },
  cooldown: {
    type: 'duration',
    setting: true,
    default: '5m',
    describe: 'drain workers only after a smaller pool would have been enough for this long',
  },
  every: {
    type: 'duration',
    setting: true,
    default: '2s',
    describe: 'interval between two checks of the cluster',
  },
  ...HEALTH_OPTIONS,
  dryRun: { type: 'flag', setting: false, describe: 'print the actions without taking them' },
} as const satisfies OptionSpecs;

type ScaleOptions = Resolved<typeof SCALE_OPTIONS> & { readonly cpus?: number | undefined };

const NAMES_SHOWN = 5;

/** Scales the pool with the load of a cluster until Ctrl-C, which leaves the pool as it is. */
export async function autoscale(
  context: Context,
  options: ScaleOptions,
  makePool: (found: FoundCluster) => Pool,
): Promise<void> {
  const { pool: name, min, max } = options;
  if (max === undefined) throw new InputError('usage', 'autoscale: --max is missing', 'set --max WORKERS');
  if (min > max) throw new InputError('usage', `autoscale: --min ${min} is more than --max ${max}`);
  if (!/^[a-z0-9][a-z0-9.-]{0,62}$/.test(name))
    throw new InputError(
      'usage',
      `autoscale: --pool: "${name}" is not a valid name`,
      'use a-z, 0-9, dots and dashes',
    );
  const found = await findCluster(context);
  await using driver = new Driver(context, { ...options, max }, makePool(found), found);
  const notReady = [NOT_CHECKED];
  await using _health = await healthPort(context, options, true, () => notReady);
  await repeatUntilInterrupted(context, options.every, () => driver.check(), notReady);
}

class Driver implements AsyncDisposable {
  readonly #context: Context;
  readonly #options: ScaleOptions;
  readonly #pool: Pool;
  readonly #found: FoundCluster;
  readonly #scaler: Scaler;
  #cluster: Cluster | undefined;
  /** Messages of the last check. */
  #lastMessages = new Set<string>();

  constructor(context: Context, options: ScaleOptions & { max: number }, pool: Pool, found: FoundCluster) {
    this.#context = context;
    this.#options = options;
    this.#pool = pool;
    this.#found = found;
    const { min, max, cooldown: cooldownMs, cpus: slots = 1 } = options;
    this.#scaler = new Scaler({ min, max, cooldownMs, slots, lastLeavesFirst: pool.lastLeavesFirst });
  }

  async check(): Promise<void> {
    const { interrupted: signal } = this.#context;
    const members = await this.#pool.members(signal);
    // Connects here rather than in the constructor, so that an unreachable cluster is retried.
    this.#cluster ??= await openCluster(this.#context, { found: this.#found });
    const [view, waits] = await Promise.all([
      this.#cluster.describe({ signal }),
      this.#cluster.waiting({ signal }),
    ]);
    const waiting = tasksToHelp(waits, view);
    const actions = this.#scaler.decide({ waiting, members, workers: view.workers }, performance.now());
    const before = this.#lastMessages;
    this.#lastMessages = new Set();
    for (const name of actions.failed) this.#context.note(`${name} ended before its worker joined`);
    await this.#follow(actions, members, before);
  }

  async #follow(actions: Actions, members: readonly Member[], before: ReadonlySet<string>): Promise<void> {
    const { interrupted: signal } = this.#context;
    const { dryRun, cooldown } = this.#options;
    const { undo, drain, end, start, wanted } = actions;
    const linesFor = (action: string, names: readonly string[]): readonly string[] => {
      const fresh = names.filter((name) => !before.has(`${action} ${name}`));
      for (const name of names) this.#lastMessages.add(`${action} ${name}`);
      return fresh;
    };
    const size = members.length;
    if (!dryRun) for (const name of undo) await drainUnlessGone(this.#cluster!, name, false, signal);
    this.#print('undo', linesFor('undo', undo), size, size, this.#need(actions));
    if (!dryRun) for (const name of drain) await drainUnlessGone(this.#cluster!, name, true, signal);
    this.#print('drain', linesFor('drain', drain), size, size, enough(wanted, cooldown));
    if (end.length > 0) {
      if (!dryRun) await this.#pool.end(end, signal);
      const names = end.map(({ name }) => name);
      this.#print('end', linesFor('end', names), size, size - end.length, enough(wanted, cooldown));
    }
    if (start > 0) {
      const numbered = Array.from({ length: start }, (_, index) => `${size + index}`);
      const started = dryRun ? [] : await this.#pool.start(start, signal);
      this.#scaler.started(started.map(({ name }) => name));
      const fresh = linesFor('start', dryRun ? numbered : started.map(({ name }) => name));
      this.#print('start', fresh, size, size + start, this.#need(actions));
    }
  }

  #need({ waiting, busy, slots, wanted }: Actions): string {
    const { min, max = 0 } = this.#options;
    if (wanted === min) return `the minimum is ${min}`;
    const seen = `${counted(waiting, 'task')} ${waiting === 1 ? 'waits' : 'wait'}, and ${busy} ${busy === 1 ? 'runs' : 'run'} on ${counted(slots, 'CPU')}`;
    return wanted === max ? `${seen}; the maximum is ${max}` : seen;
  }

  /** Prints a line for each change, with its reason. */
  #print(
    action: keyof typeof WORDS,
    workers: readonly string[],
    from: number,
    to: number,
    reason: string,
  ): void {
    if (workers.length === 0) return;
    const { dryRun, pool } = this.#options;
    const at = new Date().toISOString();
    const names = action === 'start' && dryRun ? [] : workers;
    const change = from === to ? `of ${from}` : `${from} → ${to}`;
    const which = action === 'start' ? counted(workers.length, 'worker') : someNames(workers, NAMES_SHOWN);
    this.#context.show(
      { schema: 'goshawk.autoscale/1', at, pool, action, dryRun, workers: names, from, to, reason },
      () => `${pool}, ${change}: ${dryRun ? 'would ' : ''}${WORDS[action]} ${which}: ${reason}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster?.close();
  }
}

const WORDS = { start: 'start', drain: 'drain', undo: 'stop draining', end: 'end' } as const;

function enough(wanted: number, cooldownMs: Millis): string {
  return `at most ${counted(wanted, 'worker')} ${wanted === 1 ? 'was' : 'were'} needed for ${formatDuration(cooldownMs)}`;
}

/**
 * Waiting reasons that another worker may resolve. Tasks that wait for their own job, pilots or central do
 * not benefit.
 */
const HELPED: ReadonlySet<WaitingReason> = new Set([
  'no-worker',
  'drained',
  'placing',
  'queued',
  'probing',
  'matching',
  'resources',
  'reserve',
  'reserved',
  'seeking',
  'required',
]);

/**
 * Returns the number of tasks that another worker could run; undefined while a process that may have some
 * does not answer.
 */
function tasksToHelp(
  { waiting, silent }: Pick<ClusterWaiting, 'waiting' | 'silent'>,
  { complete, schedulersAway }: Pick<ClusterView, 'complete' | 'schedulersAway'>,
): number | undefined {
  if (!complete || silent.length > 0 || schedulersAway.length > 0) return undefined;
  return sumOf(waiting, ({ reason, tasks }) => (HELPED.has(reason) ? tasks : 0));
}
