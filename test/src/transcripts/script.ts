/** A command of a transcript: `> submit s1 A tasks=2 sleep=100`. */
export interface Command {
  readonly name: string;
  /** The words without `=`, in order. */
  readonly words: readonly string[];
  readonly options: ReadonlyMap<string, string>;
}

const PROMPT = '> ';
/** Effects are indented below the command that caused them. */
export const INDENT = '  ';

/** The last line of a transcript if no message is in flight. */
export const NOTHING_ELSE = 'and nothing else';

/**
 * Returns the prose and commands of a transcript, without the lines that the runner writes: indented effects, and the last
 * line.
 */
export function writtenLines(transcript: string): string[] {
  const lines = transcript.split('\n').filter((line) => !line.startsWith(INDENT));
  while (lines.length > 0 && ['', NOTHING_ELSE].includes(lines.at(-1)!)) lines.pop();
  return lines;
}

/** @returns undefined for a line of prose */
export function parseCommand(line: string): Command | undefined {
  if (!line.startsWith(PROMPT)) return undefined;
  const [name = '', ...rest] = line.slice(PROMPT.length).trim().split(/\s+/);
  const words = rest.filter((part) => !part.includes('='));
  const options = new Map(
    rest
      .filter((part) => part.includes('='))
      .map((part) => {
        const at = part.indexOf('=');
        return [part.slice(0, at), part.slice(at + 1)] as const;
      }),
  );
  return { name, words, options };
}
