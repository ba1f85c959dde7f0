import type { BatchPart, Needs } from '@goshawk/core';
import type { BookedStage } from './entries.js';
import { WaitingKind } from './waiting-kind.js';

/** Up to this many kinds without stages are kept, because short tasks of one kind come and go. */
const EMPTY_MAX = 64;

/** Counts waiting tasks by kind, so that the overview of the queue does not visit all stages. */
export class WaitingKinds {
  readonly #kinds = new Map<Needs, Map<number, WaitingKind>>();
  #empty = 0;

  /** Kinds with waiting tasks. */
  *all(): Iterable<WaitingKind> {
    for (const kinds of this.#kinds.values())
      for (const kind of kinds.values()) if (!kind.isEmpty) yield kind;
  }

  /** Call when the waiting tasks, the needs, the class, the part or the arrival of the stage have changed. */
  update(stage: BookedStage): void {
    const { waiting, needs, kind: before } = stage;
    if (before !== undefined) {
      before.tasks += waiting - stage.kindTasks;
      stage.kindTasks = waiting;
      if (waiting > 0 && before.needs === needs && before.key === keyOf(stage)) return;
      this.#leave(stage, before);
    }
    if (waiting > 0) this.#enter(stage);
  }

  /** Call when the class or the arrival of a job has changed. */
  updateJob(stages: Iterable<BookedStage>): void {
    for (const stage of stages) {
      this.update(stage);
      stage.kind?.set(stage);
    }
  }

  #enter(stage: BookedStage): void {
    const { needs, waiting } = stage;
    const key = keyOf(stage);
    let kinds = this.#kinds.get(needs);
    if (kinds === undefined) {
      kinds = new Map();
      this.#kinds.set(needs, kinds);
    }
    let kind = kinds.get(key);
    if (kind === undefined) {
      kind = new WaitingKind(needs, key);
      kinds.set(key, kind);
    } else if (kind.isEmpty) this.#empty--;
    kind.set(stage);
    kind.tasks += waiting;
    stage.kind = kind;
    stage.kindTasks = waiting;
  }

  #leave(stage: BookedStage, kind: WaitingKind): void {
    kind.delete(stage);
    kind.tasks -= stage.kindTasks;
    stage.kind = undefined;
    stage.kindTasks = 0;
    if (kind.isEmpty && ++this.#empty > EMPTY_MAX) this.#dropEmpty();
  }

  #dropEmpty(): void {
    for (const [needs, kinds] of this.#kinds) {
      for (const [key, kind] of kinds) if (kind.isEmpty) kinds.delete(key);
      if (kinds.size === 0) this.#kinds.delete(needs);
    }
    this.#empty = 0;
  }
}

const PARTS: Readonly<Record<BatchPart, number>> = { judged: 0, thin: 1, pilots: 2, early: 3 };

function keyOf({ job, part, gang, waiting }: BookedStage): number {
  return (gang ? 8 * waiting : 0) + 2 * PARTS[part] + (job.long ? 1 : 0);
}
