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

/** The party that a question goes to. */
export interface Destination {
  /** Full name of the party; the incarnation `*` is the present one. */
  readonly party: string;
  /** For people: `scheduler s3 at tcp://10.0.0.7:7003`. */
  readonly title: string;
}

/**
 * Attempts of one question: sent again after growing pauses, until `end`. A question that waits for the answers
 * of earlier ones is not sent again: that would only be more work for the party.
 */
export class Attempts {
  /** Request number for all attempts. */
  readonly request: number;
  readonly #asking: Asking;
  readonly #alarm: Alarm;
  #count = 0;
  /** When the question was sent last, or found to wait for its turn. */
  #since: Millis = 0;
  /** Destination of the last attempt. */
  #to: Destination | undefined;

  /** @param ring called when it is time for the next attempt */
  constructor(asking: Asking, listener: Listener, ring: (now: Millis) => void) {
    this.#asking = asking;
    this.request = asking.connection.listen(listener);
    this.#alarm = asking.alarms.add(ring);
  }

  get party(): string | undefined {
    return this.#to?.party;
  }

  /** @param otherwise before the first attempt */
  titleOr(otherwise: string): string {
    return this.#to?.title ?? otherwise;
  }

  /** @throws what `send` of the connection throws */
  send(to: Destination, message: Message): void {
    this.#to = to;
    this.#asking.connection.send(to.party, message);
  }

  /** Counts an attempt, also one without a party to ask, and sets the time of the next. */
  made(now: Millis, giveUpAt: Millis): void {
    this.#count++;
    this.#waitFrom(now, giveUpAt);
  }

  /** Waits once more where the party has answered earlier questions since the last look. @returns whether it does */
  waitsForTurn(kind: string, now: Millis, giveUpAt: Millis): boolean {
    const { turns } = this.#asking;
    if (this.#to === undefined || !turns.isBefore(this.#to.party, kind, this.request, this.#since))
      return false;
    this.#waitFrom(now, giveUpAt);
    return true;
  }

  /** @param kind as `waitsForTurn` asks for it */
  answered(from: string, kind: string, at: Millis): void {
    this.#asking.turns.note(from, kind, this.request, at);
  }

  /** The next attempt is a first one. */
  beginAgain(at: Millis): void {
    this.#count = 0;
    this.#alarm.set(at);
  }

  /** At the time that the party asked for. */
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
 * How long to wait after an attempt, the first being 0. A fifth is drawn, so that the thousands of clients of one
 * restarted scheduler do not ask all at once.
 */
function nextPause({ retryMs, retryMaxMs }: ClientTimings, attempt: number): Millis {
  const pause = Math.min(retryMaxMs, retryMs * 2 ** Math.min(attempt, 30));
  return pause * (0.9 + 0.2 * Math.random());
}
