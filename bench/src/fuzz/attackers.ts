import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MESSAGE_TYPES, MESSAGES, type MessageType, type Random } from '@goshawk/core';
import { clientEndpoint, type KeyRing, SignedIdentification } from '@goshawk/transport';
import { Dealer } from 'zeromq';
import type { Target } from '../real-cluster.js';
import type { Inputs } from './inputs.js';

/** An attacker that sends inputs to a target. */
export interface Attacker {
  readonly name: string;
  /** Its share of all inputs, in thousandths. */
  readonly share: number;
  /** Sends this many inputs. */
  attack(target: Target, inputs: number): Promise<void>;
  close(): void;
}

/** Excludes requests that change something, which would be work for the cluster, not noise. */
const HARMLESS: readonly MessageType[] = MESSAGE_TYPES.filter(
  (type) => (MESSAGES[type].from as readonly string[]).includes('client') && type !== 'drainWorker',
);

interface ClientBehavior {
  /** Whether answers are read. */
  readonly reads?: boolean;
  /** Number of inputs after which it disconnects and returns under another name. */
  readonly inputsPerClient?: number;
}

/**
 * Sends frames over ZeroMQ connections. libzmq 4.3.5 may abort a process whose peer disconnects amid a multipart
 * message (`session_base.cpp:233`). Only this process is at risk, because messages of daemons have one part.
 */
export class FrameAttacker implements Attacker {
  readonly name: string;
  readonly share: number;
  readonly #make: () => Buffer | Buffer[];
  readonly #identity: (target: Target) => Identity;
  readonly #reads: boolean;
  readonly #inputsPerClient: number;
  readonly #sockets = new Map<string, Dealer>();

  /** @param identity of all its connections; each reconnection uses a new name */
  constructor(
    name: string,
    share: number,
    identity: (target: Target) => Identity,
    make: () => Buffer | Buffer[],
    { reads = true, inputsPerClient = Number.POSITIVE_INFINITY }: ClientBehavior = {},
  ) {
    this.name = name;
    this.share = share;
    this.#identity = identity;
    this.#make = make;
    this.#reads = reads;
    this.#inputsPerClient = inputsPerClient;
  }

