import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { IdleConnections, type Millis } from '@goshawk/core';
import { closeUnread, type ReadConnection, type UnreadLimits } from './unread-connections.js';

/** Limits for what the clients of an HTTP server may hold. */
export interface HttpConnectionLimits extends UnreadLimits {
  /**
   * Maximum number of connections of one client that wait for it: for a request, or until it reads an answer. The one that
   * has waited longest is closed first.
   */
  readonly quietMax: number;
  /** Maximum number of requests in progress, streams included: of one client, and of all. */
  readonly requestsPerClientMax: number;
  readonly requestsMax: number;
}

const CHECK_MS: Millis = 1_000;
/** The kernel buffers no more bytes of a connection; whether the client has read them is unknown. */
const KERNEL_BYTES_MAX = 4 * 1024 * 1024;
/** The check runs early after this fraction of a client's limit was written. */
const EARLY_CHECK = 1 / 8;

class Held implements ReadConnection {
  readonly socket: Socket;
  client = '';
  /** Requests received and not yet closed. */
  requests = 0;
  /** When the client began to be waited for; undefined while an answer is in progress. */
  quietSince: Millis | undefined;
  /** Bytes written when the last request ended. */
  written = 0;
  unread: ReadConnection['unread'];

  constructor(socket: Socket) {
    this.socket = socket;
  }

  get queuedBytes(): number {
    return this.socket.writableLength;
  }

  get readBytes(): number {
    return this.socket.bytesWritten - this.socket.writableLength;
  }

  get heldBytes(): number {
    const sent = this.quietSince === undefined ? 0 : Math.min(this.readBytes, KERNEL_BYTES_MAX);
    return this.queuedBytes + sent;
  }

  destroy(): void {
    this.socket.resetAndDestroy();
  }
}

/**
 * Bounds what clients hold that do not read, send or end: connections, requests in progress and the bytes of answers. A
 * client that holds much loses its own connections, so that it delays no other.
 */
export class HttpConnections {
  readonly #limits: HttpConnectionLimits;
  readonly #held = new Map<Socket, Held>();
  /** Quiet connections by client. */
  readonly #quiet = new Map<string, IdleConnections<Held>>();
  readonly #requests = new Map<string, number>();
  #requestCount = 0;
  /** Bytes written since the last check. */
  #written = 0;
  readonly #now: () => Millis;

  /** @param now ms of a monotonic clock */
  constructor(limits: HttpConnectionLimits, now: () => Millis = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Counts the connections of a server until it is closed. */
  watch(server: Server): Server {
    const timer = setInterval(() => this.check(), CHECK_MS).unref();
    server.once('close', () => clearInterval(timer));
    server.on('connection', (socket: Socket) => this.#add(socket));
    // Before the handler, which may end the response at once.
    server.prependListener('request', (request, response) => this.#begin(request, response));
    return server;
  }

  /**
   * Counts a request for its client until its whole answer is written.
   *
   * @param client identifies its token; the empty text: it has none
   * @returns false if this client, or all of them, have too many requests in progress: refuse it
   */
  admit({ socket }: IncomingMessage, response: ServerResponse, client: string): boolean {
    const held = this.#held.get(socket);
    if (held !== undefined) this.#isFrom(held, client);
    const own = this.#requests.get(client) ?? 0;
    const { requestsMax, requestsPerClientMax } = this.#limits;
    if (own >= requestsPerClientMax || this.#requestCount >= requestsMax) return false;
    this.#requests.set(client, own + 1);
    this.#requestCount++;
    let isOpen = true;
    const release = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#requestCount--;
      const left = this.#requests.get(client)! - 1;
      if (left === 0) this.#requests.delete(client);
      else this.#requests.set(client, left);
    };
    response.once('prefinish', release).once('close', release);
    return true;
  }

  /** Closes connections whose client does not read, and those of a client that holds too many bytes. */
  check(): void {
    this.#written = 0;
    const now = this.#now();
    closeUnread(this.#held.values(), this.#limits, now);
    for (const quiet of this.#quiet.values()) quiet.trim(now);
  }

  #add(socket: Socket): void {
    const held = new Held(socket);
    this.#held.set(socket, held);
    this.#waitFor(held);
    socket.once('close', () => {
      this.#held.delete(socket);
      this.#serve(held);
    });
  }

  #begin({ socket }: IncomingMessage, response: ServerResponse): void {
    const held = this.#held.get(socket);
    if (held === undefined) return;
    held.requests++;
    this.#serve(held);
    // The whole answer is written. From now on the client is waited for, as if it were idle.
    response.once('prefinish', () => {
      if (socket.destroyed) return;
      this.#waitFor(held);
      this.#written += socket.bytesWritten - held.written;
      held.written = socket.bytesWritten;
      if (this.#written > this.#limits.unreadBytesPerClientMax * EARLY_CHECK) this.check();
    });
    response.once('close', () => {
      held.requests--;
      if (socket.destroyed) return;
      if (held.requests === 0) this.#waitFor(held);
      else this.#serve(held);
    });
  }

  #isFrom(held: Held, client: string): void {
    if (held.client === client) return;
    const isQuiet = held.quietSince !== undefined;
    this.#serve(held);
    held.client = client;
    if (isQuiet) this.#waitFor(held);
  }

  #waitFor(held: Held): void {
    const now = this.#now();
    held.quietSince = now;
    const quiet = this.#quiet.get(held.client) ?? new IdleConnections<Held>(this.#limits.quietMax);
    this.#quiet.set(held.client, quiet);
    quiet.add(held, now);
  }

  #serve(held: Held): void {
    held.quietSince = undefined;
    this.#quiet.get(held.client)?.delete(held);
  }
}
