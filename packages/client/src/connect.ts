import { userInfo } from 'node:os';
import { InputError, UnreachableError } from '@goshawk/core';
import {
  MailboxError,
  readKeys,
  resolveEndpoint,
  SILENT_LOGGER,
  UnresolvableHostError,
} from '@goshawk/transport';
import { Alarms } from './alarms.js';
import type { Asking } from './attempts.js';
import { Cluster } from './cluster.js';
import { Connection } from './connection.js';
import { clusterEnded } from './errors.js';
import { findLocalCluster, type LocalCluster, localClusterAt } from './local-clusters.js';
import { type ConnectOptions, completeTimings } from './options.js';
import { Requests } from './requests.js';
import { Roster } from './roster.js';
import { Turns } from './turns.js';

/**
 * Connects to a cluster.
 *
 * @param at `tcp://HOST:PORT` of central or of any scheduler; several, separated by commas, for failover. Default:
 * `GOSHAWK_CLUSTER`, else the cluster that `goshawk up` runs from this folder, else the only one that it runs on this machine
 * @throws InputError `bad-url`, `several-clusters`, `connects-when-loaded`, and for invalid keys; UnreachableError if no process answers, no cluster
 * runs, or the cluster rejects these keys
 */
export async function connect(at?: string, options: ConnectOptions = {}): Promise<Cluster> {
  checkNotLoading();
  const timings = completeTimings(options);
  options.signal?.throwIfAborted();
  const url = at ?? (process.env.GOSHAWK_CLUSTER || findLocalCluster(process.env, process.cwd()).url);
  const seeds = await checkUrl(url);
  const local = localClusterAt(url, process.env, process.cwd());
  const keys = options.keys ?? (process.env.GOSHAWK_KEYS || local?.keys);
  const source = typeof keys === 'string' ? { path: keys } : keys;
  const ring = source && readKeys(source, 'client');
  const connection = await Connection.open(options.logger ?? SILENT_LOGGER, ring);
  const asking = { connection, alarms: new Alarms(), timings, turns: new Turns() };
  const requests = new Requests(asking);
  const roster = new Roster(requests, timings, seeds);
  // Jobs of an individual key belong to the user of its name.
  const user = options.user ?? ring?.name ?? systemUser();
  const cluster = new Cluster({ ...asking, requests, roster, user });
  try {
    await roster.join(options.signal);
    if (local !== undefined && seeds.length === 1) failWhenGone(local, asking);
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** Fails requests soon after a local cluster has ended. A cluster that restarts at once at the same address has not ended. */
function failWhenGone(local: LocalCluster, { connection, alarms, timings }: Asking): void {
  let seenAt = performance.now();
  const alarm = alarms.add((now) => {
    if (localClusterAt(local.url, process.env, process.cwd()) !== undefined) seenAt = now;
    else if (now - seenAt >= timings.pollTimeoutMs) connection.cut(clusterEnded(local));
    alarm.set(now + timings.retryMs);
  });
  alarm.set(seenAt + timings.retryMs);
}

async function checkUrl(url: unknown): Promise<string[]> {
  if (typeof url !== 'string') throw badUrl(`a value of type ${typeof url} is not an endpoint`);
  const seeds = url
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (seeds.length === 0) throw badUrl(`${JSON.stringify(url)} is not an endpoint`);
  const checks = await Promise.allSettled(seeds.map((seed) => resolveEndpoint(seed)));
  const problems = checks.flatMap((check) => (check.status === 'rejected' ? [check.reason as unknown] : []));
  for (const problem of problems) {
    if (problem instanceof UnresolvableHostError) continue;
    throw problem instanceof MailboxError ? badUrl(problem.message) : problem;
  }
  // An unknown host counts as unresponsive, as long as there is another one.
  if (problems.length === seeds.length) {
    throw new UnreachableError('unreachable', (problems[0] as Error).message, '', { cause: problems[0] });
  }
  return seeds;
}

function badUrl(message: string): InputError {
  return new InputError('bad-url', message, 'write tcp://HOST:PORT of central or of a scheduler');
}

/** Workers set this global variable to the path of the module that they load. */
const LOADING = Symbol.for('goshawk.loading-module');

/** @throws InputError if a worker loads the caller: each task of a job would submit the job again, without end */
function checkNotLoading(): void {
  const path = (globalThis as { [LOADING]?: string })[LOADING];
  if (path === undefined) return;
  throw new InputError(
    'connects-when-loaded',
    `${path} connects to a cluster when a worker loads it to call its functions`,
    'put this part of the file under `if (process.argv[1] === import.meta.filename)`',
  );
}

/** A container may run as a user without a name. */
function systemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
