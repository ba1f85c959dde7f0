import { createHash } from 'node:crypto';
import { type Address, type Environment, GoshawkError, type Millis } from '@goshawk/core';
import { DealtSleeps } from '@goshawk/simulator';

/** These methods query a machine's environment without changing it. */
const QUESTIONS: ReadonlySet<string | symbol> = new Set(['random', 'nameOf', 'counted', 'busyMs']);
const CHUNK_LENGTH = 1 << 16;

/**
 * A hash of all effects of a run's machines, in order: messages with their content, timers set and cleared,
 * tasks started and killed, and ended jobs, each with its time and machine. Identical runs have equal hashes.
 *
 * It wraps the environments of the machines, so other runs have no overhead.
 */
export class EffectsHash {
  readonly #hash = createHash('sha256');
  #pending = '';

  /** Wraps the environment of a machine and records its effects. */
  readonly observe = <E extends Environment>(environment: E, self: Address, now: () => Millis): E => {
    const witnessed = new Map<string | symbol, unknown>();
    return new Proxy(environment, {
      get: (target, name) => {
        const known = witnessed.get(name);
        if (known !== undefined) return known;
        const effect: unknown = Reflect.get(target, name);
        if (typeof effect !== 'function') return effect;
        const note = (...given: unknown[]): unknown => {
          if (!QUESTIONS.has(name)) this.#note(`${now()} ${self} ${String(name)} ${given.map(written)}\n`);
          return effect.apply(target, given);
        };
        witnessed.set(name, note);
        return note;
      },
    });
  };

  /** Hash of all effects so far, in hexadecimal. No more can be added afterwards. */
  digest(): string {
    return this.#hash.update(this.#pending).digest('hex');
  }

  #note(line: string): void {
    this.#pending += line;
    if (this.#pending.length < CHUNK_LENGTH) return;
    this.#hash.update(this.#pending);
    this.#pending = '';
  }
}

/** Serializes a value so that different values have different texts. */
function written(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    return `[${Array.from(value as unknown as ArrayLike<unknown>, written)}]`;
  }
  if (value instanceof DealtSleeps) return `${value.dealt} dealt`;
  if (isJob(value)) return written([value.id, value.state, value.tasks.startedAt, value.tasks.runMs]);
  if (Object.getPrototypeOf(value) !== Object.prototype) {
    throw new GoshawkError(
      'internal',
      `an effect contains a ${value.constructor.name}, which cannot be hashed`,
    );
  }
  return `{${Object.entries(value).map(([name, each]) => `${name}:${written(each)}`)}}`;
}

interface EndedJob {
  readonly id: string;
  readonly state: string;
  readonly tasks: { readonly startedAt: Float64Array; readonly runMs: Float64Array };
}

/** Whether this is an ended job, whose owner includes mostly irrelevant details. */
function isJob(value: object): value is EndedJob {
  return 'id' in value && 'state' in value && 'tasks' in value && 'acceptedAt' in value;
}
