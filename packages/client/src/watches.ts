import type { GoshawkError, JobEvent, JobSummary, Millis, Reply } from '@goshawk/core';
import { type Asking, Attempts, type Route } from './attempts.js';
import type { Connection, Listener } from './connection.js';
import {
  badAnswer,
  connectionClosed,
  jobsOwnerAway,
  keyRejection,
  NOT_RUNNING_CODE,
  ownerGone,
  refusal,
} from './errors.js';
import type { ClientTimings } from './options.js';

export type EndedEvent = Extract<JobEvent, { kind: 'ended' }>;

interface Watcher {
  /** Called periodically, and soon after the watch begins. */
  progress?: (job: JobSummary) => void;
  /** Called once and last. `at`: time of arrival, by `performance.now()`. */
  ended: (event: EndedEvent, at: Millis) => void;
  /** Called once and last. */
  failed: (error: GoshawkError) => void;
}

export interface WatchOrder extends Route {
  /** Whether central lists the owner as lost, and no other scheduler can take over its jobs. */
  readonly isLost?: boolean;
  readonly id: string;
  /** Whether the end includes each task's start and run time. */
  readonly detail: boolean;
  /** Whether updates arrive within milliseconds rather than periodically. */
  readonly soon?: boolean;
}

/**
 * Waits for the end of a job, while the owner sends updates. The watch repeats its request periodically as a
 * keep-alive. If the message about the end was lost, the owner answers the next request with the end.
 *
 * @returns a function that stops watching; the watcher is not called afterwards
 */
export function watchJob(asking: Asking, order: WatchOrder, watcher: Watcher): () => void {
  if (asking.connection.isClosed) throw connectionClosed();
  const watch = new Watch(order, watcher, asking);
  watch.begin();
  return () => watch.stop();
}

class Watch implements Listener {
  readonly #order: WatchOrder;
  readonly #watcher: Watcher;
  readonly #connection: Connection;
  readonly #patienceMs: Millis;
  readonly #timings: ClientTimings;
  readonly #attempts: Attempts;
  /** Time of the first unanswered request; undefined if all were answered. */
  #silentSince: Millis | undefined;
  #isOver = false;

  constructor(order: WatchOrder, watcher: Watcher, asking: Asking) {
    this.#order = order;
    this.#watcher = watcher;
    this.#connection = asking.connection;
    this.#timings = asking.timings;
    // A scheduler that is lost later may be restarting, or another one takes over from it, which may take as long as a request.
    const { absentTimeoutMs, requestTimeoutMs } = asking.timings;
    this.#patienceMs = order.isLost === true ? absentTimeoutMs : 2 * requestTimeoutMs;
    this.#attempts = new Attempts(
      asking,
      this,
      order,
      (now) => this.#ring(now),
      (why) => {
        this.#end();
        watcher.failed(why.code === NOT_RUNNING_CODE ? jobsOwnerAway(order.id, this.#peer, why) : why);
      },
    );
  }

  begin(): void {
    this.#ask(performance.now());
  }

  stop(): void {
    if (this.#isOver) return;
    this.#end();
    const to = this.#order.to();
    if (to !== undefined)
      this.#connection.send(to.party, { type: 'unwatch', request: this.#attempts.request });
  }

  cut(why: GoshawkError): void {
    this.stop();
    this.#watcher.failed(why);
  }

  reply(reply: Reply, from: string, at: Millis): void {
    if (this.#isOver) return;
    if (reply.type === 'jobProgress') {
      if (this.#silentSince !== undefined) this.#attempts.answered(from, reply.type, at);
      return this.#update(reply.value, at);
    }
    if (reply.type === 'jobEnded') {
      this.#end();
      return this.#watcher.ended({ kind: 'ended', ...reply.value }, at);
    }
    // The owner is running but not ready: the next request may succeed.
    if (reply.type !== 'refused' || reply.code === 'not-ready') return;
    this.#end();
    this.#watcher.failed(refusal(reply));
  }

  garbled(problem: string): void {
    this.#end();
    this.#watcher.failed(badAnswer(this.#peer, `updates about a job (${problem})`));
  }

  #update(job: JobSummary, at: Millis): void {
    if (this.#silentSince !== undefined) {
      this.#silentSince = undefined;
      // Randomized, so that requests for jobs that were submitted together spread out.
      this.#attempts.beginAgain(at + this.#timings.renewMs * (0.8 + 0.2 * Math.random()));
    }
    this.#watcher.progress?.(job);
  }

  #ring(now: Millis): void {
    if (this.#silentSince !== undefined) {
      const giveUpAt = this.#silentSince + this.#patienceMs;
      if (now >= giveUpAt) {
        this.#end();
        return this.#watcher.failed(this.#silence(Math.round(now - this.#silentSince)));
      }
      if (this.#attempts.extendsWait('jobProgress', now, giveUpAt)) return;
      this.#order.onSilence?.();
    }
    this.#ask(now);
  }

  /** Explains a silence. An owner that rejects the key of this client is not gone: another job would run twice. */
  #silence(silentMs: Millis): GoshawkError {
    const { party } = this.#attempts;
    const rejection = party && keyRejection(this.#peer, this.#connection.authFailureOf(party));
    return rejection || ownerGone(this.#order.id, this.#peer, silentMs);
  }

  #ask(now: Millis): void {
    this.#silentSince ??= now;
    const { id, detail, soon, to: owner } = this.#order;
    try {
      const to = owner();
      const { request } = this.#attempts;
      if (to !== undefined) this.#attempts.send(to, { type: 'watchJob', request, id, detail, soon });
    } catch (error) {
      this.#end();
      return this.#watcher.failed(error as GoshawkError);
    }
    this.#attempts.made(now, this.#silentSince + this.#patienceMs);
  }

  get #peer(): string {
    return this.#attempts.titleOr('the scheduler');
  }

  #end(): void {
    this.#isOver = true;
    this.#attempts.end();
  }
}
