import type { Live } from './live.js';
import type { Session } from './shapes.js';

/** Context of a part of the page, with its container and the rest of the address. */
export interface Place {
  readonly root: HTMLElement;
  readonly live: Live;
  readonly session: Session;
  /** Path in the address after the name of the part: an id. */
  readonly rest: string;
  readonly query: URLSearchParams;
  /** Aborted when another part is shown. */
  readonly signal: AbortSignal;
}

export function may({ session }: Place, role: 'submit' | 'operate'): boolean {
  return session.role === 'operate' || session.role === role;
}

/** Reads a color from the style sheet. Colors depend on dark mode. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Calls the function when dark or light mode changes, until the signal is aborted. */
export function onScheme(change: () => void, signal: AbortSignal): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', change, { signal });
}
