import type { Message, Millis } from '@goshawk/core';
import type { Alarm, Alarms } from './alarms.js';
import type { Connection, Listener } from './connection.js';
import type { ClientTimings } from './options.js';
import type { Turns } from './turns.js';

/** Services shared by a client's requests. */
export interface Asking {
  readonly connection: Connection;
  readonly alarms: Alarms;
  readonly timings: ClientTimings;
  readonly turns: Turns;
}

/** The party that a request is sent to. */
export interface Destination {
  /** Full name of the party; the incarnation `*` is the current one. */
  readonly party: string;
  /** Display name: `scheduler s3 at tcp://10.0.0.7:7003`. */
  readonly title: string;
}

/**
 * Retries one request with exponential backoff until `end` is called. While the party still answers earlier requests, this one
 * is queued there and is not repeated, because that would only add load.
 */
export class Attempts {
  /** Request number for all attempts. */
  readonly request: number;
  readonly #asking: Asking;
  readonly #alarm: Alarm;
  #count = 0;
  /** Time when the request was last sent, or last found to be queued. */
  #since: Millis = 0;
  /** Destination of the last attempt. */
  #to: Destination | undefined;

  /** @param ring called when the next attempt is due */
  constructor(asking: Asking, listener: Listener, ring: (now: Millis) => void) {
    this.#asking = asking;
    this.request = asking.connection.listen(listener);
    this.#alarm = asking.alarms.add(ring);
  }

  get party(): string | undefined {
    return this.#to?.party;
  }

  /** @param otherwise returned before the first attempt */
  titleOr(otherwise: string): string {
    return this.#to?.title ?? otherwise;
  }

  /** @throws errors of the connection's `send` */
  send(to: Destination, message: Message): void {
    this.#to = to;
    this.#asking.connection.send(to.party, message);
  }

  /** Counts an attempt, even without a party to send to, and schedules the next. */
  made(now: Millis, giveUpAt: Millis): void {
    this.#count++;
    this.#waitFrom(now, giveUpAt);
  }

  /** Waits again if the party has answered an earlier request since the last attempt. @returns whether it waits */
  extendsWait(kind: string, now: Millis, giveUpAt: Millis): boolean {
    const { turns } = this.#asking;
    if (this.#to === undefined || !turns.isBefore(this.#to.party, kind, this.request, this.#since))
      return false;
    this.#waitFrom(now, giveUpAt);
    return true;
  }

  /** @param kind as in `extendsWait` */
  answered(from: string, kind: string, at: Millis): void {
    this.#asking.turns.note(from, kind, this.request, at);
  }

  /** Resets the backoff. */
  beginAgain(at: Millis): void {
    this.#count = 0;
    this.#alarm.set(at);
  }

  /** Retries at the time that the party asked for. */
  continueAt(at: Millis): void {
    this.#alarm.set(at);
  }

  end(): void {
    this.#asking.connection.forget(this.request);
    this.#alarm.clear();
  }

  #waitFrom(now: Millis, giveUpAt: Millis): void {
    this.#since = now;
    this.#alarm.set(Math.min(giveUpAt, now + nextPause(this.#asking.timings, this.#count - 1)));
  }
}

/**
 * Returns the delay after an attempt, counted from 0. A fifth of it is random, so that thousands of clients of a restarted
 * scheduler do not retry at the same time.
 */
function nextPause({ retryMs, retryMaxMs }: ClientTimings, attempt: number): Millis {
  const pause = Math.min(retryMaxMs, retryMs * 2 ** Math.min(attempt, 30));
  return pause * (0.9 + 0.2 * Math.random());
}
