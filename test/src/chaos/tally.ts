import type { Outcome } from './threads.js';

/** The totals of many runs. */
export class Tally {
  runs = 0;
  messages = 0;
  faults = 0;
  executions = 0;
  loans = 0;
  children = 0;
  #lendingRuns = 0;
  readonly failed: Outcome[] = [];
  readonly #faults = new Map<string, number>();
  readonly #orders = new Map<string, number>();

  add(outcome: Outcome): void {
    const { counts, executions, orders, complaints } = outcome;
    this.runs++;
    this.messages += counts.messages;
    this.faults += counts.faults;
    this.executions += executions;
    this.loans += counts.loans;
    this.children += counts.children;
    if (counts.loans > 0) this.#lendingRuns++;
    for (const [kind, count] of Object.entries(counts.byKind)) addTo(this.#faults, kind, count);
    for (const [state, count] of Object.entries(orders)) addTo(this.#orders, state, count);
    if (complaints.length > 0) this.failed.push(outcome);
  }

  /** Human-readable lines. */
  summary(seconds: number): string[] {
    return [
      `${number(this.runs)} runs in ${seconds.toFixed(0)} s: ${number(this.messages)} messages, ${number(this.faults)} faults, ${number(this.executions)} executions of tasks`,
      `loans: ${number(this.loans)} in ${number(this.#lendingRuns)} runs, and ${number(this.children)} to children`,
      `faults: ${list(this.#faults)}`,
      `orders: ${list(this.#orders)}`,
      this.failed.length === 0 ? 'nothing was broken' : `${this.failed.length} runs broke something`,
    ];
  }
}

function addTo(map: Map<string, number>, key: string, count: number): void {
  map.set(key, (map.get(key) ?? 0) + count);
}

function list(of: Map<string, number>): string {
  return [...of]
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${number(count)} ${kind}`)
    .join(', ');
}

function number(value: number): string {
  return value.toLocaleString('en-GB');
}
