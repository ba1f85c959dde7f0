/** Why a text cannot be passed on as it is: to a process, or in UTF-8. */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'a NUL byte cannot be passed to a process';
  return wellFormedProblem(text);
}

/** A half of a surrogate pair has no UTF-8: it would arrive as another character. */
export function wellFormedProblem(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'half of a character (a lone surrogate) cannot be passed on';
}
