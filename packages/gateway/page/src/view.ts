import type { Live } from './live.js';
import type { Session } from './shapes.js';

/** Context of a part of the page: its container, and its part of the address. */
export interface Place {
  readonly root: HTMLElement;
  readonly live: Live;
  readonly session: Session;
  /** Rest of the address after the part's name: an id. */
  readonly rest: string;
  readonly query: URLSearchParams;
  /** Aborted when another part is shown. */
  readonly signal: AbortSignal;
}

export function may({ session }: Place, role: 'submit' | 'operate'): boolean {
  return session.role === 'operate' || session.role === role;
}

/** Reads a color from the style sheet, which depends on dark mode. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Calls on a change between dark and light mode, until the signal is aborted. */
export function onScheme(change: () => void, signal: AbortSignal): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', change, { signal });
}
