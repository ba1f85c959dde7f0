/** Text of one color. */
export interface Span {
  readonly text: string;
  /** Classes of the style sheet; empty for default text. */
  readonly classes: string;
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;
/** Matches CSI sequences with their final character, OSC sequences, other escapes, and control characters except tabs. */
const SEQUENCES = new RegExp(
  [
    '\\u001b\\[([0-9;:?]*)[ -/]*([@-~])',
    '\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?',
    '\\u001b.?',
    '[\\u0000-\\u0008\\u000b-\\u001a\\u001c-\\u001f\\u007f]',
  ].join('|'),
  'g',
);

/** Splits a line by color. Sequences that move the cursor, set titles or add links are dropped. */
export function ansiSpans(line: string): Span[] {
  const spans: Span[] = [];
  let colour = '';
  let isBold = false;
  let at = 0;
  const add = (text: string): void => {
    const classes = [isBold ? 'ansi-bold' : '', colour].filter((each) => each !== '').join(' ');
    if (text !== '') spans.push({ text, classes });
  };
  for (const match of line.matchAll(SEQUENCES)) {
    add(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] !== 'm') continue;
    const codes = (match[1] ?? '').split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i]!;
      if (code === 0) [colour, isBold] = ['', false];
      else if (code === 1) isBold = true;
      else if (code === 22) isBold = false;
      else if (code === 39) colour = '';
      else if (code >= 30 && code <= 37) colour = `ansi-${COLOURS[code - 30]!}`;
      else if (code >= 90 && code <= 97) colour = `ansi-${COLOURS[code - 90]!}`;
      // Skips the parameters of 256-color and RGB codes.
      else if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4;
    }
  }
  add(line.slice(at));
  return spans;
}
