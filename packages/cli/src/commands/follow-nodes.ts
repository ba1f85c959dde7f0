import type { Cluster } from '@goshawk/client';
import { type Context, defineCommand } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { drainUnlessGone } from '../jobs/drain-unless-gone.js';
import { API_OPTIONS, type ApiOptions, apiOptions } from '../kubernetes/api.js';
import { NodeFollower } from '../kubernetes/following.js';
import { cordonedNodes } from '../kubernetes/nodes.js';
import { NOT_CHECKED, repeatUntilInterrupted } from '../repeat-until-interrupted.js';
import { HEALTH_OPTIONS, healthPort } from './daemon-options.js';

export const followNodesCommand = defineCommand({
  name: 'follow-nodes',
  describe:
    'on Kubernetes, drain the workers on cordoned nodes, and undo the drain when the nodes are uncordoned',
  examples: [
    [
      'goshawk follow-nodes --cluster tcp://goshawk-central:7070',
      'run this in a pod with permission to list nodes',
    ],
  ],
  options: {
    ...API_OPTIONS,
    ...HEALTH_OPTIONS,
    every: { type: 'duration', setting: 'nodesEvery', default: '5s', describe: 'interval between requests' },
  },
  async run(context, options) {
    const nodes = apiOptions(context, options, 'follow-nodes');
    await using cluster = await openCluster(context);
    const follower = new NodeFollower();
    const notReady = [NOT_CHECKED];
    await using _health = await healthPort(context, options, true, () => notReady);
    const check = () => follow(context, cluster, follower, nodes);
    await repeatUntilInterrupted(context, options.every, check, notReady);
  },
});

/** Checks the nodes once and drains workers, or undoes drains, accordingly. */
async function follow(
  { out, interrupted: signal }: Context,
  cluster: Cluster,
  follower: NodeFollower,
  nodes: ApiOptions,
): Promise<void> {
  const cordoned = await cordonedNodes(nodes, signal);
  const { workers } = await cluster.describe({ signal });
  const { drain, undo } = follower.orders(cordoned, workers);
  for (const worker of drain) {
    if (await drainUnlessGone(cluster, worker, true, signal))
      out(`${worker} is draining: its node is cordoned`);
  }
  for (const worker of undo) {
    if (await drainUnlessGone(cluster, worker, false, signal))
      out(`${worker} accepts tasks again: its node was uncordoned`);
  }
}
