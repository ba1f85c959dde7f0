import type { Address, MessageOf } from '@goshawk/core';
import type { BookedJob, ClusterBooks } from '@goshawk/policies';

type Waiting = NonNullable<MessageOf<'heartbeatAck'>['waiting']>[number];

/** Maximum number of jobs that one list visits, so that its cost is small beside that of a heartbeat. */
const JOBS_VISITED_MAX = 2_000;

/**
 * Lists what waits here, for its owners. A lost `withdraw` or `need` would otherwise leave tasks in the books that no
 * message corrects. Each list continues where the last one for the same owner ended.
 */
export class WaitingLists {
  readonly #books: ClusterBooks;
  readonly #declares: boolean;
  /** Jobs that the current round of an owner has not visited. */
  readonly #rounds = new Map<Address, Iterator<BookedJob, undefined>>();

  /** @param declares whether owners declare whole jobs, so that running jobs are listed as well */
  constructor(books: ClusterBooks, declares: boolean) {
    this.#books = books;
    this.#declares = declares;
  }

  /** Returns the next stages with waiting tasks, and other jobs that owners declare; undefined if there are none. */
  next(owner: Address): Waiting[] | undefined {
    const waiting: Waiting[] = [];
    const round = this.#rounds.get(owner) ?? this.#books.jobsOf(owner)[Symbol.iterator]();
    this.#rounds.set(owner, round);
    for (let visited = 0; visited < JOBS_VISITED_MAX && waiting.length < JOBS_VISITED_MAX; visited++) {
      const { done, value: job } = round.next();
      if (done) {
        this.#rounds.delete(owner);
        break;
      }
      waiting.push(...this.#waitingOf(job));
    }
    return waiting.length === 0 ? undefined : waiting;
  }

  removeOwner(owner: Address): void {
    this.#rounds.delete(owner);
  }

  #waitingOf({ number, stages, isDeclared: declared }: BookedJob): Waiting[] {
    const waiting: Waiting[] = [];
    for (const stage of stages) {
      const tasks = stage.waiting + stage.overLimit;
      if (tasks > 0) waiting.push({ job: number, stage: stage.index, tasks, declared });
    }
    if (waiting.length === 0 && this.#declares) waiting.push({ job: number, stage: 0, tasks: 0, declared });
    return waiting;
  }
}
