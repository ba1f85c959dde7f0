import { LIVE_TIMINGS, type Message, type Role } from '@goshawk/core';
import { Codec } from '@goshawk/transport';
import { Draw } from '../drawing/draw.js';
import { drawSettings } from '../drawing/settings.js';
import { type Party, SteppedCluster } from '../stepped/stepped-cluster.js';
import { HostileMessages } from './hostile.js';

const STEPS = 200;

const WIRE = new Codec({
  intern: () => {
    throw new Error('nothing is decoded here');
  },
  nameOf: (address) => `party ${address}`,
});

/**
 * Sends arbitrary messages between parties while the cluster runs. Each step checks invariants, and that replies of
 * machines can be encoded.
 *
 * @throws any error of a machine
 */
export function playHostile(seed: string, role: Role): void {
  const draw = new Draw(seed);
  const settings = { ...drawSettings(draw, ['given', 'pilot']), timings: LIVE_TIMINGS };
  const observer = {
    sent: (_: Party, __: unknown, message: Message) => {
      // No machine submits.
      if (message.type !== 'submit') WIRE.encode(message);
    },
  };
  const cluster = new SteppedCluster({ settings, seed, observer });
  const messages = new HostileMessages(draw, () => [...cluster.parties.keys()]);
  cluster.addCentral();
  for (const name of ['s1', 's2']) cluster.addScheduler(name);
  for (const name of ['w1', 'w2', 'w3']) cluster.addWorker(name, 2, { cpu: 2, memory: 1e9 });
  cluster.addClient('c1');
  for (let step = 0; step < STEPS; step++) {
    // The processes of the cluster join first.
    if (step > 20 && draw.chance(0.5)) {
      const from = draw.pick(cluster.alive(role));
      const to = draw.pick([...cluster.parties.values()].filter((party) => party !== from));
      const message = messages.message(role, to.role);
      if (message !== undefined) cluster.sendAs(from, to, message);
    } else if (draw.chance(0.5)) cluster.happenNext();
    cluster.deliverAll(() => draw.chance(0.8));
  }
  cluster.close();
}
