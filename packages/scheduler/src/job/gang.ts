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
 * The current attempt of a gang. Members that have slots start once all members have slots, and completed members end
 * once all have completed. If one member fails or is lost, the attempt ends for all members and counts as one failure.
 */
export class Gang {
  readonly #ready = new Map<TaskIndex, Ready>();
  /** Delayed ends of completed members. */
  readonly #completed = new Map<TaskIndex, (now: Millis) => void>();
  #isStarted = false;
  #areAllCompleted = false;
  /** The outcome of the other members after one failed or was lost, until all have ended. */
  #breakOutcome: Outcome | undefined;

  /** Resets the state before all members are assigned. */
  reset(): void {
    this.#ready.clear();
    this.#isStarted = false;
    this.#areAllCompleted = false;
  }

  // ---- start

  get isStarted(): boolean {
    return this.#isStarted;
  }

  addReady(task: TaskIndex, at: Ready): void {
    this.#ready.set(task, at);
  }

  /** Starts the gang if all members are ready. @returns the hosts in task order, and the port of the first member */
  start(members: number): { readonly hosts: readonly string[]; readonly port: number } | undefined {
    if (this.#ready.size < members) return undefined;
    this.#isStarted = true;
    const inOrder = [...this.#ready].sort(([one], [other]) => one - other).map(([, at]) => at);
    return { hosts: inOrder.map(({ host }) => host), port: inOrder[0]!.port };
  }

  // ---- end

  /**
   * Delays the end of a completed member until all members have completed.
   *
   * @param unfinished number of members without a final state
   * @param then processes the end
   * @returns whether the end is delayed
   */
  defersCompletion(task: TaskIndex, unfinished: number, then: (now: Millis) => void): boolean {
    if (this.#breakOutcome !== undefined || this.#areAllCompleted) return false;
    this.#completed.set(task, then);
    if (this.#completed.size < unfinished) return true;
    this.#completed.delete(task);
    this.#areAllCompleted = true;
    return false;
  }

  /** Removes and returns the delayed ends. @param except a member whose end is dropped */
  takeCompleted(except?: TaskIndex): readonly ((now: Millis) => void)[] {
    if (except !== undefined) this.#completed.delete(except);
    const all = [...this.#completed.values()];
    this.#completed.clear();
    return all;
  }

  /** The outcome of the other members after one failed or was lost; undefined: none did. */
  get breakOutcome(): Outcome | undefined {
    return this.#breakOutcome;
  }

  get areAllCompleted(): boolean {
    return this.#areAllCompleted;
  }

  /**
   * Ends the attempt of all members.
   *
   * @param isFinal whether the stage has failed; otherwise all members start again
   * @returns the outcome of the other members
   */
  break(reason: string, isFinal: boolean): Outcome {
    const kind = isFinal ? 'failed' : 'lost';
    this.#breakOutcome = { ...COMPLETED, kind, errorCode: GANG_ENDED, errorMessage: reason };
    this.reset();
    return this.#breakOutcome;
  }

  /** All members have ended, so that the gang may start again. */
  clearBreak(): void {
    this.#breakOutcome = undefined;
  }
}

/**
 * Describes why a gang's attempt ended.
 *
 * @param outcome outcome of the member; undefined: its worker returned it
 */
export function breakReason(rank: number, worker: string, outcome: Outcome | undefined): string {
  const member = `rank ${rank} of its gang`;
  if (outcome === undefined) return `${member} was returned by ${worker} before it started`;
  const { kind, errorMessage } = outcome;
  if (kind === 'lost' && errorMessage === '') return `${member} was lost with ${worker}`;
  const ended = kind === 'failed' ? 'failed' : kind === 'timeout' ? 'timed out' : 'was ended';
  return `${member} ${ended} on ${worker}: ${errorMessage}`;
}
