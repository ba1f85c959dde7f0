import fs from 'node:fs';
import { resolve } from 'node:path';
import {
  decodeText,
  InputError,
  type MessageType,
  type Millis,
  meanOf,
  readRegularFile,
} from '@goshawk/core';
import type { MessageTimes } from '@goshawk/report';
import { type NetworkModel, parseNetwork } from '@goshawk/simulator';
import type { SimulateOptions } from './options.js';

/**
 * Parses `--network-delay`.
 * @param cwd base of relative paths
 * @throws InputError in one line, for example for a file that is unreadable or has no measured delays
 */
export function networkOf(
  { networkDelay }: Pick<SimulateOptions, 'networkDelay'>,
  cwd: string,
): NetworkModel {
  return parseNetwork(networkDelay, '--network-delay', (path) => {
    const bytes = readRegularFile(
      fs,
      resolve(cwd, path),
      (why, cause) =>
        new InputError('bad-delays', `--network-delay: cannot read ${path}: ${why}`, '', { cause }),
    );
    return decodeText(bytes, path);
  });
}

/**
 * Returns the mean message delays around a task, in seconds: for binding it and for reporting its end.
 *
 * @returns means, in seconds
 */
export function messageTimesOf(network: NetworkModel): MessageTimes {
  const binding = meanMs(network, 'ask') + meanMs(network, 'run');
  return { binding: binding / 1_000, reporting: meanMs(network, 'ended') / 1_000 };
}

function meanMs(network: NetworkModel, type: MessageType): Millis {
  switch (network.kind) {
    case 'constant':
      return network.delayMs;
    case 'normal':
      return network.meanMs;
    case 'measured': {
      const messages = network.profile.phases.flatMap((phase) => phase.messages);
      const own = messages.filter((one) => one.type === type);
      // Weighted as the network draws them.
      const all = (own.length > 0 ? own : messages).flatMap(({ ms }) => ms);
      return meanOf(all);
    }
  }
}
