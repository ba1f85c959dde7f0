import { setTimeout as delay } from 'node:timers/promises';
import { type Millis, type Role, untilNextPeriod } from '@goshawk/core';
import { heapMax, MemoryBreaker, memoryReader, threadsAlive } from '../defense/memory-breaker.js';
import type { Reading } from '../sockets/receive.js';
import type { SocketReader } from '../sockets/router-socket.js';
import type { Listener } from './listen.js';

/** Parts of a valid message: the routing id and a frame. */
const WHOLE_PARTS = 2;
const REOPEN_PAUSE_MS = 50;

/**
 * Receives on inbound connections. Closes all of them if they use too much memory or a peer sends multipart messages.
 * Peers then reconnect.
 */
export class Inbound {
  readonly #listener: Listener;
  readonly #reader: Omit<SocketReader, 'reading'>;
  readonly #reading: Reading = { isIdle: false };
  /** Resolves once the socket is closed and the endpoint is free again. */
  #isFreed: Promise<void> = Promise.resolve();
  #isCutting = false;
  #isProxied = false;
  #isClosing = false;
  #breakerTimer: NodeJS.Timeout | undefined;

  /** @param role role of this process; if undefined, memory is not monitored */
  constructor(listener: Listener, role: Role | undefined, reader: Omit<SocketReader, 'reading'>) {
    this.#listener = listener;
    this.#reader = reader;
    this.#serve();
    if (role !== undefined) this.#watchMemory(role);
  }

  /** Closes all inbound connections. The socket reopens with the current keys. */
  cut(): void {
    if (!this.#isCutting && !this.#isClosing) void this.#cut(0);
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
        if (received.length > WHOLE_PARTS) this.#setProxy();
        return receiver(received);
      },
      reading: this.#reading,
    });
  }

  /** Closes all connections and proxies new ones, because a peer sends multipart messages. */
  #setProxy(): void {
    if (this.#isProxied || !this.#listener.canBeProxied) return;
    this.#isProxied = true;
    const { counters, log } = this.#reader;
    log.warn('', 'guard', 'a peer sends multipart messages: from now on a proxy checks all incoming frames');
    if (this.#isCutting || this.#isClosing) return;
    counters.cuts++;
    void this.#cut(0);
  }

  #watchMemory(role: Role): void {
    const memory = memoryReader();
    if (memory === undefined) return;
    const { counters, log } = this.#reader;
    const breaker = new MemoryBreaker(heapMax());
    // Memory of task threads in a worker cannot be distinguished from that of connections.
    const isObscured = (): boolean => role === 'worker' && threadsAlive() > 0;
    isObscured();
    const check = (): void => {
      const { isIdle } = this.#reading;
      if (isObscured()) return breaker.reset(memory());
      const shutMs = this.#isCutting ? undefined : breaker.check(memory(), isIdle, performance.now());
      if (shutMs === undefined) return;
      counters.cuts++;
      log.warn(
        '',
        'cut',
        'a peer sends a frame that does not end: all connections to this process were closed',
      );
      this.#isProxied = this.#listener.canBeProxied;
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
        this.#reader.log.warn('', 'reopen', `cannot listen again: ${(error as Error).message}`);
        await delay(REOPEN_PAUSE_MS);
      }
    }
    this.#isCutting = false;
  }
}
