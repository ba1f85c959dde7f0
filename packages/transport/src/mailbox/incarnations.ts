const PLACES_MAX = 65_536;
const RETIRED_MAX = 8;
const NONE: ReadonlyMap<string, number> = new Map();

interface Succession {
  current: string;
  /** Incarnations that were superseded, and when; the latest last. */
  readonly retired: Map<string, number>;
}

export type Standing =
  /** It speaks for its endpoint, as before. */
  | 'current'
  /** It speaks for its endpoint from now on; another one did before. */
  | 'successor'
  /** It was superseded. */
  | 'retired';

/**
 * Which incarnation lives at each place (an endpoint, as one role; see `placeOf`), as far as can be told from
 * who was heard. A worker that says that it lives where central does thereby succeeds nobody.
 *
 * Two processes cannot bind one endpoint, so one never heard before is taken for the successor of the
 * last. That is a guess: frames of a process that died can be read after the first one of its successor.
 * If the dead one was never heard before, it is taken for the successor; the living one becomes current
 * again when it still speaks after the grace time.
 */
export class Incarnations {
  private readonly successions = new Map<string, Succession>();
  private readonly graceMs: number;

  constructor(graceMs: number) {
    this.graceMs = graceMs;
  }

  heard(place: string, incarnation: string, nowMs: number): Standing {
    const succession = this.successions.get(place);
    if (succession === undefined) {
      this.begin(place, incarnation);
      return 'current';
    }
    if (succession.current === incarnation) {
      return 'current';
    }
    const retiredAtMs = succession.retired.get(incarnation);
    if (retiredAtMs !== undefined && nowMs - retiredAtMs < this.graceMs) {
      return 'retired';
    }
    succession.retired.delete(incarnation);
    succession.retired.set(succession.current, nowMs);
    succession.current = incarnation;
    dropFirst(succession.retired, RETIRED_MAX);
    return 'successor';
  }

  /** Who was heard at a place last; undefined where nobody was. */
  currentAt(place: string): string | undefined {
    return this.successions.get(place)?.current;
  }

  /** The incarnations that were superseded at a place; kept current. */
  retiredAt(place: string): ReadonlyMap<string, number> {
    return this.successions.get(place)?.retired ?? NONE;
  }

  private begin(place: string, incarnation: string): void {
    this.successions.set(place, { current: incarnation, retired: new Map() });
    dropFirst(this.successions, PLACES_MAX);
  }
}

function dropFirst<Key>(map: Map<Key, unknown>, sizeMax: number): void {
  for (const key of map.keys()) {
    if (map.size <= sizeMax) {
      return;
    }
    map.delete(key);
  }
}
