/** One record of a journal, with the counted fields. */
interface Counted {
  readonly kind: string;
  readonly task?: number;
  readonly outcome?: { readonly kind: string };
  readonly key?: string | undefined;
}

/** The combined content of journals, record by record. */
export class Written {
  /** Ids of accepted jobs. */
  readonly accepted = new Set<string>();
  /** Their keys. */
  readonly keys = new Set<string>();
  readonly ended = new Set<string>();
  /** Number of counted results of tasks, by job. */
  readonly results = new Map<string, number>();
  /** Tasks with more than one result, as `job/task`, jobs with two ends, and keys with two jobs. */
  readonly doubled: string[] = [];
  readonly #completed = new Set<string>();

  add(id: string, { kind, task, outcome, key }: Counted): void {
    if (kind === 'accepted' && !this.accepted.has(id)) {
      this.accepted.add(id);
      if (key !== undefined) this.#once(this.keys, key);
    }
    if (kind === 'ended') this.#once(this.ended, id);
    if (kind !== 'attempt' || outcome?.kind !== 'completed') return;
    this.#once(this.#completed, `${id}/${task}`);
    this.results.set(id, (this.results.get(id) ?? 0) + 1);
  }

  #once(seen: Set<string>, name: string): void {
    if (seen.has(name)) this.doubled.push(name);
    seen.add(name);
  }
}
