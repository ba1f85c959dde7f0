const NEWLINE = 0x0a;

/**
 * A file's lines as they are, each with its newline; the last one may have none. Put together they are the
 * file again, byte for byte. The lines are views of `bytes`.
 */
export function splitLines(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline + 1;
    lines.push(bytes.subarray(from, end));
    from = end;
  }
  return lines;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Why a line cannot stand in an argument or a variable. */
type NoText = 'is not valid UTF-8' | 'holds a NUL byte';

/** The line without its newline, as text that a process can be given; else why not. */
export function textOf(line: Uint8Array): { readonly text: string } | { readonly problem: NoText } {
  const end = line.at(-1) === NEWLINE ? line.length - 1 : line.length;
  try {
    const text = UTF_8.decode(line.subarray(0, end));
    return text.includes('\0') ? { problem: 'holds a NUL byte' } : { text };
  } catch {
    return { problem: 'is not valid UTF-8' };
  }
}
