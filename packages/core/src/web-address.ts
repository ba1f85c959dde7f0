const WEB_ADDRESS = /^https?:\/\/(\[[\da-f:.]+\]|[\da-z._-]+)(?::\d{1,5})?(?:[/?#]\S*)?$/i;

/** The host of an HTTP address, in lower case and without its port; undefined if the text is none, or names a user. */
export function webHostOf(text: string): string | undefined {
  return WEB_ADDRESS.exec(text)?.[1]?.toLowerCase();
}
