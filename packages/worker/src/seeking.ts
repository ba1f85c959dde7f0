import { type Address, drawIndex, type MessageOf, type Millis } from '@goshawk/core';
import { type Entry, entryOfGiven } from './entry.js';
import type { WorkerState } from './state.js';

/** An unanswered request for a task, sent to a scheduler. */
interface SeekRequest {
  readonly ask: number;
  readonly scheduler: Address;
  sentAt: Millis;
  tries: number;
}

/**
 * The worker's half of seeking: a worker with a free slot and an empty queue requests a short task from random
 * schedulers, one after another, up to `seekCap` of them. These requests are a round. The slot is not reserved: if a
 * probe takes it, a task that arrives later is returned to its owner.
 */
export class Seeking {
  readonly #w: WorkerState;
  /** Unanswered questions: the current one, and those to schedulers that did not answer in time. */
  #open: readonly SeekRequest[] = NO_REQUESTS;
  /** The question that the round waits for. */
  #current: SeekRequest | undefined;
  #tried: readonly Address[] = NONE_TRIED;
  /** Whether a round found no task, and no work has arrived since. */
  #hasFailed = false;

  constructor(w: WorkerState) {
    this.#w = w;
  }

  get inRound(): boolean {
    return this.#current !== undefined;
  }

  /** Whether any question is unanswered. */
  get isWaiting(): boolean {
    return this.#open.length > 0;
  }

  /** Returns whether to request short tasks: the policy always does, or central is unresponsive or sheds short jobs. */
  isOn(now: Millis): boolean {
    const { membership } = this.#w;
    const policy = membership.settings?.policy;
    if (policy === undefined || policy.seekCap === 0 || membership.schedulers.length === 0) return false;
    const { by } = policy.preset.short;
    return (
      by === 'seeking' || (by === 'matching' && (membership.isShedding || membership.isUnresponsive(now)))
    );
  }

  /** Starts a round if the worker has nothing to do. @returns whether a round is in progress */
  begin(now: Millis): boolean {
    if (this.inRound) return true;
    if (!this.isOn(now) || !this.#hasCpu) return false;
    this.#tried = NONE_TRIED;
    return this.#askNext(now);
  }

  /** Starts a round unless the last one failed, because the schedulers have recorded that this worker is idle. */
  beginUnlessFailed(now: Millis): boolean {
    return this.#hasFailed ? this.inRound : this.begin(now);
  }

  foundWork(): void {
    this.#hasFailed = false;
  }

  /** Handles a scheduler's answer that it has no task. @returns whether the round goes on */
  refused(from: Address, ask: number, now: Millis): boolean {
    const question = this.#close(from, ask);
    if (question === undefined || question !== this.#current) return this.inRound;
    return this.#askNextIfFree(now);
  }

  /** @returns the task as an entry if it was requested and can run here now */
  accept(from: Address, message: MessageOf<'run'>): Entry | undefined {
    const question = this.#close(from, message.ask);
    if (question === undefined) return undefined;
    if (question === this.#current) this.#current = undefined;
    this.#stopProbing(from, message);
    return this.#w.canRun(message.demand) ? entryOfGiven(from, message) : undefined;
  }

  /**
   * Repeats questions that were not answered for `silenceMs`, because a task may be lost in flight. The round continues
   * with the next scheduler.
   *
   * @returns whether this ended the round
   */
  sweep(silenceMs: Millis, triesMax: number, now: Millis): boolean {
    const wasInRound = this.inRound;
    for (const question of this.#open) {
      if (now - question.sentAt < silenceMs) continue;
      if (question.tries >= triesMax) this.#close(question.scheduler, question.ask);
      else this.#send(question, now);
      if (question === this.#current) this.#askNextIfFree(now);
    }
    return wasInRound && !this.inRound;
  }

  /** @returns whether this ended the round */
  ownerLost(owner: Address, now: Millis): boolean {
    const wasInRound = this.inRound;
    for (const question of this.#open.filter(({ scheduler }) => scheduler === owner)) {
      this.#close(owner, question.ask);
      if (question === this.#current) this.#askNextIfFree(now);
    }
    return wasInRound && !this.inRound;
  }

  end(): void {
    this.#current = undefined;
  }

  /**
   * If no slot is idle, frees a slot that asks for a task of the same stage, so that the arrived task can run there.
   * Returning the task instead could repeat forever: its owner would send another probe, and the slot would ask again.
   */
  #stopProbing(from: Address, { job, stage }: MessageOf<'run'>): void {
    const slots = this.#w.slots;
    if (slots.idleCount > 0 || !this.#w.takesWork) return;
    const asking = slots.indexOfProbe(from, job, stage);
    if (asking >= 0) slots.release(asking);
  }

  /** Whether the worker needs work and has a CPU that is at least partly free. */
  get #hasCpu(): boolean {
    return this.#w.needsWork && this.#w.slots.idleCount > 0;
  }

  #askNextIfFree(now: Millis): boolean {
    this.#current = undefined;
    return this.#hasCpu && this.#askNext(now);
  }

  #askNext(now: Millis): boolean {
    const { membership } = this.#w;
    const cap = membership.settings?.policy.seekCap ?? 0;
    const scheduler = this.#tried.length < cap ? this.#draw(membership.schedulers) : undefined;
    if (scheduler === undefined) {
      this.#hasFailed = true;
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

  #send(question: SeekRequest, now: Millis): void {
    const { ask, scheduler, tries } = question;
    question.sentAt = now;
    question.tries++;
    this.#w.env.send(scheduler, { type: 'seek', ask, again: tries > 0, spare: this.#w.slots.spare });
  }

  #close(scheduler: Address, ask: number): SeekRequest | undefined {
    const closed = this.#open.find((open) => open.ask === ask && open.scheduler === scheduler);
    if (closed !== undefined) this.#open = this.#open.filter((open) => open !== closed);
    return closed;
  }

  /** Returns a random scheduler that was not yet asked in this round. */
  #draw(schedulers: readonly Address[]): Address | undefined {
    const left = this.#tried.length === 0 ? schedulers : schedulers.filter((it) => !this.#tried.includes(it));
    return left.length === 0 ? undefined : left[drawIndex(this.#w.env, left.length)];
  }
}

/** Shared by workers without questions. */
const NO_REQUESTS: readonly SeekRequest[] = [];
const NONE_TRIED: readonly Address[] = [];
