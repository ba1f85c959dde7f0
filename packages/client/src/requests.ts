import {
  ANSWERS,
  type AnswerType,
  type AnswerValue,
  GoshawkError,
  isChange,
  type Message,
  type MessageOf,
  type Millis,
  PENDING_CODE,
  type Question,
  type Reply,
  UnreachableError,
} from '@goshawk/core';
import { type AuthFailure, isAboutKeys } from '@goshawk/transport';
import { onAbort } from './abort.js';
import { type Asking, Attempts, type Route } from './attempts.js';
import type { Connection, Listener } from './connection.js';
import {
  authFailure,
  badAnswer,
  connectionClosed,
  mayHaveEffect,
  noAnswer,
  otherVersion,
  refusal,
} from './errors.js';

/** @typeParam Q the request's type */
export interface Order<Q extends Question = Question> extends Route {
  /** Description of the request, as in "asked to submit a job". */
  readonly what: string;
  build(request: number): Message & { readonly type: Q };
  /** Called when a refusal is temporary and the request is about to be retried; to end it, throws. */
  onRefused?: ((why: GoshawkError) => void) | undefined;
  readonly timeoutMs?: Millis | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One of the replies that the message table declares for the request. */
export type Answer<Q extends Question = Question> = {
  [A in AnswerType<Q>]: Answered & { readonly type: A; readonly value: AnswerValue<A> };
}[AnswerType<Q>];

interface Answered {
  /** Full name of the party that answered, its incarnation included. */
  readonly from: string;
  /** Display name. */
  readonly peer: string;
}

/**
 * Requests with one reply. Each is retried with exponential backoff until it is answered: every request of the
 * protocol is idempotent. A request that is queued at the party is not repeated.
 */
export class Requests {
  readonly #asking: Asking;
  readonly #open = new Set<Request>();

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /**
   * @throws UnreachableError if there was no answer in time, or only refusals because the party was not ready, and
   * OutcomeUnknownError if a copy of a request for a change was not answered; the error of a refusal by its code; the
   * signal's reason
   */
  ask<Q extends Question>(order: Order<Q>): Promise<Answer<Q>> {
    return new Promise((resolve, reject) => {
      order.signal?.throwIfAborted();
      if (this.#asking.connection.isClosed) throw connectionClosed();
      const settle = {
        resolve: resolve as (answer: Answer) => void,
        reject,
        over: () => void this.#open.delete(request),
      };
      const request = new Request(order as Order, this.#asking, settle);
      this.#open.add(request);
      request.begin();
    });
  }

  /** Returns whether a process accepts connections there. */
  isConnectedTo(party: string): boolean {
    return this.#asking.connection.isConnectedTo(party);
  }

  /** Returns why the process at a party's endpoint rejects this client; undefined: it does not, as far as is known. */
  authFailureOf(party: string): AuthFailure | undefined {
    return this.#asking.connection.authFailureOf(party);
  }

  /** Resends requests to lost schedulers to their successors, because the list of schedulers has changed. */
  resendMoved(): void {
    const now = performance.now();
    for (const request of [...this.#open]) request.resendIfMoved(now);
  }
}

interface Settle {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** Called when the request has succeeded or failed. */
  over(): void;
}

/** Delay (ms) before the first retry of a request to a party that is not ready; it doubles up to the usual delay. */
const NOT_READY_MS = 50;

class Request implements Listener {
  readonly #order: Order;
  readonly #connection: Connection;
  readonly #settle: Settle;
  readonly #attempts: Attempts;
  readonly #ignoreSignal: () => void;
  readonly #beganAt = performance.now();
  readonly #retryMs: Millis;
  #notReadyReplies = 0;
  readonly #deadline: Millis;
  #question: Question | undefined;
  /** The last refusal that said to retry later. */
  #notReady: MessageOf<'refused'> | undefined;
  /** Number of copies that were sent and not answered, by party. */
  readonly #unanswered = new Map<string, number>();

  constructor(order: Order, asking: Asking, settle: Settle) {
    this.#order = order;
    this.#connection = asking.connection;
    this.#retryMs = asking.timings.retryMs;
    this.#settle = settle;
    this.#deadline = this.#beganAt + (order.timeoutMs ?? asking.timings.requestTimeoutMs);
    this.#attempts = new Attempts(
      asking,
      this,
      order,
      (now) => this.#ring(now),
      (why) => this.#giveUp(why),
    );
    this.#ignoreSignal = onAbort(order.signal, (reason) => this.#fail(reason));
  }

  begin(): void {
    this.#attempt(this.#beganAt);
  }

  resendIfMoved(now: Millis): void {
    try {
      const to = this.#order.to();
      if (to === undefined || to.party === this.#attempts.party) return;
    } catch (error) {
      return this.#giveUp(error);
    }
    this.#attempt(now);
  }

  reply(reply: Reply, from: string, at: Millis): void {
    switch (reply.type) {
      case 'refused':
        if (reply.code === PENDING_CODE && reply.retryMs === undefined) return this.#fail(refusal(reply));
        if (reply.code !== PENDING_CODE) this.#wasRefused(from);
        if (reply.code === 'not-ready') this.#retrySoon(reply);
        else if (reply.retryMs !== undefined) this.#scheduleRetry(reply, reply.retryMs);
        else this.#wasRefusedForGood(reply, from);
        return;
      case 'jobProgress':
      case 'jobEnded':
        return;
      default: {
        const expected: readonly string[] = this.#question === undefined ? [] : ANSWERS[this.#question];
        if (!expected.includes(reply.type)) return this.garbled(reply.type);
        this.#end();
        this.#attempts.answered(from, this.#question!, at);
        this.#settle.resolve({ type: reply.type, value: reply.value, from, peer: this.#peer } as Answer);
      }
    }
  }

  garbled(problem: string): void {
    this.#fail(badAnswer(this.#peer, `the requested data (${problem})`));
  }

  cut(why: GoshawkError): void {
    this.#giveUp(why);
  }

  /** A party refuses all copies of a request alike. One that was sent to another party may still be applied there. */
  #wasRefusedForGood(reply: MessageOf<'refused'>, from: string): void {
    this.#unanswered.delete(this.#partyOf(from));
    this.#giveUp(refusal(reply));
  }

  /** The current incarnation of a party answers under its full name. */
  #partyOf(from: string): string {
    return this.#unanswered.has(from) ? from : (this.#attempts.party ?? from);
  }

  /** Notes that a party has refused one copy. */
  #wasRefused(from: string): void {
    const party = this.#partyOf(from);
    const count = (this.#unanswered.get(party) ?? 0) - 1;
    if (count > 0) this.#unanswered.set(party, count);
    else this.#unanswered.delete(party);
  }

  /** Retries soon at first: a scheduler that has just started joins its cluster within a fraction of a second. */
  #retrySoon(reply: MessageOf<'refused'>): void {
    this.#notReady = reply;
    const pauseMs = NOT_READY_MS * 2 ** this.#notReadyReplies++;
    if (pauseMs >= this.#retryMs) return;
    this.#attempts.continueAt(Math.min(this.#deadline, performance.now() + pauseMs));
  }

  /** Retries at the time that the reply names, if the deadline allows it; an earlier retry would only add load. */
  #scheduleRetry(reply: MessageOf<'refused'>, retryMs: Millis): void {
    const at = performance.now() + retryMs;
    if (at >= this.#deadline) return this.#giveUp(refusal(reply));
    this.#notReady = reply;
    this.#attempts.continueAt(at);
    try {
      this.#order.onRefused?.(refusal(reply));
    } catch (error) {
      this.#giveUp(error);
    }
  }

  #ring(now: Millis): void {
    if (now >= this.#deadline) return this.#giveUp(this.#timeout(now));
    const question = this.#notReady === undefined ? this.#question : undefined;
    if (question !== undefined && this.#attempts.extendsWait(question, now, this.#deadline)) return;
    this.#order.onSilence?.();
    this.#attempt(now);
  }

  #attempt(now: Millis): void {
    try {
      const to = this.#order.to();
      if (to !== undefined) {
        if (to.title !== this.#peer) this.#notReady = undefined;
        const message = this.#order.build(this.#attempts.request);
        this.#question = message.type;
        if (this.#attempts.send(to, message))
          this.#unanswered.set(to.party, (this.#unanswered.get(to.party) ?? 0) + 1);
      }
    } catch (error) {
      return this.#giveUp(error);
    }
    this.#attempts.made(now, this.#deadline);
  }

  /** Name of the last destination. */
  get #peer(): string {
    return this.#attempts.titleOr('the cluster');
  }

  #timeout(now: Millis): UnreachableError {
    if (this.#notReady !== undefined) {
      const { code, message, hint } = this.#notReady;
      if (code === PENDING_CODE) return refusal(this.#notReady) as UnreachableError;
      return new UnreachableError(code, `${this.#peer}: ${message}`, hint);
    }
    const { party } = this.#attempts;
    const why = party && this.#connection.authFailureOf(party);
    if (why) return authFailure(this.#peer, why);
    const version = party && this.#connection.otherVersionOf(party, this.#beganAt);
    if (version) return otherVersion(this.#peer, version);
    return noAnswer(this.#peer, this.#order.what, Math.round(now - this.#beganAt));
  }

  /** Fails without an answer to each copy that was sent: some party may apply one. */
  #giveUp(error: unknown): void {
    const isUnknown =
      error instanceof GoshawkError &&
      [...this.#unanswered.keys()].some((party) => this.#mayHaveReceived(party)) &&
      this.#question !== undefined &&
      isChange(this.#question);
    this.#fail(isUnknown ? mayHaveEffect(error) : error);
  }

  /** A process that rejects keys and has never accepted the connection has received no message, and will not. */
  #mayHaveReceived(party: string): boolean {
    const why = this.#connection.authFailureOf(party);
    return this.#connection.wasAcceptedBy(party) || why === undefined || !isAboutKeys(why);
  }

  #fail(error: unknown): void {
    this.#end();
    this.#settle.reject(error);
  }

  #end(): void {
    this.#attempts.end();
    this.#ignoreSignal();
    this.#settle.over();
  }
}
