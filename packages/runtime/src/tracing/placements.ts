import type { Central } from '@goshawk/central';
import type { Address, Environment, Machine, Message, MessageOf, Millis } from '@goshawk/core';
import type { Tracing } from './spans.js';

/** Maximum number of pending requests. The oldest are dropped first, because they may never be answered. */
const PENDING_REQUESTS_MAX = 20_000;

/** Records spans of central's work, which it derives from central's messages. */
export class PlacementTracing {
  readonly #tracing: Tracing;
  /** Prefixes of job ids, by scheduler. */
  readonly #tags = new Map<Address, string>();
  /** Time of the request for workers or for a placement, by owner, job, and stage or task. */
  readonly #requestedAt = new Map<string, Millis>();
  #now: Millis = 0;
  /** Number of the next match. It makes span ids unique, even across restarts of central. */
  #nextMatch = Math.floor(performance.timeOrigin);

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  /** Wraps central's environment to observe the messages that it sends. */
  listenTo<E extends Environment<never>>(environment: E): E {
    const send = (to: Address, message: Message): void => {
      this.#sent(to, message);
      environment.send(to, message);
    };
    return { ...environment, send };
  }

  /** Wraps central to observe the messages that it receives. */
  around(central: Central): Machine<Parameters<Central['wake']>[0]> {
    return {
      start: (now) => central.start(now),
      receive: (from, message, now) => {
        this.#now = now;
        this.#received(from, message);
        central.receive(from, message, now);
      },
      wake: (timer, key, now) => {
        this.#now = now;
        central.wake(timer, key, now);
      },
      settle: (now) => {
        this.#now = now;
        central.settle(now);
      },
      checkInvariants: () => central.checkInvariants(),
    };
  }

  #received(from: Address, message: Message): void {
    switch (message.type) {
      case 'enlist':
        this.#tags.set(from, message.tag);
        return;
      case 'leave':
        this.#tags.delete(from);
        return;
      case 'need': {
        const key = `${from} need ${message.job}/${message.stage}`;
        if (message.tasks === 0) this.#requestedAt.delete(key);
        else if (!this.#requestedAt.has(key)) this.#recordRequest(key);
        return;
      }
      case 'place':
        for (const { task } of message.tasks) this.#recordRequest(`${from} place ${message.job}/${task}`);
        return;
      default:
        return;
    }
  }

  #sent(to: Address, message: Message): void {
    if (message.type === 'matched') this.#matched(to, message);
    else if (message.type === 'placed') this.#placed(to, message);
  }

  #matched(owner: Address, { job, stage, workers }: MessageOf<'matched'>): void {
    const tag = this.#tags.get(owner);
    const key = `${owner} need ${job}/${stage}`;
    const from = this.#requestedAt.get(key);
    if (tag === undefined || from === undefined) return;
    this.#tracing.add({
      job: `${tag}-${job}`,
      key: `match ${stage}/${this.#nextMatch++}`,
      parent: 'job',
      from,
      to: this.#now,
      attributes: { 'goshawk.stage': stage, 'goshawk.workers': workers.length },
    });
    // The remaining need of the stage starts now.
    this.#requestedAt.set(key, this.#now);
  }

  #placed(owner: Address, { job, at }: MessageOf<'placed'>): void {
    const tag = this.#tags.get(owner);
    for (const { task, attempt } of at) {
      const key = `${owner} place ${job}/${task}`;
      const from = this.#requestedAt.get(key);
      this.#requestedAt.delete(key);
      if (tag === undefined || from === undefined) continue;
      this.#tracing.add({
        job: `${tag}-${job}`,
        key: `place ${task}/${attempt}`,
        parent: 'job',
        from,
        to: this.#now,
        attributes: { 'goshawk.task': task, 'goshawk.attempt': attempt },
      });
    }
  }

  #recordRequest(key: string): void {
    this.#requestedAt.set(key, this.#now);
    if (this.#requestedAt.size <= PENDING_REQUESTS_MAX) return;
    for (const oldest of this.#requestedAt.keys()) {
      this.#requestedAt.delete(oldest);
      return;
    }
  }
}
