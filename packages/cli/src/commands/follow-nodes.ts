import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '@goshawk/client';
import { InputError, UnreachableError } from '@goshawk/core';
import { defineCommand, ExitCode } from '../command.js';
import type { Context } from '../context.js';
import { openCluster } from '../jobs/open-cluster.js';
import { NodeFollower } from '../kubernetes/following.js';
import { cordonedNodes, type NodesOptions } from '../kubernetes/nodes.js';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export const followNodesCommand = defineCommand({
  name: 'follow-nodes',
  describe: 'on Kubernetes: drain the workers of cordoned nodes, and undo this on uncordoned nodes',
  examples: [
    ['goshawk follow-nodes --cluster tcp://goshawk-central:7070', 'in a pod with the right to list nodes'],
  ],
  options: {
    api: {
      type: 'text',
      value: 'URL',
      describe: 'address of the API server, https://HOST:PORT (default: from the environment of the pod)',
    },
    tokenFile: {
      type: 'text',
      value: 'FILE',
      default: `${SERVICE_ACCOUNT}/token`,
      describe: 'file of the token for the API server',
    },
    caFile: {
      type: 'text',
      value: 'FILE',
      default: `${SERVICE_ACCOUNT}/ca.crt`,
      describe: 'file of the CA certificate of the API server',
    },
    every: { type: 'duration', default: '5s', describe: 'interval between two requests' },
  },
  async run(context, options) {
    const { cwd, interrupted } = context;
    const nodes: NodesOptions = {
      api: options.api ?? apiOf(context),
      tokenFile: resolve(cwd, options.tokenFile),
      caFile: resolve(cwd, options.caFile),
    };
    await using cluster = await openCluster(context);
    const follower = new NodeFollower();
    let problem = '';
    while (!interrupted.aborted) {
      const now = await problemOf(() => follow(context, cluster, follower, nodes), interrupted);
      if (now !== problem) context.note(now === '' ? 'all is well again' : now);
      problem = now;
      await pause(options.every, undefined, { signal: interrupted }).catch(() => {});
    }
    return ExitCode.done;
  },
});

/** One look, and what follows from it. */
async function follow(
  { out, interrupted: signal }: Context,
  cluster: Cluster,
  follower: NodeFollower,
  nodes: NodesOptions,
): Promise<void> {
  const cordoned = await cordonedNodes(nodes, signal);
  const { workers } = await cluster.describe({ signal });
  const { drain, undo } = follower.orders(cordoned, workers);
  for (const worker of drain) {
    if (await drainUnlessGone(cluster, worker, true, signal))
      out(`${worker} takes nothing new: its node is cordoned`);
  }
  for (const worker of undo) {
    if (await drainUnlessGone(cluster, worker, false, signal))
      out(`${worker} takes work again: its node does`);
  }
}

/** Nodes are removed while this looks: a worker that has left in between needs nothing. @returns whether it was there */
export async function drainUnlessGone(
  cluster: Pick<Cluster, 'drain'>,
  worker: string,
  on: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await cluster.drain(worker, on, { signal });
    return true;
  } catch (error) {
    if (error instanceof InputError && error.code === 'unknown-worker') return false;
    throw error;
  }
}

/** What kept one look from its end, in a line; what is away may come back. @throws what will not go away */
async function problemOf(look: () => Promise<void>, signal: AbortSignal): Promise<string> {
  try {
    await look();
  } catch (error) {
    if (signal.aborted) return '';
    if (!(error instanceof UnreachableError)) throw error;
    return error.message;
  }
  return '';
}

function apiOf({ environment }: Context): string {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (host && port) return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  throw new InputError(
    'no-kubernetes',
    'follow-nodes: this is no pod of Kubernetes',
    'give --api https://HOST:PORT, --token-file and --ca-file',
  );
}
