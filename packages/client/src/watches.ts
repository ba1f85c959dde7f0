import type { GoshawkError, JobEvent, JobSummary, Millis, Reply } from '@goshawk/core';
import type { Alarm, Alarms } from './alarms.js';
import type { Asking } from './asking.js';
import type { Connection, Listener } from './connection.js';
import { badAnswer, connectionClosed, ownerGone, refusal } from './errors.js';
import type { ClientTimings } from './options.js';
import { type Destination, nextPause } from './requests.js';
import { Turns } from './turns.js';

export type EndedEvent = Extract<JobEvent, { kind: 'ended' }>;

export interface Watcher {
  /** Now and then, and at once when the watch begins. */
  progress?: (job: JobSummary) => void;
  /** Once, and nothing after it. `at`: when the news arrived, by `performance.now()`. */
  ended: (event: EndedEvent, at: Millis) => void;
  /** Once, and nothing after it. */
  failed: (error: GoshawkError) => void;
}

export interface WatchOrder {
  readonly id: string;
  /** The end comes with each task's start and run time. */
  readonly detail: boolean;
  /** Who owns the job; looked up for each sign of life. */
  to(): Destination | undefined;
  onSilence: () => void;
}

/**
 * Jobs whose end is waited for. The owner tells what happens by itself; the watch asks again now and then,
 * which shows it that somebody still listens and us that it is still there, and which brings an end that got
 * lost: asked about a job that has ended, the owner tells the end again.
 */
export class Watches {
  readonly #asking: Asking;

  constructor(connection: Connection, alarms: Alarms, timings: ClientTimings) {
    this.#asking = { connection, alarms, timings, turns: new Turns() };
  }

  /** @returns stops watching; nothing is told afterwards */
  open(order: WatchOrder, watcher: Watcher): () => void {
    if (this.#asking.connection.isClosed) throw connectionClosed();
    const watch = new Watch(order, watcher, this.#asking);
    watch.begin();
    return () => watch.stop();
  }
}

class Watch implements Listener {
  readonly #order: WatchOrder;
  readonly #watcher: Watcher;
  readonly #connection: Connection;
  readonly #timings: ClientTimings;
  readonly #turns: Turns;
  readonly #number: number;
  readonly #alarm: Alarm;
  /** When the first question was asked that nothing has come after; undefined while all is well. */
  #silentSince: Millis | undefined;
  #attempts = 0;
  /** When it was asked last, or found to wait for its turn. */
  #lookedAt: Millis = 0;
  #party: string | undefined;
  #whom = 'the scheduler';
  #isOver = false;

  constructor(order: WatchOrder, watcher: Watcher, { connection, alarms, timings, turns }: Asking) {
    this.#order = order;
    this.#watcher = watcher;
    this.#connection = connection;
    this.#timings = timings;
    this.#turns = turns;
    this.#number = connection.listen(this);
    this.#alarm = alarms.add((now) => this.#ring(now));
  }

  begin(): void {
    this.#ask(performance.now());
  }

  stop(): void {
    if (this.#isOver) return;
    this.#end();
    const to = this.#order.to();
    if (to !== undefined) this.#connection.send(to.party, { type: 'unwatch', request: this.#number });
  }

  closed(): void {
    this.stop();
    this.#watcher.failed(connectionClosed());
  }

  reply(reply: Reply, from: string, at: Millis): void {
    if (this.#isOver) return;
    if (reply.type === 'jobProgress') {
      if (this.#silentSince !== undefined) this.#turns.note(from, reply.type, this.#number, at);
      return this.#hear(reply.value, at);
    }
    if (reply.type === 'jobEnded') {
      this.#end();
      return this.#watcher.ended({ kind: 'ended', ...reply.value }, at);
    }
    // It is there, but does not know yet: the next question may find it ready.
    if (reply.type !== 'refused' || reply.code === 'not-ready') return;
    this.#end();
    this.#watcher.failed(refusal(reply));
  }

  garbled(problem: string): void {
    this.#end();
    this.#watcher.failed(badAnswer(this.#whom, `the news of a job (${problem})`));
  }

  #hear(job: JobSummary, at: Millis): void {
    if (this.#silentSince !== undefined) {
      this.#silentSince = undefined;
      this.#attempts = 0;
      // Spread, so that jobs that were submitted together are not asked after together for ever.
      this.#alarm.set(at + this.#timings.renewMs * (0.8 + 0.2 * Math.random()));
    }
    this.#watcher.progress?.(job);
  }

  #ring(now: Millis): void {
    const { requestTimeoutMs } = this.#timings;
    if (this.#silentSince !== undefined) {
      const silentMs = now - this.#silentSince;
      if (silentMs >= requestTimeoutMs) {
        this.#end();
        return this.#watcher.failed(ownerGone(this.#order.id, this.#whom, Math.round(silentMs)));
      }
      if (this.#waitsForItsTurn) return this.#waitFrom(now);
      this.#order.onSilence();
    }
    this.#ask(now);
  }

  get #waitsForItsTurn(): boolean {
    if (this.#party === undefined) return false;
    return this.#turns.isBefore(this.#party, 'jobProgress', this.#number, this.#lookedAt);
  }

  #ask(now: Millis): void {
    this.#silentSince ??= now;
    const { id, detail, to: owner } = this.#order;
    const to = owner();
    try {
      if (to !== undefined) {
        this.#whom = to.title;
        this.#party = to.party;
        this.#connection.send(to.party, { type: 'watchJob', request: this.#number, id, detail });
      }
    } catch (error) {
      this.#end();
      return this.#watcher.failed(error as GoshawkError);
    }
    this.#attempts++;
    this.#waitFrom(now);
  }

  #waitFrom(now: Millis): void {
    this.#lookedAt = now;
    const giveUpAt = (this.#silentSince ?? now) + this.#timings.requestTimeoutMs;
    this.#alarm.set(Math.min(giveUpAt, now + nextPause(this.#timings, this.#attempts - 1)));
  }

  #end(): void {
    this.#isOver = true;
    this.#connection.forget(this.#number);
    this.#alarm.clear();
  }
}
