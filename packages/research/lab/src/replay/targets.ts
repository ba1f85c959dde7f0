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
 * Starts a cluster for one policy and always stops it afterwards. Its logs are deleted unless an error
 * occurred.
 *
 * @param shape includes the capacity per worker, in the syntax of the option
 * @param say receives messages about its processes for the user
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
        cpus: shape.slots,
        executable,
        resources,
        attribute,
        policy: settings,
        keys: undefined,
        bind: 'tcp://127.0.0.1:0',
        dataFolder,
        // The journal is off: the jobs are disposable, and the comparison is about policies, not disks.
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
      say('interrupted: stopping the cluster without results');
      throw interrupted.reason;
    }
    isKept = true;
    say(`the logs of the cluster are in ${join(dataFolder, 'logs')}`);
    throw error;
  } finally {
    if (!isKept) await rm(dataFolder, { recursive: true, force: true });
  }
}

/** While jobs are followed on a shared cluster, a scheduler may restart or move to another machine. */
const AWAY_MS = 120_000;

/**
 * Uses an existing cluster under its policy.
 *
 * @param use also receives the address
 * @throws InputError if the cluster has no worker; UnreachableError
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

/** @throws InputError if no worker is active */
function shapeOf({ workers, schedulers }: ClusterView, url: string): Shape {
  const active = workers.filter(({ state }) => state === 'active');
  if (active.length === 0) {
    throw new InputError(
      'no-workers',
      `the cluster at ${url} has no worker that accepts tasks`,
      'start some with `goshawk worker`',
    );
  }
  const slots = sumOf(active, (worker) => worker.slots);
  return { workers: active.length, slots: slots / active.length, schedulers: schedulers.length };
}
