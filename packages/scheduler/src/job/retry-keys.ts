import { hashText, type RetryChoice } from '@goshawk/core';

/** Maximum number of keys that are kept. A client repeats only its latest retry request. */
const KEYS_MAX = 16;

/** The latest retries of a job, to recognize repeated requests. */
export class RetryKeys {
  readonly #retries: { readonly key: string; readonly choice: number }[] = [];

  add(key: string, choice: RetryChoice): void {
    this.#retries.push({ key, choice: hashOf(choice) });
    if (this.#retries.length > KEYS_MAX) this.#retries.shift();
  }

  /** Whether a retry had this key: the same request, or one that selected other tasks. */
  find(key: string, choice: RetryChoice): 'same' | 'other' | undefined {
    const known = this.#retries.find((each) => each.key === key);
    return known && (known.choice === hashOf(choice) ? 'same' : 'other');
  }
}

function hashOf({ failedOnly, tasks }: RetryChoice): number {
  const ranges = tasks?.map(({ first, last }) => `${first}-${last}`).join(',') ?? 'all';
  return hashText(`${failedOnly === true} ${ranges}`);
}
