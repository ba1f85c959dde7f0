import { type Address, LIMITS, type MessageOf, type Millis, type NoticeKind, Thinning } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';

type Notice = MessageOf<'notices'>['notices'][number];

/** Number of notices that wait for central; the oldest are dropped. */
const PENDING_MAX = 1_000;

/** Events that one user has caused in this time and that are all reported. */
const OF_USER_MAX = 20;
const OF_USER_MS: Millis = 600_000;

/** Events that only this scheduler knows, until central has stored them. */
export class Notices {
  readonly #env: SchedulerEnvironment;
  readonly #wallOffsetMs: Millis;
  readonly #ofUsers = new Thinning<string | undefined>(OF_USER_MAX, OF_USER_MS);
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

  /** Adds an event that users can cause in any number. */
  addOfUser(user: string | undefined, kind: NoticeKind, text: string, at: Millis, now: Millis): void {
    const number = this.#ofUsers.count(user, now);
    if (number === undefined) return;
    this.add(kind, number === 0 ? text : `${text}; this is number ${number} in ten minutes`, at);
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
