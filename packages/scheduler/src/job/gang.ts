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
 * The present attempt of a stage whose tasks start together. Members that have their slots wait until all are ready. Members
 * that have completed wait until all have: one that comes to nothing ends the attempt for all, which counts as one failure.
 */
export class Gang {
  readonly #ready = new Map<TaskIndex, Ready>();
  /** How to go on with the end of a member that has completed before others. */
  readonly #completed = new Map<TaskIndex, (now: Millis) => void>();
  #isStarted = false;
  #areAllCompleted = false;
  /** How the other members end, while some are still to do so. */
  #broken: Outcome | undefined;

  /** All members are about to be given out. */
  begin(): void {
    this.#ready.clear();
    this.#isStarted = false;
    this.#areAllCompleted = false;
  }

  // ---- the start

  get isStarted(): boolean {
    return this.#isStarted;
  }

  ready(task: TaskIndex, at: Ready): void {
    this.#ready.set(task, at);
  }

  /** @returns where the members are, in the order of their tasks, if all of so many are ready */
  start(members: number): { readonly hosts: readonly string[]; readonly port: number } | undefined {
    if (this.#ready.size < members) return undefined;
    this.#isStarted = true;
    const inOrder = [...this.#ready].sort(([one], [other]) => one - other).map(([, at]) => at);
    return { hosts: inOrder.map(({ host }) => host), port: inOrder[0]!.port };
  }

  // ---- the end

  /**
   * Whether the end of a member that has completed waits for others.
   *
   * @param unfinished members that have not ended for good
   * @param then goes on with it
   */
  waitsForOthers(task: TaskIndex, unfinished: number, then: (now: Millis) => void): boolean {
    if (this.#broken !== undefined || this.#areAllCompleted) return false;
    this.#completed.set(task, then);
    if (this.#completed.size < unfinished) return true;
    this.#completed.delete(task);
    this.#areAllCompleted = true;
    return false;
  }

  /** Ends that waited for others. @param except of the member that has come to nothing since */
  takeCompleted(except?: TaskIndex): readonly ((now: Millis) => void)[] {
    if (except !== undefined) this.#completed.delete(except);
    const all = [...this.#completed.values()];
    this.#completed.clear();
    return all;
  }

  /** How the other members end; undefined: by themselves. */
  get broken(): Outcome | undefined {
    return this.#broken;
  }

  get areAllCompleted(): boolean {
    return this.#areAllCompleted;
  }

  /** @param isFinal the stage has failed; otherwise all members start again */
  break(reason: string, isFinal: boolean): void {
    const kind = isFinal ? 'failed' : 'lost';
    this.#broken = { ...COMPLETED, kind, errorCode: GANG_ENDED, errorMessage: reason };
    this.begin();
  }

  /** All members have ended. */
  settle(): void {
    this.#broken = undefined;
  }
}

/**
 * Explains why a gang's attempt ended, in one line.
 * @param outcome undefined: the worker returned the member
 */
export function whyBroken(rank: number, worker: string, outcome: Outcome | undefined): string {
  const member = `rank ${rank} of its gang`;
  if (outcome === undefined) return `${member} was returned by ${worker} before it started`;
  const { kind, errorMessage } = outcome;
  if (kind === 'lost' && errorMessage === '') return `${member} was lost with ${worker}`;
  const ended = kind === 'failed' ? 'failed' : kind === 'timeout' ? 'timed out' : 'was ended';
  return `${member} ${ended} on ${worker}: ${errorMessage}`;
}
