const PLACES_MAX = 65_536;
const RETIRED_MAX = 8;
const NONE: ReadonlyMap<string, number> = new Map();

/**
 * Messages of a superseded process that arrive later than this, in ms, were not just read late: the process is alive.
 */
const LATE_READ_MS = 5_000;
const DISPUTES_MAX = 8;

/** Two live processes that claim the same place. */
interface Dispute {
  readonly place: string;
  readonly current: string;
  readonly other: string;
}

interface Succession {
  current: string;
  lastSeenMs: number;
  /** Superseded incarnations with the time of their replacement, latest last. */
  readonly retired: Map<string, number>;
}

type IncarnationState =
  /** It is the current incarnation, as before. */
  | 'current'
  /** It replaces the previous incarnation. */
  | 'successor'
  /** It was superseded. */
  | 'retired';

/**
 * Tracks the current incarnation at each place from the messages that arrive. A place is an endpoint and a role (see
 * `placeOf`), so a worker that claims central's endpoint does not supersede central.
 * Two processes cannot bind one endpoint, so a new incarnation counts as the successor of the current one. That may be
 * wrong: the first frame of a dead process may be read after the first frame of its successor. The live process becomes
 * current again if it still sends after the grace period. If both send, the one that became current last stays current.
 */
export class Incarnations {
  readonly #successions = new Map<string, Succession>();
  readonly #graceMs: number;
  readonly #disputed = new Map<string, Dispute & { readonly lastSeenMs: number }>();

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  observe(place: string, incarnation: string, nowMs: number): IncarnationState {
    const succession = this.#successions.get(place);
    if (succession === undefined) {
      this.#begin(place, incarnation, nowMs);
      return 'current';
    }
    if (succession.current === incarnation) {
      succession.lastSeenMs = nowMs;
      return 'current';
    }
    const retiredAtMs = succession.retired.get(incarnation);
    if (retiredAtMs !== undefined && nowMs - Math.max(retiredAtMs, succession.lastSeenMs) < this.#graceMs) {
      if (Math.min(nowMs, succession.lastSeenMs) - retiredAtMs >= LATE_READ_MS) {
        this.#disputed.set(place, {
          place,
          current: succession.current,
          other: incarnation,
          lastSeenMs: nowMs,
        });
        dropFirst(this.#disputed, DISPUTES_MAX);
      }
      return 'retired';
    }
    succession.retired.delete(incarnation);
    succession.retired.set(succession.current, nowMs);
    succession.current = incarnation;
    succession.lastSeenMs = nowMs;
    dropFirst(succession.retired, RETIRED_MAX);
    return 'successor';
  }

  /** Returns the latest incarnation at a place; undefined if there is none. */
  currentAt(place: string): string | undefined {
    return this.#successions.get(place)?.current;
  }

  /** Returns the superseded incarnations of a place, as a live view. */
  retiredAt(place: string): ReadonlyMap<string, number> {
    return this.#successions.get(place)?.retired ?? NONE;
  }

  /** Returns places from which two incarnations sent within the grace period. */
  disputes(nowMs: number): readonly Dispute[] {
    return [...this.#disputed.values()].filter(({ lastSeenMs }) => nowMs - lastSeenMs < this.#graceMs);
  }

  #begin(place: string, incarnation: string, nowMs: number): void {
    this.#successions.set(place, { current: incarnation, lastSeenMs: nowMs, retired: new Map() });
    dropFirst(this.#successions, PLACES_MAX);
  }
}

function dropFirst<Key>(map: Map<Key, unknown>, sizeMax: number): void {
  for (const key of map.keys()) {
    if (map.size <= sizeMax) return;
    map.delete(key);
  }
}
