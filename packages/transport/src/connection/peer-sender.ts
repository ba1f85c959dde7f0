import { setTimeout as delay } from 'node:timers/promises';
import { count, type MailboxCounters, type Traffic } from '../counters.js';
import type { PackedFrame } from '../frames/frame.js';
import type { MailboxLimits } from '../limits.js';
import type { ThrottledLog } from '../log.js';
import type { Connection } from './connection.js';
import type { Outbox, Refusal } from './outbox.js';

interface PeerSenderParts {
  /** Name of the peer in logs and reports. */
  readonly peer: string;
  readonly outbox: Outbox;
  readonly connection: Connection;
  /** Counters of sent messages. */
  readonly traffic: Traffic;
  /** Superseded incarnations of the peer, as a live view. */
  readonly retired: ReadonlyMap<string, unknown>;
}

/** Reason why a message was not accepted. */
type SendRefusal = Refusal | typeof SUPERSEDED | typeof UNREACHABLE;

const SUPERSEDED = { reason: 'superseded' } as const;
const UNREACHABLE = { reason: 'unreachable' } as const;

interface PeerSenderContext {
  readonly limits: MailboxLimits;
  readonly counters: MailboxCounters;
  readonly log: ThrottledLog;
}

/**
 * The send path to one peer process: an outbox and a loop that empties it, one frame at a time.
 *
 * The loop starts at the end of a turn of the event loop, so the messages of one turn share a frame if they fit.
 * Messages collect in the next frame while one is in flight. A slower peer thus gets larger frames, and batching
 * needs no timer or setting.
 */
export class PeerSender {
  /** Whether `flush` must be called at the end of this turn. */
  isDue = false;
  lastUsedMs = performance.now();
  readonly peer: string;
  readonly #outbox: Outbox;
  readonly #connection: Connection;
  readonly #traffic: Traffic;
  readonly #context: PeerSenderContext;
  #isPumping = false;
  #isClosed = false;
  /** Whether the frame in flight is to be dropped. */
  #isShed = false;
  #retired: ReadonlyMap<string, unknown>;
  #overflowed = 0;
  #onDrained: (() => void) | undefined;

  constructor({ peer, outbox, connection, traffic, retired }: PeerSenderParts, context: PeerSenderContext) {
    this.peer = peer;
    this.#outbox = outbox;
    this.#connection = connection;
    this.#traffic = traffic;
    this.#retired = retired;
    this.#context = context;
  }

  get isIdle(): boolean {
    return this.#outbox.isEmpty && !this.#isPumping && !this.isDue;
  }

  /** Whether the connection is not established; false if it is not monitored. */
  get isBroken(): boolean {
    return this.#connection.isEstablished === false;
  }

  /** Bytes of queued messages. */
  get bytes(): number {
    return this.#outbox.bytes;
  }

  /** Whether messages wait for a connection. */
  get hasBacklog(): boolean {
    return !this.isIdle && this.isBroken;
  }

  add(target: string, from: number, to: number, body: unknown): SendRefusal | undefined {
    if (this.#retired.has(target)) return SUPERSEDED;
    if (this.#connection.isRejected === true) return UNREACHABLE;
    const refusal = this.#outbox.add(target, from, to, body);
    if (refusal !== undefined && refusal.reason === 'overflow') this.#overflowed++;
    return refusal;
  }

  /** Starts sending at the end of a turn. */
  flush(nowMs: number): void {
    this.isDue = false;
    this.lastUsedMs = nowMs;
    if (this.#overflowed > 0) {
      const messages = this.#overflowed;
      this.#overflowed = 0;
      this.#logOverflow(messages);
    }
    if (!this.#isPumping && !this.#outbox.isEmpty) void this.#pump();
  }

  /**
   * Drops messages for superseded incarnations, because another one is now at the endpoint.
   *
   * @param retired superseded incarnations, as a live view
   */
  supersede(retired: ReadonlyMap<string, unknown>): void {
    this.#retired = retired;
    this.#context.counters.dropped.superseded += this.#outbox.discard((target) => !retired.has(target));
  }

  /** Drops all queued messages, because their peer does not read and others need the room. */
  shed(): void {
    this.#isShed = this.#isPumping;
    const dropped = this.#outbox.discard();
    this.#context.counters.dropped.overflow += dropped;
    this.#logOverflow(Math.max(1, dropped));
  }

  /** Resolves once the queue is empty. */
  drained(): Promise<void> {
    if (this.#outbox.isEmpty) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained = resolve;
    });
  }

  /** Reconnects with the current keys. */
  rekey(): void {
    this.#connection.rekey?.();
  }

  close(lingerMs: number): void {
    this.#isClosed = true;
    this.#context.counters.dropped.closed += this.#outbox.discard();
    this.#connection.close(lingerMs);
  }

  #logOverflow(messages: number): void {
    const message = `${this.peer} does not read its messages; messages to it are dropped`;
    this.#context.log.warn(this.peer, 'overflow', message, { messages });
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    // If messages were added in this turn, its end restarts the loop with all of them.
    while (!this.isDue && !this.#isClosed) {
      const frame = this.#outbox.next();
      if (frame === undefined) break;
      await this.#transmit(frame);
    }
    this.#isPumping = false;
    if (this.#outbox.isEmpty) this.#onDrained?.();
  }

  async #transmit(frame: PackedFrame): Promise<void> {
    const { counters, limits } = this.#context;
    let transmission = await this.#connection.transmit(frame);
    while (transmission === 'full' && !this.#isClosed && !this.#isShed) {
      await delay(limits.replyRetryMs, undefined, { ref: false });
      transmission = await this.#connection.transmit(frame);
    }
    this.#outbox.settle(frame);
    const isShed = this.#isShed;
    this.#isShed = false;
    if (transmission === 'sent') {
      count(this.#traffic, { messages: frame.messages, bytes: frame.bytes.length });
    } else if (isShed) {
      counters.dropped.overflow += frame.messages;
    } else if (this.#isClosed) {
      counters.dropped.closed += frame.messages;
    } else {
      counters.dropped.unreachable += frame.messages + this.#outbox.discard();
    }
  }
}
