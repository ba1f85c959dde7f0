import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClusterView } from '@goshawk/client';
import type { Context } from '@goshawk/command';
import { connect, findCluster, LocalCluster, openCluster } from '@goshawk/command/cluster';
import { InputError, type PolicySettings, sumOf } from '@goshawk/core';
import type { ReplayTarget, Shape } from './contract.js';
import type { ReplayOptions } from './options.js';

/**
 * Starts a cluster for one policy, and ends it whatever happens. Its logs are removed with it, unless
 * something went wrong.
 *
 * @param shape with what the tasks of one worker may use together, as the option has it
 * @param say lines for people about what happens to its processes
 */
export async function onLocalCluster<T>(
  context: Context,
  { resources, attribute, ...shape }: Shape & Pick<ReplayOptions, 'resources' | 'attribute'>,
  settings: PolicySettings,
  say: (line: string) => void,
  use: (target: ReplayTarget) => Promise<T>,
): Promise<T> {
  const { interrupted, executable } = context;
  const dataFolder = await mkdtemp(join(tmpdir(), 'goshawk-replay-'));
  let isKept = false;
  try {
    const local = await LocalCluster.start(
      {
        ...shape,
        executable,
        resources,
        attribute,
        policy: settings,
        keys: undefined,
        bind: 'tcp://127.0.0.1:0',
        dataFolder,
        // Its jobs are nobody's, and what is compared are policies, not disks.
        journal: false,
        logLevel: 'info',
        note: say,
      },
      interrupted,
    );
    try {
      await using cluster = await connect(local.url, { signal: interrupted });
      const pids = () => [...local.processes.values()].map(({ pid }) => pid);
      const totalSlots = shape.workers * shape.slots;
      return await use({ cluster, settings, shape, totalSlots, pids, isShared: false });
    } finally {
      await local.stop();
    }
  } catch (error) {
    // Other errors are consequences of the interruption.
    if (interrupted.aborted) {
      say('interrupted: stopping the cluster; there are no results');
      throw interrupted.reason;
    }
    isKept = true;
    say(`the logs of the cluster are in ${join(dataFolder, 'logs')}`);
    throw error;
  } finally {
    if (!isKept) await rm(dataFolder, { recursive: true, force: true });
  }
}

/** A scheduler of a cluster that goes on may be restarted, or moved to another machine, while its jobs are followed. */
const AWAY_MS = 120_000;

/**
 * Uses a cluster that is there, under the policy that it has.
 *
 * @param use gets its address, too
 * @throws InputError when it has no worker; UnreachableError
 */
export async function onExistingCluster<T>(
  context: Context,
  use: (target: ReplayTarget, url: string) => Promise<T>,
): Promise<T> {
  const signal = context.interrupted;
  const found = await findCluster(context);
  await using cluster = await openCluster(context, { found, requestTimeoutMs: AWAY_MS });
  const view = await cluster.describe({ signal });
  const shape = shapeOf(view, found.url);
  const totalSlots = shape.workers * shape.slots;
  const { policy: settings } = view.settings;
  return await use({ cluster, settings, shape, totalSlots, pids: () => [], isShared: true }, found.url);
}

/** @throws InputError when nothing to run tasks on */
function shapeOf({ workers, schedulers }: ClusterView, url: string): Shape {
  const active = workers.filter(({ state }) => state === 'active');
  if (active.length === 0) {
    throw new InputError(
      'no-workers',
      `the cluster at ${url} has no worker that accepts tasks`,
      'start some with `goshawk worker`',
    );
  }
  if (active.some(({ slots }) => slots === 0)) {
    throw new InputError(
      'no-slots',
      `workers of the cluster at ${url} have no fixed number of slots, which a replay needs`,
      'submit the jobs one by one, or replay on a cluster with slots',
    );
  }
  const slots = sumOf(active, (worker) => worker.slots);
  return { workers: active.length, slots: slots / active.length, schedulers: schedulers.length };
}
