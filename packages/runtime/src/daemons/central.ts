import { Central } from '@goshawk/central';
import type { ClusterSettings } from '@goshawk/core';
import type { Daemon } from './daemon.js';
import { FIRST_PARTY, openProcess, type ProcessOptions } from './process.js';

export interface CentralOptions extends ProcessOptions {
  readonly name?: string;
  /** What everybody who joins is told. */
  readonly settings: ClusterSettings;
}

/**
 * Starts the central scheduler in this process.
 *
 * @throws InputError when it cannot listen where it should
 */
export async function startCentral(options: CentralOptions): Promise<Daemon> {
  const process = await openProcess('central', options);
  const name = options.name ?? 'central';
  process.host.add({ index: FIRST_PARTY, name, role: 'central' }, (environment) => {
    const self = process.addressOf(FIRST_PARTY);
    const busyMs = (): number => performance.eventLoopUtilization().active;
    return new Central({ name, self, settings: options.settings }, { ...environment, busyMs });
  });
  process.readiness(() => []);
  const { policy } = options.settings.policy;
  options.logger.info({ endpoint: process.mailbox.endpoint, policy }, 'central is up');
  const stop = async (): Promise<void> => {
    options.logger.info({}, 'central ends; workers and schedulers keep what they have');
    await process.close();
  };
  return {
    role: 'central',
    endpoint: process.mailbox.endpoint,
    joined: Promise.resolve(),
    ended: process.ended,
    // Central owns nothing that would have to be finished first.
    drain: stop,
    stop,
  };
}
