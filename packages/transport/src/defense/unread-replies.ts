import { readFileSync } from 'node:fs';
import type { Millis } from '@goshawk/core';
import { readTimeMs } from './unread-connections.js';

/** Bytes of replies above which the system's queues are read at once instead of at intervals. */
const HURRY_SHARE = 1 / 4;
const SAMPLE_MS: Millis = 2_000;
const HURRIED_SAMPLE_MS: Millis = 20;
/** Sampling takes at most this fraction of the time. */
const SAMPLE_LOAD = 1 / 20;
/** Fewer unread bytes are not worth a look. */
const IGNORED_BYTES = 1024 * 1024;
/** Replies wait for this time at the limit before their readers count as not reading. */
const FULL_MS: Millis = 500;
/** Replies up to this size pass until twice the limit, so that a few clients with large ones do not delay all others. */
const SMALL_BYTES = 64 * 1024;

/** Undelivered bytes of a connection that may just be on their way. */
const IN_FLIGHT_BYTES = 16 * 1024;

const ESTABLISHED = '01';
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/** Bytes that the system has not delivered, by the address and port of the peer in the system's notation. */
type SendQueues = ReadonlyMap<string, number>;

/** Returns the connections at a local port that have undelivered bytes; undefined if this system does not show them. */
export function sendQueues(port: number): SendQueues | undefined {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const found = new Map<string, number>();
  let isShown = false;
  for (const table of TABLES) {
    let text: string;
    try {
      text = readFileSync(table, 'latin1');
    } catch {
      continue;
    }
    isShown = true;
    for (const line of text.split('\n')) {
      if (!line.includes(local)) continue;
      const [, own = '', peer = '', state, queues = ''] = line.trim().split(/\s+/);
      const bytes = Number.parseInt(queues, 16);
      if (own.endsWith(local) && state === ESTABLISHED && bytes > 0) found.set(peer, bytes);
    }
  }
  return isShown ? found : undefined;
}

/**
 * Bounds the bytes of replies that clients have not read. ZeroMQ shows neither its queues nor their connections, so replies
 * count from when they are sent until each connection that had undelivered bytes then has had none for a moment.
 */
export class UnreadReplies {
  readonly #bytesMax: number;
  readonly #queues: () => SendQueues | undefined;
  readonly #onUnread: () => void;
  readonly #now: () => Millis;
  /** Bytes sent before the last period began, and since. */
  #before = 0;
  #since = 0;
  #beganAt: Millis;
  /** Peers that have had undelivered bytes ever since the period began; undefined before its first sample. */
  #pending: ReadonlySet<string> | undefined;
  #sampledAt: Millis = Number.NEGATIVE_INFINITY;
  #samplePauseMs: Millis = HURRIED_SAMPLE_MS;
  #fullSince: Millis | undefined;
  #isStopped = false;

  /**
   * @param queues connections with undelivered bytes; undefined if the system does not show them
   * @param onUnread called when clients do not read
   * @param now ms of a monotonic clock
   */
  constructor(
    bytesMax: number,
    queues: () => SendQueues | undefined,
    onUnread: () => void,
    now: () => Millis = () => performance.now(),
  ) {
    this.#bytesMax = bytesMax;
    this.#queues = queues;
    this.#onUnread = onUnread;
    this.#now = now;
    this.#beganAt = now();
  }

  get bytes(): number {
    return this.#before + this.#since;
  }

  sent(bytes: number): void {
    this.#since += bytes;
  }

  /** Returns whether replies must wait, because those sent before are unread. Call it at intervals, too. */
  isFull(reply = 0): boolean {
    if (this.#isStopped || this.bytes < IGNORED_BYTES) return false;
    const now = this.#now();
    const isHurried = this.bytes >= this.#bytesMax * HURRY_SHARE;
    const pauseMs = Math.max(isHurried ? HURRIED_SAMPLE_MS : SAMPLE_MS, this.#samplePauseMs);
    if (now >= this.#sampledAt + pauseMs) this.#sample(now);
    if (this.bytes < this.#bytesMax) {
      this.#fullSince = undefined;
      return false;
    }
    this.#fullSince ??= now;
    if (now - this.#fullSince >= FULL_MS) this.#tell(now);
    return reply > SMALL_BYTES || this.bytes >= 2 * this.#bytesMax;
  }

  /** Stops to bound replies, because a proxy does. */
  stop(): void {
    this.#isStopped = true;
  }

  #sample(now: Millis): void {
    const queues = this.#queues();
    this.#sampledAt = now;
    this.#samplePauseMs = (this.#now() - now) / SAMPLE_LOAD;
    // Without the system's help, replies count as read after the time in which they should be.
    if (queues === undefined) {
      if (now - this.#beganAt >= readTimeMs(0)) this.#begin(now, undefined);
      return;
    }
    const busy = new Set([...queues].flatMap(([peer, bytes]) => (bytes > IN_FLIGHT_BYTES ? [peer] : [])));
    const pending = this.#pending;
    if (pending === undefined) return this.#begin(now, busy);
    const left = new Set([...pending].filter((peer) => busy.has(peer)));
    if (left.size === 0) return this.#begin(now, busy);
    this.#pending = left;
    if (now - this.#beganAt >= readTimeMs(this.#before)) this.#tell(now);
  }

  #begin(now: Millis, pending: ReadonlySet<string> | undefined): void {
    const isProven = this.#pending !== undefined || pending === undefined;
    this.#before = isProven ? this.#since : this.bytes;
    this.#since = 0;
    this.#beganAt = now;
    this.#pending = pending;
  }

  #tell(now: Millis): void {
    this.#before = 0;
    this.#since = 0;
    this.#beganAt = now;
    this.#pending = undefined;
    this.#fullSince = undefined;
    this.#onUnread();
  }
}
