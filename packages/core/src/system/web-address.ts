import { matchesGlob } from '../text/glob.js';

const WEB_ADDRESS = /^https?:\/\/(\[[\da-f:.]+\]|[\da-z._-]+)(?::\d{1,5})?(?:[/?#]\S*)?$/i;

/**
 * The host of an HTTP address, in lower case and without its port; undefined if the text is invalid or
 * contains a user name.
 */
export function webHostOf(text: string): string | undefined {
  return WEB_ADDRESS.exec(text)?.[1]?.toLowerCase();
}

/** Whether the host of an HTTP address matches one of the globs. */
export function isHostAllowed(address: string, globs: readonly string[]): boolean {
  const host = webHostOf(address);
  return host !== undefined && globs.some((glob) => matchesGlob(glob.toLowerCase(), host));
}
