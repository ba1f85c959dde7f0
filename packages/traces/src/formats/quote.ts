const SHOWN_MAX = 40;

/** What a file holds, as it is shown in an error: in quotes, and not all of a long one. */
export function quote(text: string): string {
  return `'${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}'`;
}
