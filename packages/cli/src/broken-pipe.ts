/** Exits without an error when the reader of stdout is done (`goshawk jobs | head`). */
let handler = (): void => process.exit(process.exitCode ?? 0);

/** Replaces the default action when the reader of stdout is gone. */
export function onClosedStdout(then: () => void): void {
  handler = then;
}

export function readerHasGone(): void {
  handler();
}
