import type { Millis } from '@goshawk/core';
import type { z } from 'zod';
import type { overview } from './schemas.js';

export type Attention = z.infer<typeof overview>['attention'][number];
type Action = Attention['actions'][number];

/** A condition that needs attention now. */
export interface Finding extends Pick<Attention, 'level' | 'what' | 'hint' | 'link'> {
  /** Identifies the condition across polls, while its texts change. */
  readonly key: string;
  /** When it began, if that is known; wall clock. */
  readonly since?: Millis | undefined;
  /** Whether it is listed for an hour after its end, because its end repairs nothing. */
  readonly isLasting?: boolean | undefined;
  readonly actions?: readonly Action[] | undefined;
  /** Keys of conditions that this one includes. */
  readonly covers?: readonly string[] | undefined;
  /** What follows the hint, and further actions, as of the time at which the condition is shown. */
  readonly more?: (() => Pick<Finding, 'hint' | 'actions'>) | undefined;
}

/** Time (ms) for which an ended condition is listed, and over which its occurrences are counted. */
const SHOWN_MS = 3_600_000;
/** Maximum number of ended conditions that are listed. */
const OVER_MAX = 10;
/** Time (ms) after which a condition that comes and goes with the sample counts as a new one. */
const PAUSE_MS = 60_000;

/** Time (ms) between a beginning as observed, and as central recorded it. */
const SAME_MS = 10_000;

interface Known {
  finding: Finding;
  since: Millis;
  /** Time of the last observation. */
  seen: Millis;
  isOver: boolean;
  /** Times at which it began. */
  begins: Millis[];
}

/** Remembers since when a condition has been true, how often, and that it was true a short time ago. */
export class AttentionLog {
  readonly #known = new Map<string, Known>();

  /**
   * Takes the conditions of one poll.
   *
   * @param now wall clock
   * @returns the present conditions in their order, then those that ended within the last hour, latest first
   */
  note(findings: readonly Finding[], now: Millis): Attention[] {
    const present = new Set<string>();
    for (const finding of findings) {
      present.add(finding.key);
      this.#see(finding, now);
    }
    for (const [key, known] of this.#known) {
      if (!present.has(key)) known.isOver = true;
      // The clock may have been set back.
      const isOld = now - known.seen > SHOWN_MS || known.seen > now;
      const isForgotten = !known.finding.isLasting && now - known.seen > PAUSE_MS;
      if (known.isOver && (isOld || isForgotten)) this.#known.delete(key);
    }
    const covered = new Set(findings.flatMap(({ covers = [] }) => covers));
    const over = [...this.#known.values()]
      .filter(({ isOver, finding }) => isOver && finding.isLasting === true && !covered.has(finding.key))
      .sort((one, other) => other.seen - one.seen)
      .slice(0, OVER_MAX);
    return [...[...present].map((key) => this.#known.get(key)!), ...over].map((known) => shown(known, now));
  }

  /**
   * Takes the beginning (with a finding) or the end of a condition from the events of the cluster, oldest first: it may have
   * been before this process started, or too short for a poll.
   *
   * @param at wall clock
   */
  recall(key: string, finding: Finding | undefined, at: Millis): void {
    const known = this.#known.get(key);
    if (finding === undefined) {
      if (known === undefined || known.seen > at) return;
      // A member that joins again, as after a restart of central, ends nothing a second time.
      if (known.isOver && at - known.seen > SAME_MS) return;
      known.seen = at;
      known.isOver = true;
    } else if (known === undefined) {
      this.#known.set(key, { finding, since: at, seen: at, isOver: false, begins: [at] });
    } else if (known.begins.every((begun) => Math.abs(begun - at) > SAME_MS)) {
      known.begins.push(at);
      if (at > known.since)
        Object.assign(known, { since: at, seen: Math.max(at, known.seen), isOver: false });
    }
  }

  #see(finding: Finding, now: Millis): void {
    const { key, since = now } = finding;
    const known = this.#known.get(key);
    if (known === undefined) {
      this.#known.set(key, { finding, since, seen: now, isOver: false, begins: [since] });
      return;
    }
    // A lasting condition that ended and is true again has begun again.
    if (known.isOver && (finding.isLasting === true || now - known.seen > PAUSE_MS)) {
      known.since = since;
      known.begins = [...known.begins.filter((at) => now - at <= SHOWN_MS), since];
    }
    Object.assign(known, { finding, seen: now, isOver: false });
  }
}

function shown({ finding, since, seen, isOver, begins }: Known, now: Millis): Attention {
  const { key, level, what, link, actions = [] } = finding;
  const more = finding.more?.();
  return {
    ...{ key, level, what, link, hint: `${finding.hint}${more?.hint ?? ''}` },
    actions: [...actions, ...(more?.actions ?? [])],
    since: new Date(since).toISOString(),
    times: begins.filter((at) => now - at <= SHOWN_MS || at === since).length,
    over: isOver ? new Date(seen).toISOString() : null,
  };
}

/** A button on the page; the fields that the verb does not need are null. */
export function actionOf(verb: Action['verb'], on: Partial<Omit<Action, 'verb'>>): Action {
  return { verb, job: null, task: null, worker: null, ...on };
}
