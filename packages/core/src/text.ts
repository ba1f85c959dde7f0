/** Why a text cannot be passed on as it is: to a process, or in UTF-8. */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'a NUL byte cannot be passed to a process';
  return wellFormedProblem(text);
}

/** A half of a surrogate pair has no UTF-8: it would arrive as another character. */
export function wellFormedProblem(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'half of a character (a lone surrogate) cannot be passed on';
}

/** Bytes of the text in UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    // Each half of a surrogate pair counts for two of its four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return bytes;
}
