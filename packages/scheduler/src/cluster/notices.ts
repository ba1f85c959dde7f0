import { type Address, LIMITS, type MessageOf, type Millis, type NoticeKind } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';

type Notice = MessageOf<'notices'>['notices'][number];

/** Number of notices that wait for central; the oldest are dropped. */
const PENDING_MAX = 1_000;

/** Events that only this scheduler knows, until central has stored them. */
export class Notices {
  readonly #env: SchedulerEnvironment;
  readonly #wallOffsetMs: Millis;
  #pending: Notice[] = [];
  #last = 0;

  constructor(env: SchedulerEnvironment, wallOffsetMs: Millis) {
    this.#env = env;
    this.#wallOffsetMs = wallOffsetMs;
  }

  /** @param at when it happened, by the owner's clock */
  add(kind: NoticeKind, text: string, at: Millis): void {
    const line = text.slice(0, LIMITS.noticeCharactersMax);
    this.#pending.push({ number: ++this.#last, at: Math.round(at + this.#wallOffsetMs), kind, text: line });
    if (this.#pending.length > PENDING_MAX) this.#pending.shift();
  }

  /** Sends the oldest notices with each heartbeat until central has stored them. */
  report(central: Address): void {
    if (this.#pending.length === 0) return;
    this.#env.send(central, {
      type: 'notices',
      notices: this.#pending.slice(0, LIMITS.noticesPerMessageMax),
    });
  }

  stored({ number }: MessageOf<'noticesStored'>): void {
    this.#pending = this.#pending.filter((notice) => notice.number > number);
  }
}
