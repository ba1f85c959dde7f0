import { isNotifyAllowed, type JobNumber, type JobSpec, type Millis, notifyTargetName } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';
import type { Job } from '../job/job.js';
import type { JobStore } from './job-store.js';
import type { Ledger, Refusal } from './ledger.js';

/**
 * Explains why a job's notification address is refused; undefined if it is allowed, or there is none.
 *
 * @param hosts globs of allowed hosts, mail addresses and commands
 */
export function notifyRefusal({ notify }: JobSpec, hosts: readonly string[] = []): Refusal | undefined {
  if (notify === undefined || isNotifyAllowed(notify, hosts)) return undefined;
  return {
    code: 'notify-host',
    message: `the scheduler sends no notifications to ${notifyTargetName(notify)}`,
    hint: `its operator allows hosts, mail: and command: with --notify-hosts${hosts.length === 0 ? '' : `; allowed are ${hosts.join(', ')}`}`,
  };
}

/**
 * Has the end of a job reported to the target that its submitter named, at least once: an end is reported once it is
 * durable, and again after each restart until `notified` is recorded.
 */
export class Notifications {
  readonly #env: Pick<SchedulerEnvironment, 'notify'>;
  readonly #ledger: Ledger;
  readonly #jobs: JobStore;
  /** Jobs whose ends are reported once central has admitted this scheduler; undefined: it has. */
  #held: JobNumber[] | undefined = [];

  constructor(env: Pick<SchedulerEnvironment, 'notify'>, ledger: Ledger, jobs: JobStore) {
    this.#env = env;
    this.#ledger = ledger;
    this.#jobs = jobs;
  }

  ended(job: Job, now: Millis): void {
    if (job.spec.notify === undefined) return;
    const ends = job.ends.count;
    this.#ledger.whenDurable(() => {
      // The job may have been retried meanwhile. It is then reported when it ends again.
      if (job.hasEnded && job.ends.count === ends) this.#report(job);
    }, now);
  }

  /** Adds a job of an earlier incarnation. */
  restored(job: Job): void {
    const { spec, hasEnded, ends } = job;
    if (spec.notify !== undefined && hasEnded && ends.notified < ends.count) this.#report(job);
  }

  /** Before its admission, the scheduler may have a mere copy of another one's journal. */
  #report(job: Job): void {
    if (this.#held === undefined) this.#env.notify?.(job);
    else this.#held.push(job.number);
  }

  admitted(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const number of held) {
      const job = this.#jobs.byId(this.#jobs.idOf(number));
      if (job?.hasEnded) this.#env.notify?.(job);
    }
  }

  notified(number: JobNumber, ends: number, now: Millis): void {
    // A deleted job has no records any more.
    const kept = this.#jobs.byNumber(number) ?? this.#jobs.tombstoneOfId(this.#jobs.idOf(number));
    if (kept !== undefined) this.#ledger.notified(number, ends, now);
  }
}
