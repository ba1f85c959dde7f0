import type { Cluster } from '@goshawk/client';
import { UnreachableError } from '@goshawk/core';
import { onTestFinished } from 'vitest';
import { type GatewayOptions, openGateway } from './server.js';

/**
 * Opens a gateway to a cluster that gives only these answers, until the test ends.
 *
 * @returns the address of the gateway
 */
export async function gatewayTo(answers: object, options: Partial<GatewayOptions> = {}): Promise<string> {
  const silent = async () => {
    throw new UnreachableError('unreachable', 'nobody answers');
  };
  const cluster = {
    describe: silent,
    events: silent,
    waiting: silent,
    counters: silent,
    jobs: silent,
    shares: silent,
    history: silent,
    close: async () => {},
    ...answers,
  };
  const gateway = await openGateway({
    bind: '127.0.0.1:0',
    tokens: [],
    where: 'tcp://h:1',
    version: '0.1.0',
    connect: async () => cluster as unknown as Cluster,
    ...options,
  });
  onTestFinished(() => gateway.close());
  return gateway.url;
}
