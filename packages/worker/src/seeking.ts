import { type Address, drawIndex, type MessageOf, type Millis } from '@goshawk/core';
import { type Entry, entryOfGiven } from './entry.js';
import type { WorkerState } from './state.js';

/** Whether a scheduler has a task for this worker, until it has answered. */
interface Question {
  readonly ask: number;
  readonly scheduler: Address;
  sentAt: Millis;
  tries: number;
}

/**
 * The worker's half of seeking: with a slot free and nothing waiting it asks up to `seekCap` distinct schedulers,
 * drawn at random, one after another, for a short task, and a round ends with the first that has one. The slot is
 * not kept for the answer: should a probe be served meanwhile, a task that comes is given back.
 */
export class Seeking {
  readonly #w: WorkerState;
  /** Unanswered questions: that of the round, and those to schedulers that were given up for this round. */
  #open: readonly Question[] = NO_QUESTIONS;
  /** The question that the round waits for. */
  #current: Question | undefined;
  #tried: readonly Address[] = NOBODY_TRIED;
  /** A round has found nothing since there was work last. */
  #isInVain = false;

  constructor(w: WorkerState) {
    this.#w = w;
  }

  get inRound(): boolean {
    return this.#current !== undefined;
  }

  /** Schedulers have been asked and have not answered. */
  get isWaiting(): boolean {
    return this.#open.length > 0;
  }

  /** Whether to ask for short tasks: always under this policy, or because central is silent, or has shed them. */
  isOn(now: Millis): boolean {
    const { membership } = this.#w;
    const policy = membership.settings?.policy;
    if (policy === undefined || policy.seekCap === 0 || membership.schedulers.length === 0) return false;
    const { by } = policy.preset.short;
    return by === 'seeking' || (by === 'matching' && (membership.isRelieved || membership.isQuiet(now)));
  }

  /** Starts a round, when there is nothing else to do. @returns whether one is under way */
  begin(now: Millis): boolean {
    if (this.inRound) return true;
    if (!this.isOn(now) || !this.#w.wantsWork) return false;
    this.#tried = NOBODY_TRIED;
    return this.#askNext(now);
  }

  /** The same, unless the last round was in vain: schedulers know that this worker is idle. */
  beginOnce(now: Millis): boolean {
    return this.#isInVain ? this.inRound : this.begin(now);
  }

  foundWork(): void {
    this.#isInVain = false;
  }

  /** A scheduler has nothing. @returns whether the round goes on */
  refused(from: Address, ask: number, now: Millis): boolean {
    const question = this.#close(from, ask);
    if (question === undefined || question !== this.#current) return this.inRound;
    return this.#goOn(now);
  }

  /** @returns the task as an entry of this worker's, when it was asked for and can run here now */
  accept(from: Address, message: MessageOf<'run'>): Entry | undefined {
    const question = this.#close(from, message.ask);
    if (question === undefined) return undefined;
    if (question === this.#current) this.#current = undefined;
    this.#stopProbing(from, message);
    return this.#w.canRun(message.demand) ? entryOfGiven(from, message) : undefined;
  }

  /**
   * Repeats the question to schedulers silent for `silenceMs`, since a task may be lost in flight; the round
   * continues with the next scheduler meanwhile.
   * @returns whether this ended a round
   */
  sweep(silenceMs: Millis, triesMax: number, now: Millis): boolean {
    const wasInRound = this.inRound;
    for (const question of this.#open) {
      if (now - question.sentAt < silenceMs) continue;
      if (question.tries >= triesMax) this.#close(question.scheduler, question.ask);
      else this.#send(question, now);
      if (question === this.#current) this.#goOn(now);
    }
    return wasInRound && !this.inRound;
  }

  /** @returns whether a round has come to its end by this */
  ownerLost(owner: Address, now: Millis): boolean {
    const wasInRound = this.inRound;
    for (const question of this.#open.filter(({ scheduler }) => scheduler === owner)) {
      this.#close(owner, question.ask);
      if (question === this.#current) this.#goOn(now);
    }
    return wasInRound && !this.inRound;
  }

  end(): void {
    this.#current = undefined;
  }

  /**
   * The only slot asks for a task of the very stage of which one has come, so it need not. If the task were given
   * back, its owner would send a probe for it, of which the slot would ask while the task is on its way to who
   * sought it, and so on without end.
   */
  #stopProbing(from: Address, { job, stage }: MessageOf<'run'>): void {
    const slots = this.#w.slots;
    if (slots.idleCount > 0 || !this.#w.takesWork) return;
    const asking = slots.indexOfProbe(from, job, stage);
    if (asking >= 0) slots.release(asking);
  }

  #goOn(now: Millis): boolean {
    this.#current = undefined;
    return this.#w.wantsWork && this.#askNext(now);
  }

  #askNext(now: Millis): boolean {
    const { membership } = this.#w;
    const cap = membership.settings?.policy.seekCap ?? 0;
    const scheduler = this.#tried.length < cap ? this.#draw(membership.schedulers) : undefined;
    if (scheduler === undefined) {
      this.#isInVain = true;
      return false;
    }
    this.#tried = [...this.#tried, scheduler];
    const question = { ask: ++this.#w.asks, scheduler, sentAt: now, tries: 0 };
    this.#open = [...this.#open, question];
    this.#current = question;
    this.#send(question, now);
    this.#w.armSweep(now);
    return true;
  }

  #send(question: Question, now: Millis): void {
    const { ask, scheduler, tries } = question;
    question.sentAt = now;
    question.tries++;
    this.#w.env.send(scheduler, { type: 'seek', ask, again: tries > 0, spare: this.#w.slots.spare });
  }

  #close(scheduler: Address, ask: number): Question | undefined {
    const closed = this.#open.find((open) => open.ask === ask && open.scheduler === scheduler);
    if (closed !== undefined) this.#open = this.#open.filter((open) => open !== closed);
    return closed;
  }

  /** One that was not asked in this round. */
  #draw(schedulers: readonly Address[]): Address | undefined {
    const left = this.#tried.length === 0 ? schedulers : schedulers.filter((it) => !this.#tried.includes(it));
    return left.length === 0 ? undefined : left[drawIndex(this.#w.env, left.length)];
  }
}

/** Shared by all that ask nobody: thousands of workers, under most policies. */
const NO_QUESTIONS: readonly Question[] = [];
const NOBODY_TRIED: readonly Address[] = [];
