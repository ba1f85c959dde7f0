import {
  COMPLETED,
  GANG_ENDED,
  type MessageOf,
  type Millis,
  type Outcome,
  type TaskIndex,
} from '@goshawk/core';

type Ready = Pick<MessageOf<'gangReady'>, 'host' | 'port'>;

/**
 * The current attempt of a gang. Members with slots wait until all are ready, and completed members wait until all
 * have completed. If one fails or is lost, the attempt ends for all and counts as one failure.
 */
export class Gang {
  readonly #ready = new Map<TaskIndex, Ready>();
  /** Continuations of members that completed before others. */
  readonly #completed = new Map<TaskIndex, (now: Millis) => void>();
  #isStarted = false;
  #areAllCompleted = false;
  /** The outcome of the other members, until all have ended. */
  #breakOutcome: Outcome | undefined;

  /** All members are about to be assigned. */
  reset(): void {
    this.#ready.clear();
    this.#isStarted = false;
    this.#areAllCompleted = false;
  }

  // ---- the start

  get isStarted(): boolean {
    return this.#isStarted;
  }

  addReady(task: TaskIndex, at: Ready): void {
    this.#ready.set(task, at);
  }

  /** @returns the hosts of the members, in order of their tasks, if all are ready */
  start(members: number): { readonly hosts: readonly string[]; readonly port: number } | undefined {
    if (this.#ready.size < members) return undefined;
    this.#isStarted = true;
    const inOrder = [...this.#ready].sort(([one], [other]) => one - other).map(([, at]) => at);
    return { hosts: inOrder.map(({ host }) => host), port: inOrder[0]!.port };
  }

  // ---- the end

  /**
   * Whether the end of a completed member waits for others.
   *
   * @param unfinished number of members without a final outcome
   * @param then continues with the end
   */
  defersCompletion(task: TaskIndex, unfinished: number, then: (now: Millis) => void): boolean {
    if (this.#breakOutcome !== undefined || this.#areAllCompleted) return false;
    this.#completed.set(task, then);
    if (this.#completed.size < unfinished) return true;
    this.#completed.delete(task);
    this.#areAllCompleted = true;
    return false;
  }

  /** Removes and returns ends that waited. @param except a member that has failed since */
  takeCompleted(except?: TaskIndex): readonly ((now: Millis) => void)[] {
    if (except !== undefined) this.#completed.delete(except);
    const all = [...this.#completed.values()];
    this.#completed.clear();
    return all;
  }

  /** The outcome of the other members; undefined: the attempt is intact. */
  get breakOutcome(): Outcome | undefined {
    return this.#breakOutcome;
  }

  get areAllCompleted(): boolean {
    return this.#areAllCompleted;
  }

  /** @param isFinal the stage has failed; otherwise all members start again */
  break(reason: string, isFinal: boolean): void {
    const kind = isFinal ? 'failed' : 'lost';
    this.#breakOutcome = { ...COMPLETED, kind, errorCode: GANG_ENDED, errorMessage: reason };
    this.reset();
  }

  /** All members have ended. */
  clearBreak(): void {
    this.#breakOutcome = undefined;
  }
}

/**
 * Explains why a gang's attempt ended, in one line.
 *
 * @param outcome undefined: the worker returned the member
 */
export function breakReason(rank: number, worker: string, outcome: Outcome | undefined): string {
  const member = `rank ${rank} of its gang`;
  if (outcome === undefined) return `${member} was returned by ${worker} before it started`;
  const { kind, errorMessage } = outcome;
  if (kind === 'lost' && errorMessage === '') return `${member} was lost with ${worker}`;
  const ended = kind === 'failed' ? 'failed' : kind === 'timeout' ? 'timed out' : 'was ended';
  return `${member} ${ended} on ${worker}: ${errorMessage}`;
}
