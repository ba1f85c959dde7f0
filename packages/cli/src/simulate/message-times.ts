import type { Millis, Role } from '@goshawk/core';
import type { MessageTimes } from '@goshawk/report';
import type { NetworkModel } from '@goshawk/simulator';

/**
 * What the messages around a task take in a network: to ask for it and be told, and to say that it has ended.
 *
 * @returns means, in seconds
 */
export function messageTimesOf(network: NetworkModel): MessageTimes {
  const asking = meanMs(network, 'worker', 'scheduler');
  const binding = asking + meanMs(network, 'scheduler', 'worker');
  return { binding: binding / 1_000, news: asking / 1_000 };
}

function meanMs(network: NetworkModel, from: Role, to: Role): Millis {
  switch (network.kind) {
    case 'constant':
      return network.delayMs;
    case 'normal':
      return network.meanMs;
    case 'measured': {
      const { messages } = network.profile;
      const route = messages.filter((one) => one.from === from && one.to === to);
      const all = (route.length > 0 ? route : messages).flatMap(({ ms }) => ms);
      return all.reduce((sum, ms) => sum + ms, 0) / all.length;
    }
  }
}