  async attack(target: Target, inputs: number): Promise<void> {
    for (let left = inputs; left > 0; left -= this.#inputsPerClient) {
      const socket = this.#socketTo(target);
      for (let i = 0; i < Math.min(left, this.#inputsPerClient); i++) await this.#send(socket);
      if (this.#reads) await drain(socket);
      if (this.#inputsPerClient < inputs) this.#leave(target);
    }
  }

  close(): void {
    for (const socket of this.#sockets.values()) socket.close();
  }

  /** Drops messages that cannot be sent: a peer that never reads eventually blocks its senders. */
  async #send(socket: Dealer): Promise<void> {
    try {
      await socket.send(this.#make());
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }

  #leave(target: Target): void {
    this.#sockets.get(target.endpoint)?.close();
    this.#sockets.delete(target.endpoint);
  }

  #socketTo(target: Target): Dealer {
    const known = this.#sockets.get(target.endpoint);
    if (known !== undefined) return known;
    const identity = this.#identity(target);
    const socket = new Dealer({
      linger: this.#inputsPerClient < Number.POSITIVE_INFINITY ? LEAVING_MS : 0,
      sendHighWaterMark: 256,
      sendTimeout: this.#reads ? -1 : 0,
      ...(this.#reads ? {} : { receiveHighWaterMark: 1 }),
      ...identity,
    });
    socket.connect(target.endpoint);
    this.#sockets.set(target.endpoint, socket);
    return socket;
  }
}

/** A closing client lingers this long to send what it has queued. */
const LEAVING_MS = 1_000;

/** Reads answers, so that a full connection does not end the attack. */
async function drain(socket: Dealer): Promise<void> {
  socket.receiveTimeout = 0;
  for (;;) {
    try {
      await socket.receive();
    } catch {
      return;
    }
  }
}

interface Identity {
  readonly routingId: string;
  readonly curvePublicKey?: string;
  readonly curveSecretKey?: string;
  readonly curveServerKey?: string;
}

/** Identifies as an SDK client. */
export function clientIdentity(id: string, ring: KeyRing | undefined): (target: Target) => Identity {
  const endpoint = clientEndpoint(id);
  const process = `${endpoint}!${id}`;
  return ({ role, endpoint: to }) => {
    if (ring === undefined) return { routingId: process };
    const [way] = new SignedIdentification(process, endpoint, ring).dialOptionsFor({ endpoint: to, role });
    return { routingId: way!.routingId, ...way!.curve! };
  };
}

/** Identifies as an SDK client, with a new name each time. */
export function newClients(ring: KeyRing | undefined): (target: Target) => Identity {
  let number = 0;
  return (target) => clientIdentity(`client${++number}`, ring)(target);
}

/** Identifies with a client's key and the name of another party. */
export function impostorIdentity(ring: KeyRing): (target: Target) => Identity {
  const client = clientIdentity('impostor', ring);
  return (target) => ({ ...client(target), routingId: `tcp://127.0.0.1:1!w.impostor#${'A'.repeat(86)}` });
}

export function frameMakers(
  random: Random,
  inputs: Inputs,
): Record<'garbage' | 'mutated' | 'sound' | 'replayed', () => Buffer> {
  const corpus = Array.from({ length: 512 }, () => inputs.frame());
  const requests = Array.from({ length: 256 }, () => inputs.frame(HARMLESS));
  const pick = (of: readonly Buffer[]) => of[Math.floor(random.next() * of.length)]!;
  return {
    garbage: () => inputs.bytes(64),
    mutated: () => inputs.mutated(pick(corpus)),
    sound: () => pick(corpus),
    // Replays the same few frames.
    replayed: () => pick(requests.slice(0, 16)),
  };
}

/** Sends bytes over plain TCP, to the ZeroMQ sockets or to the HTTP server. */
export class TcpAttacker implements Attacker {
  readonly name: string;
  readonly share: number;
  readonly #port: (target: Target) => number;
  readonly #make: () => Buffer;
  readonly #perConnection: number;

  constructor(
    name: string,
    share: number,
    port: (target: Target) => number,
    make: () => Buffer,
    perConnection: number,
  ) {
    this.name = name;
    this.share = share;
    this.#port = port;
    this.#make = make;
    this.#perConnection = perConnection;
  }

  async attack(target: Target, inputs: number): Promise<void> {
    for (let left = inputs; left > 0; left -= this.#perConnection) {
      const batch = Array.from({ length: Math.min(left, this.#perConnection) }, () => this.#make());
      await this.#throwAll(this.#port(target), Buffer.concat(batch));
      await nextTurn();
    }
  }

  close(): void {}

  #throwAll(port: number, bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1');
      const done = (): void => {
        socket.destroy();
        resolve();
      };
      socket.on('error', done).on('close', done);
      socket.on('data', () => {});
      socket.end(bytes, () => setTimeout(done, 1));
    });
  }
}

const GREETING = Buffer.from('ff00000000000000017f0300', 'hex');
const PATHS = [
  '/livez',
  '/readyz',
  '/metrics',
  '/status',
  '/',
  '/../../etc/passwd',
  '/%00',
  '/metrics?x=%ff',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'GE T', '\0'];
const HEADERS = [
  'host: x',
  'host: localhost',
  'content-length: 99999',
  'transfer-encoding: chunked',
  'authorization: Bearer x',
  'x: y',
];

/** Starts a ZeroMQ handshake, then sends random bytes. */
export function zmtpMaker(random: Random, inputs: Inputs): () => Buffer {
  return () => {
    const start = Math.floor(random.next() * 3);
    if (start === 0) return inputs.bytes(200);
    const mechanism = Buffer.alloc(52);
    mechanism.write(start === 1 ? 'CURVE' : 'NULL');
    return Buffer.concat([GREETING.subarray(0, 11), mechanism, inputs.bytes(200)]);
  };
}

export function httpMaker(random: Random, inputs: Inputs): () => Buffer {
  const pick = (of: readonly string[]) => of[Math.floor(random.next() * of.length)]!;
  return () => {
    const request = `${pick(METHODS)} ${pick(PATHS)} HTTP/1.1\r\n${pick(HEADERS)}\r\n${pick(HEADERS)}\r\n\r\n`;
    const kind = Math.floor(random.next() * 3);
    if (kind === 0) return inputs.bytes(200);
    return kind === 1 ? Buffer.from(request) : inputs.mutated(Buffer.from(request));
  };
}
