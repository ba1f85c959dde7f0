/** An omission or decision of a reader, a sampler or a writer, and its count. */
export interface Tallied {
  /** Stable code for programs. */
  readonly code: string;
  /** The counted thing and its handling: `jobs submitted before the trace began: omitted`. */
  readonly what: string;
  readonly count: number;
}

export type Countable = Pick<Tallied, 'code' | 'what'>;

/** Counts the changes made when converting a trace to jobs, or jobs to a trace. */
export class Tally {
  readonly #byCode = new Map<string, { readonly what: string; count: number }>();

  add({ code, what }: Countable, count = 1): void {
    const counted = this.#byCode.get(code);
    if (counted !== undefined) counted.count += count;
    else if (count > 0) this.#byCode.set(code, { what, count });
  }

  /** Counts in order of first occurrence. */
  list(): Tallied[] {
    return [...this.#byCode].map(([code, { what, count }]) => ({ code, what, count }));
  }
}

/** Formats one line per count, without line ends. */
export function formatTally(tallied: readonly Tallied[]): string[] {
  const counts = tallied.map(({ count }) => count.toLocaleString('en-US'));
  const width = Math.max(0, ...counts.map((count) => count.length));
  return tallied.map(({ what }, i) => `${counts[i]!.padStart(width)}  ${what}`);
}
