import { PAPER_POLICY_NAMES } from '@goshawk/core';

/** Returns whether the name refers to a module that must be loaded: a file, or a policy of the papers. */
export function isLoaded(name: string): boolean {
  return isCustom(name) || PAPER_POLICY_NAMES.includes(name);
}

/** Returns whether the name is a path of a user's module, such as `./mine.js`, and not a built-in name. */
export function isCustom(name: string): boolean {
  return /[/\\]|\.[cm]?[jt]s$/.test(name);
}
