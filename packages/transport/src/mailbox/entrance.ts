import { setTimeout as delay } from 'node:timers/promises';
import { type Millis, type Role, untilNextPeriod } from '@goshawk/core';
import { Fuse, heapMax, memoryReader, threadsAlive } from './fuse.js';
import type { Attendance } from './inlet.js';
import type { Listener } from './listen.js';
import type { Reading } from './receive.js';

/** The routing id, and a frame. */
const WHOLE_PARTS = 2;
const REOPEN_PAUSE_MS = 50;

/**
 * Receives on inbound connections. Closes all of them if they use memory without limit or a peer sends multipart messages; peers
 * then reconnect.
 */
export class Entrance {
  readonly #listener: Listener;
  readonly #attendance: Omit<Attendance, 'reading'>;
  readonly #reading: Reading = { isIdle: false };
  /** Resolves once the socket was closed and the endpoint is free again. */
  #isFreed: Promise<void> = Promise.resolve();
  #isCutting = false;
  #isGuarded = false;
  #isClosing = false;
  #fuseTimer: NodeJS.Timeout | undefined;

  /** @param role of this process; undefined: its memory is not monitored */
  constructor(listener: Listener, role: Role | undefined, attendance: Omit<Attendance, 'reading'>) {
    this.#listener = listener;
    this.#attendance = attendance;
    this.#attend();
    if (role !== undefined) this.#watchMemory(role);
  }

  /** Closes all inbound connections. The socket reopens with the current keys. */
  cut(): void {
    if (!this.#isCutting && !this.#isClosing) void this.#cut(0);
  }

  /** Disables `cut` before closing. */
  cutNoMore(): void {
    this.#isClosing = true;
    clearTimeout(this.#fuseTimer);
  }

  /** @returns when the endpoint is free */
  async close(flushMs: Millis): Promise<void> {
    this.#listener.inlet.close(flushMs);
    await this.#isFreed;
  }

  #attend(): void {
    const { receiver } = this.#attendance;
    this.#isFreed = this.#listener.inlet.attend({
      ...this.#attendance,
      receiver: (received) => {
        if (received.length > WHOLE_PARTS) this.#setGuard();
        return receiver(received);
      },
      reading: this.#reading,
    });
  }

  /** A peer sends multipart messages: close all connections, and proxy the next ones. */
  #setGuard(): void {
    if (this.#isGuarded || !this.#listener.canBeGuarded) return;
    this.#isGuarded = true;
    const { counters, log } = this.#attendance;
    log.warn('', 'guard', 'a peer sends multipart messages: from now on a proxy checks all incoming frames');
    if (this.#isCutting || this.#isClosing) return;
    counters.cuts++;
    void this.#cut(0);
  }

  #watchMemory(role: Role): void {
    const memory = memoryReader();
    if (memory === undefined) return;
    const { counters, log } = this.#attendance;
    const fuse = new Fuse(heapMax());
    // Tasks of a worker may use memory in threads, which is indistinguishable from that of connections.
    const isObscured = (): boolean => role === 'worker' && threadsAlive() > 0;
    isObscured();
    const look = (): void => {
      const { isIdle } = this.#reading;
      if (isObscured()) return fuse.settled(memory());
      const shutMs = this.#isCutting ? undefined : fuse.look(memory(), isIdle, performance.now());
      if (shutMs === undefined) return;
      counters.cuts++;
      log.warn('', 'cut', 'a peer sends an endless frame: all connections to this process were closed');
      this.#isGuarded = this.#listener.canBeGuarded;
      void this.#cut(shutMs, () => fuse.settled(memory()));
    };
    const lookLater = (): void => {
      // Aligned to whole periods, like other periodic work, so that the process wakes once for all of it.
      this.#fuseTimer = setTimeout(
        () => {
          look();
          lookLater();
        },
        untilNextPeriod(fuse.pauseMs, performance.now()),
      ).unref();
    };
    lookLater();
  }

  /** @param shutMs time until peers may reconnect */
  async #cut(shutMs: Millis, settled: () => void = () => {}): Promise<void> {
    const { inlet } = this.#listener;
    this.#isCutting = true;
    inlet.close();
    // These timers keep the process alive: while it does not listen, nothing else may.
    await Promise.all([this.#isFreed, delay(shutMs)]);
    settled();
    while (!this.#isClosing) {
      try {
        await this.#listener.reopen(this.#isGuarded);
        if (this.#isClosing) this.#listener.inlet.close();
        else this.#attend();
        break;
      } catch (error) {
        this.#attendance.log.warn('', 'reopen', `cannot listen again: ${(error as Error).message}`);
        await delay(REOPEN_PAUSE_MS);
      }
    }
    this.#isCutting = false;
  }
}
