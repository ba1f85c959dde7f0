import type { Job } from '../job/job.js';
import { fairLevel } from './memory-shares.js';

/** Estimated bytes of a user's jobs in memory. */
interface BytesOfUser {
  active: number;
  ended: number;
}

/** Estimated bytes of jobs, in memory and in the journal, in total and by user. */
export class JobBytesByUser {
  /** Bytes of the active jobs in memory. */
  active = 0;
  /** Bytes of the ended jobs in memory. */
  ended = 0;
  readonly #inMemory = new Map<string | undefined, BytesOfUser>();
  readonly #inJournal = new Map<string | undefined, number>();

  /** Bytes in the journal by user. */
  get inJournal(): ReadonlyMap<string | undefined, number> {
    return this.#inJournal;
  }

  /** Bytes of active jobs in memory, by user. */
  get activeByUser(): (readonly [user: string | undefined, bytes: number])[] {
    return Array.from(this.#inMemory, ([user, { active }]) => [user, active] as const);
  }

  /** Bytes of the user's active jobs in memory. */
  activeOf(user: string | undefined): number {
    return this.#inMemory.get(user)?.active ?? 0;
  }

  /** Adds these bytes to those of the user's active and ended jobs; negative: subtracts them. */
  add({ spec: { user } }: Job, { active = 0, ended = 0 }: Partial<BytesOfUser>): void {
    this.active += active;
    this.ended += ended;
    const bytes = this.#inMemory.get(user) ?? { active: 0, ended: 0 };
    bytes.active += active;
    bytes.ended += ended;
    if (bytes.active + bytes.ended === 0) this.#inMemory.delete(user);
    else this.#inMemory.set(user, bytes);
  }

  /** Updates the size of the job's records in the journal. */
  measureRecords(job: Job): void {
    const bytes = job.bytes.total + job.history.recordedBytes;
    this.deleteRecords(job.spec.user, job.bytes.journal - bytes);
    job.bytes.journal = bytes;
  }

  /** Subtracts deleted records from the user's bytes in the journal. */
  deleteRecords(user: string | undefined, bytes: number): void {
    const left = (this.#inJournal.get(user) ?? 0) - bytes;
    if (left > 0) this.#inJournal.set(user, left);
    else this.#inJournal.delete(user);
  }

  /**
   * Whether a new job of the user fits if ended jobs of the users with the most memory are evicted.
   *
   * @param excess bytes that must be evicted for it
   */
  canEvictFor(user: string | undefined, bytes: number, excess: number): boolean {
    const { active, ended } = this.#inMemory.get(user) ?? { active: 0, ended: 0 };
    const sizes = [active + ended + bytes];
    for (const [other, of] of this.#inMemory) if (other !== user) sizes.push(of.active + of.ended);
    sizes.sort((one, other) => other - one);
    return active + bytes <= fairLevel(sizes, excess);
  }
}
