import { randomUUID } from 'node:crypto';
import { incarnationOf, type KeyFile, keyRing, Mailbox, SILENT_LOGGER } from '@goshawk/transport';
import { Packr, Unpackr } from 'msgpackr';

import { Dealer, Router } from 'zeromq';
import { type Body, body, KIND } from './mailbox-body.js';

/** A channel to another process, as the measurements use it. */
export interface Wire {
  /** Resolves when the answer to one body has arrived. */
  ask(task: number): Promise<void>;
  /** Sends this many bodies in one turn of the event loop; resolves at the end of the turn. */
  tell(from: number, bodies: number): Promise<void>;
  /** Announces the number of one-way bodies. */
  start(bodies: number): Promise<void>;
  close(): Promise<void>;
}

/** Handles a message in the other process. */
type Answer = (received: Body, reply: (answer: Body) => void) => void;

const PARTY = 0;
/** Maximum number of bodies in flight; less than the capacity of one peer's outbox. */
const WINDOW = 100_000;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Goshawk's mailbox, with its defaults; encrypted when there are keys. */
export async function openMailboxWire(peer: string, keys?: KeyFile): Promise<Wire> {
  const mailbox = await openMailbox(keys);
  const to = mailbox.directory.intern(`${peer}/${PARTY}`);
  let counted = 0;
  let wake = () => {};
  mailbox.register(PARTY, (_, received) => {
    const [kind, , task] = received as Body;
    if (kind === KIND.counted) counted = task;
    wake();
  });
  const send = (message: Body): void => {
    const result = mailbox.send(PARTY, to, message);
    if (result !== 'accepted') throw new Error(`the mailbox dropped a message of the bench: ${result}`);
  };
  const woken = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  return {
    ask: (task) => {
      send(body(KIND.ask, task));
      return woken();
    },
    start: async (bodies) => {
      counted = 0;
      send(body(KIND.start, bodies));
    },
    tell: async (from, bodies) => {
      for (let task = from; task < from + bodies; task++) send(body(KIND.tell, task));
      await nextTurn();
      while (from - counted > WINDOW) await woken();
    },
    close: () => mailbox.close(),
  };
}

/** @returns the name of the process, for `openMailboxWire`. */
export async function answerByMailbox(answer: Answer, keys?: KeyFile): Promise<string> {
  const mailbox = await openMailbox(keys);
  mailbox.register(PARTY, (from, received) => {
    answer(received as Body, (reply) => mailbox.send(PARTY, from, reply));
  });
  return mailbox.process;
}

function openMailbox(file: KeyFile | undefined): Promise<Mailbox> {
  return Mailbox.open({
    bind: 'tcp://127.0.0.1:0',
    incarnation: incarnationOf(file?.role ?? 'worker', randomUUID()),
    logger: SILENT_LOGGER,
    ...(file && { keys: keyRing(file, 'bench') }),
  });
}

/**
 * The baseline: the same sockets and a fast MessagePack library, without names, checks, or bounds other than those of
 * ZeroMQ. The messages of one turn are one array.
 */
export async function openRawWire(endpoint: string): Promise<Wire> {
  const packr = new Packr({ useRecords: false });
  const unpackr = new Unpackr({ useRecords: false });
  const dealer = new Dealer({ linger: 0 });
  dealer.connect(endpoint);
  return {
    ask: async (task) => {
      await dealer.send(packr.pack([body(KIND.ask, task)]));
      const [answer] = await dealer.receive();
      unpackr.unpack(answer as Buffer);
    },
    start: (bodies) => dealer.send(packr.pack([body(KIND.start, bodies)])),
    tell: async (from, bodies) => {
      const frame: Body[] = [];
      for (let task = from; task < from + bodies; task++) frame.push(body(KIND.tell, task));
      await dealer.send(packr.pack(frame));
      await nextTurn();
    },
    close: async () => dealer.close(),
  };
}

/** @returns the endpoint, for `openRawWire`. */
export async function answerRaw(answer: Answer): Promise<string> {
  const packr = new Packr({ useRecords: false });
  const unpackr = new Unpackr({ useRecords: false });
  const router = new Router({ linger: 0 });
  await router.bind('tcp://127.0.0.1:0');
  void (async () => {
    while (!router.closed) {
      const [client, frame] = await router.receive();
      for (const received of unpackr.unpack(frame as Buffer) as Body[]) {
        answer(received, (reply) => {
          if (reply[0] === KIND.ask) void router.send([client as Buffer, packr.pack([reply])]);
        });
      }
    }
  })();
  return router.lastEndpoint as string;
}
