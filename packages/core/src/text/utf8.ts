/** Explains why a text cannot be passed to a process or encoded in UTF-8; undefined if it can. */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'a NUL byte cannot be passed to a process';
  return wellFormedProblem(text);
}

/** Checks for lone surrogates, which UTF-8 cannot encode: they would arrive as other characters. */
export function wellFormedProblem(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'half of a character (a lone surrogate) cannot be passed on';
}

/** Length of the text in UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    // Each half of a surrogate pair counts for two of its four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return bytes;
}
