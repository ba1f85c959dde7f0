/** A reader that has seen enough (`goshawk jobs | head`) ends a command without an error. */
let handler = (): void => process.exit(process.exitCode ?? 0);

/** Sets what happens instead of that when the reader of stdout has gone. */
export function whenReaderHasGone(then: () => void): void {
  handler = then;
}

export function readerHasGone(): void {
  handler();
}
