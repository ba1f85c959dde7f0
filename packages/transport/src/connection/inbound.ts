import { setTimeout as delay } from 'node:timers/promises';
import { type Millis, type Role, untilNextPeriod } from '@goshawk/core';
import { heapMax, MemoryBreaker, memoryReader, threadsAlive } from '../defense/memory-breaker.js';
import type { UnreadReplies } from '../defense/unread-replies.js';
import type { Reading } from '../sockets/receive.js';
import type { SocketReader } from '../sockets/router-socket.js';
import type { Listener } from './listen.js';

/** Parts of a valid message: the routing id and a frame. */
const WHOLE_PARTS = 2;
const REOPEN_PAUSE_MS = 50;
/** Connections above which those of clients are counted, and two of each member. */
const CONNECTIONS_MAX = 1_024;

interface InboundReader extends Omit<SocketReader, 'reading'> {
  readonly unread: UnreadReplies;
  /** Returns the number of members of the cluster that this process knows. */
  readonly members: () => number;
}

/**
 * Receives on inbound connections. Closes all of them if they use too much memory, if a peer sends multipart messages, and
 * if clients leave messages unread or open too many connections. Peers then reconnect, to a proxy that bounds each of them.
 */
export class Inbound {
  readonly #listener: Listener;
  readonly #reader: InboundReader;
  readonly #reading: Reading = { isIdle: false };
  /** Resolves once the socket is closed and the endpoint is free again. */
  #isFreed: Promise<void> = Promise.resolve();
  #isCutting = false;
  #isProxied = false;
  #isClosing = false;
  #breakerTimer: NodeJS.Timeout | undefined;

  /** @param role role of this process; if undefined, memory is not monitored */
  constructor(listener: Listener, role: Role | undefined, reader: InboundReader) {
    this.#listener = listener;
    this.#reader = reader;
    this.#serve();
    if (role !== undefined) this.#watchMemory(role);
  }

  /** Closes all inbound connections. The socket reopens with the current keys. */
  cut(): void {
    if (!this.#isCutting && !this.#isClosing) void this.#cut(0);
  }

  /** Closes all connections and proxies new ones. */
  guard(why: string): void {
    if (this.#isProxied || this.#isClosing) return;
    const { counters, log } = this.#reader;
    this.#proxy();
    const outcome = this.#isProxied ? 'from now on a proxy checks all frames' : 'all connections were closed';
    log.warn('', 'guard', `${why}: ${outcome}`);
    if (this.#isCutting) return;
    counters.cuts++;
    void this.#cut(0);
  }

  /** New connections are proxied if they can be. The proxy bounds unread replies itself. */
  #proxy(): void {
    this.#isProxied = this.#listener.canBeProxied;
    if (this.#isProxied) this.#reader.unread.stop();
  }

  /** Disables `cut` and the memory checks. Call it before `close`. */
  disableCuts(): void {
    this.#isClosing = true;
    clearTimeout(this.#breakerTimer);
  }

  /** Closes the socket. Resolves when the endpoint is free. */
  async close(flushMs: Millis): Promise<void> {
    this.#listener.inboundSocket.close(flushMs);
    await this.#isFreed;
  }

  #serve(): void {
    const { receiver } = this.#reader;
    this.#isFreed = this.#listener.inboundSocket.serve({
      ...this.#reader,
      receiver: (received) => {
        if (received.length > WHOLE_PARTS && this.#listener.canBeProxied)
          this.guard('a peer sends multipart messages');
        return receiver(received);
      },
      reading: this.#reading,
    });
  }

  #watchMemory(role: Role): void {
    const memory = memoryReader();
    if (memory === undefined) return;
    const { counters, log } = this.#reader;
    const breaker = new MemoryBreaker(heapMax());
    // Memory of task threads in a worker cannot be distinguished from that of connections.
    const isObscured = (): boolean => role === 'worker' && threadsAlive() > 0;
    isObscured();
    const { unread, members } = this.#reader;
    const check = (): void => {
      const { isIdle, established = 0 } = this.#reading;
      unread.isFull();
      if (established > CONNECTIONS_MAX && established > CONNECTIONS_MAX + 2 * members())
        this.guard(`${established} connections`);
      if (isObscured()) return breaker.reset(memory());
      const shutMs = this.#isCutting ? undefined : breaker.check(memory(), isIdle, performance.now());
      if (shutMs === undefined) return;
      counters.cuts++;
      log.warn(
        '',
        'cut',
        'a peer sends a frame that does not end: all connections to this process were closed',
      );
      this.#proxy();
      void this.#cut(shutMs, () => breaker.reset(memory()));
    };
    const checkLater = (): void => {
      // Aligned to whole periods, like other periodic work, so that the process wakes only once per period.
      this.#breakerTimer = setTimeout(
        () => {
          check();
          checkLater();
        },
        untilNextPeriod(breaker.pauseMs, performance.now()),
      ).unref();
    };
    checkLater();
  }

  /** Closes the socket and opens it again after `shutMs`. */
  async #cut(shutMs: Millis, settled: () => void = () => {}): Promise<void> {
    const { inboundSocket } = this.#listener;
    this.#isCutting = true;
    inboundSocket.close();
    // This timer is not unref'd: without a listening socket, nothing else may keep the process alive.
    await Promise.all([this.#isFreed, delay(shutMs)]);
    settled();
    while (!this.#isClosing) {
      try {
        await this.#listener.reopen(this.#isProxied);
        if (this.#isClosing) this.#listener.inboundSocket.close();
        else this.#serve();
        break;
      } catch (error) {
        this.#listener.inboundSocket.close();
        this.#reader.log.warn('', 'reopen', `cannot listen again: ${(error as Error).message}`);
        await delay(REOPEN_PAUSE_MS);
      }
    }
    this.#isCutting = false;
  }
}
