import { PAPER_POLICY_NAMES } from '@goshawk/core';

/** Whether the name stands for a module that must be loaded: a file, or a policy of the papers. */
export function isLoaded(name: string): boolean {
  return isOwn(name) || PAPER_POLICY_NAMES.includes(name);
}

/** A file of one's own, and not a name of the table: `./mine.js`. */
export function isOwn(name: string): boolean {
  return /[/\\]|\.[cm]?[jt]s$/.test(name);
}
