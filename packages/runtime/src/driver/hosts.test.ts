import {
  type Address,
  type Environment,
  type InvariantError,
  type Machine,
  MESSAGE_TYPES,
  MESSAGES,
  type Message,
  NO_RESOURCES,
  type Role,
} from '@goshawk/core';
import { SleepExecutor } from '@goshawk/executors';
import { Codec, Mailbox, SILENT_LOGGER } from '@goshawk/transport';
import { messageOfType } from '@goshawk/transport/testing';
import { Worker } from '@goshawk/worker';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { Host } from './host.js';
import { addWorker } from './worker-port.js';

/** The parts of a process, used twice here with ZeroMQ between them. */
interface Site {
  readonly mailbox: Mailbox;
  readonly host: Host;
  readonly fatal: InvariantError[];
}

const sites: Site[] = [];

async function openSite(incarnation: string): Promise<Site> {
  const mailbox = await Mailbox.open({ bind: 'tcp://127.0.0.1:0', incarnation, logger: SILENT_LOGGER });
  const fatal: InvariantError[] = [];
  const host = new Host({
    mailbox,
    names: mailbox.directory,
    seed: 1,
    logger: SILENT_LOGGER,
    onFatal: (error) => fatal.push(error),
  });
  const site = { mailbox, host, fatal };
  sites.push(site);
  return site;
}

/** The address of a party of one site, as the other one knows it. */
function addressAt(site: Site, of: Site, index: number): Address {
  const name = of.mailbox.directory.nameOf(of.mailbox.addressOf(index)) as string;
  return site.mailbox.directory.intern(name);
}

/** A machine that passes all its messages to a function. */
class Listener implements Machine {
  readonly environment: Environment;
  readonly #hear: (from: Address, message: Message) => void;

  constructor(environment: Environment, hear: (from: Address, message: Message) => void) {
    this.environment = environment;
    this.#hear = hear;
  }

  receive(from: Address, message: Message): void {
    this.#hear(from, message);
  }

  start(): void {}
  wake(): void {}
  checkInvariants(): void {}
}

afterEach(async () => {
  for (const { mailbox, host } of sites.splice(0)) {
    host.close();
    await mailbox.close();
  }
});

test('two hosts exchange messages of every type, in order, each in its declared direction', async () => {
  const here = await openSite('here');
  const there = await openSite('there');
  const roles: readonly Role[] = ['client', 'scheduler', 'central', 'worker'];
  const listen = (site: Site, hear: (message: Message) => void) =>
    roles.map(
      (role, index) =>
        site.host.add({ index, name: role, role }, (env) => new Listener(env, (_, m) => hear(m))).machine,
    );
  const senders = listen(here, () => {});

  const sent = MESSAGE_TYPES.flatMap((type, seed) =>
    fc.sample(messageOfType(type, [addressAt(here, there, 0), here.mailbox.addressOf(1)]), {
      numRuns: 20,
      seed,
    }),
  );
  const received: Message[] = [];
  await new Promise<void>((resolve) => {
    listen(there, (message) => {
      if (received.push(message) === sent.length) resolve();
    });
    for (const message of sent) {
      const { from, to } = MESSAGES[message.type];
      const receiver = addressAt(here, there, roles.indexOf(to[0]!));
      senders[roles.indexOf(from[0]!)]!.environment.send(receiver, message);
    }
  });

  // The two hosts use different handles for a party, so the test compares names.
  const ours = new Codec(here.mailbox.directory);
  const theirs = new Codec(there.mailbox.directory);
  const key = (type: string) => MESSAGE_TYPES.indexOf(type as Message['type']);
  const inOrder = received.toSorted((a, b) => key(a.type) - key(b.type));
  expect(inOrder.map((message) => theirs.encode(message))).toEqual(
    sent.map((message) => ours.encode(message)),
  );
  const counted = Object.values(there.host.counters());
  expect(counted.map(({ refused }) => refused)).toEqual([0, 0, 0, 0]);
  expect(counted.flatMap(({ received }) => Object.values(received))).toEqual(MESSAGE_TYPES.map(() => 20));
});

test('a worker in one process runs a task for an owner in another', async () => {
  const near = await openSite('near');
  const far = await openSite('far');
  const executor = new SleepExecutor();
  const options = { index: 7, name: 'worker-7', executor, onDrained: () => {} };
  addWorker(
    far.host,
    options,
    (environment) =>
      new Worker(
        {
          name: 'worker-7',
          self: far.mailbox.addressOf(7),
          slots: 1,
          capacity: NO_RESOURCES,
          central: addressAt(far, near, 9),
          registerRetryMs: 0,
        },
        environment,
      ),
  );

  const worker = addressAt(near, far, 7);
  const ended = await new Promise<Message>((resolve) => {
    const { machine: owner } = near.host.add(
      { index: 0, name: 'owner', role: 'scheduler' },
      (environment) => {
        return new Listener(environment, (from, message) => {
          if (message.type === 'ended') resolve(message);
          if (message.type !== 'ask') return;
          expect(from).toBe(worker);
          environment.send(from, {
            type: 'run',
            ask: message.ask,
            match: 0,
            job: message.job,
            stage: 0,
            task: 4,
            attempt: 1,
            payload: { sleep: 5 },
            jobId: 'a-1',
            long: false,
            demand: {},
            timeoutMs: undefined,
            apartMs: undefined,
            expectedMs: undefined,
            execution: undefined,
            inputs: undefined,
            gang: undefined,
            user: undefined,
          });
        });
      },
    );
    owner.environment.send(worker, {
      type: 'probe',
      job: 3,
      stage: 0,
      long: false,
      lane: 'normal',
      demand: NO_RESOURCES,
      sizeMs: 0,
      requires: undefined,
    });
  });

  expect(ended).toMatchObject({ type: 'ended', job: 3, task: 4, attempt: 1, outcome: { kind: 'completed' } });
  expect(far.fatal).toEqual([]);
  expect(far.host.counters()['worker-7']).toMatchObject({ received: { probe: 1, run: 1 }, refused: 0 });
  await executor.close();
});
