import { setTimeout as pause } from 'node:timers/promises';
import type { Message, Millis, UnreachableError } from '@goshawk/core';
import { parsePartyName, probeEndpoint } from '@goshawk/transport';
import type { Alarm, Alarms } from './alarms.js';
import type { Connection, Listener } from './connection.js';
import { authFailure, keyRejection, notRunning } from './errors.js';
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
  /** Epoch of a scheduler's journal; above 0, another scheduler can take over its jobs within seconds. */
  readonly epoch?: number;
}

/** Finds the party that requests are sent to. */
export interface Route {
  /** Evaluated for each attempt, because the destination may change; undefined: unknown at present. */
  to(): Destination | undefined;
  /** Called when an answer is late and the request is about to be retried. */
  onSilence?: () => void;
  /** Looks the destination up again. */
  refresh?: () => Promise<void>;
}

/** Time to probe whether a process listens at an address, and to look up whether it has moved. */
const PROBE_MS: Millis = 500;

/**
 * Retries one request with exponential backoff until `end` is called. While the party still answers earlier requests, this one
 * is queued there and is not repeated, because that would only add load.
 */
export class Attempts {
  /** Request number for all attempts. */
  readonly request: number;
  readonly #asking: Asking;
  readonly #alarm: Alarm;
  readonly #route: Route;
  readonly #ring: (now: Millis) => void;
  readonly #hopeless: (why: UnreachableError) => void;
  /** Set while a destination that is absent or rejects this client is tolerated. */
  #tolerance: Alarm | undefined;
  #madeFirstAt: Millis = 0;
  #count = 0;
  #hasEnded = false;
  /** Time when the request was last sent, or last found to be queued. */
  #since: Millis = 0;
  /** Destination of the last attempt. */
  #to: Destination | undefined;

  /**
   * @param ring called when the next attempt is due
   * @param hopeless called once if the destination rejects this client's keys, or has never answered, has not moved, and its
   * address refuses connections, which is tried every `absentTimeoutMs`
   */
  constructor(
    asking: Asking,
    listener: Listener,
    route: Route,
    ring: (now: Millis) => void,
    hopeless: (why: UnreachableError) => void,
  ) {
    this.#route = route;
    this.#ring = ring;
    this.#hopeless = hopeless;
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

  /**
   * @returns whether the message is on its way
   * @throws errors of the connection's `send`; UnreachableError if this client's key file does not list the party's key
   */
  send(to: Destination, message: Message): boolean {
    const { connection } = this.#asking;
    this.#to = to;
    const result = connection.send(to.party, message);
    // Fails at once, because the message was not sent and only another key file would help.
    if (result === 'unreachable' && connection.authFailureOf(to.party) === 'keyUnlisted')
      throw authFailure(to.title, 'keyUnlisted');
    return result === 'accepted';
  }

  /** Counts an attempt, even without a party to send to, and schedules the next. */
  made(now: Millis, giveUpAt: Millis): void {
    this.#count++;
    this.#waitFrom(now, giveUpAt);
    if (this.#tolerance !== undefined) return;
    this.#madeFirstAt = now;
    this.#tolerance = this.#asking.alarms.add((at) => void this.#probe(at));
    this.#tolerance.set(now + this.#toleranceMs);
  }

  /** Processes restart, and reload their keys, within this time. */
  get #toleranceMs(): Millis {
    const { absentTimeoutMs, connectTimeoutMs } = this.#asking.timings;
    return Math.min(absentTimeoutMs, connectTimeoutMs);
  }

  /** A process that answered before may be restarting. */
  get #mayReturn(): boolean {
    const { connection, turns } = this.#asking;
    if (this.#to === undefined || (this.#to.epoch ?? 0) > 0) return true;
    return turns.hasAnswered(this.#to.party) || connection.isConnectedTo(this.#to.party);
  }

  /** Probes the destination, and again later if this does not show that requests to it are hopeless. */
  async #probe(now: Millis): Promise<void> {
    const why = this.#rejection ?? ((await this.#isAbsent(now)) ? notRunning(this.#to!.title) : undefined);
    if (this.#hasEnded) return;
    if (why === undefined) this.#tolerance!.set(performance.now() + Math.max(PROBE_MS, this.#toleranceMs));
    else this.#hopeless(why);
  }

  /** A process that rejects this client's keys is running, so no other will take its place. */
  get #rejection(): UnreachableError | undefined {
    if (this.#to === undefined) return undefined;
    return keyRejection(this.#to.title, this.#asking.connection.authFailureOf(this.#to.party));
  }

  async #isAbsent(now: Millis): Promise<boolean> {
    const { absentTimeoutMs, requestTimeoutMs } = this.#asking.timings;
    if (absentTimeoutMs >= requestTimeoutMs || now - this.#madeFirstAt < absentTimeoutMs) return false;
    if (this.#mayReturn) return false;
    const to = this.#to!;
    const { process } = parsePartyName(to.party);
    const found = await probeEndpoint(process.slice(0, process.lastIndexOf('!')), PROBE_MS);
    if (found !== 'refused') return false;
    // A process that restarts has another address.
    await Promise.race([this.#route.refresh?.().catch(() => {}), pause(PROBE_MS, undefined, { ref: false })]);
    if (to !== this.#to || this.#hasEnded || this.#mayReturn) return false;
    const hasMoved = this.#hasMovedFrom(to);
    if (hasMoved) this.#ring(performance.now());
    return !hasMoved;
  }

  #hasMovedFrom({ party }: Destination): boolean {
    try {
      return this.#route.to()?.party !== party;
    } catch {
      // The next attempt reports it.
      return true;
    }
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
    if (this.#to !== undefined && this.#to.party !== from)
      this.#asking.turns.note(this.#to.party, kind, this.request, at);
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
    this.#hasEnded = true;
    this.#tolerance?.clear();
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
