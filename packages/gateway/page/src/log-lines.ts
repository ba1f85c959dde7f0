import type { Logs } from './shapes.js';

type Chunk = Logs['chunks'][number];

/** A line of output, without its newline. */
export interface LogLine {
  readonly task: number;
  readonly stream: Chunk['stream'];
  readonly text: string;
}

/**
 * Assembles chunks into lines, in the order in which the lines ended: a chunk may end within a line. Like a terminal, it
 * shows only the text after the last carriage return, as of a progress bar.
 */
export function linesOf(chunks: readonly Chunk[]): LogLine[] {
  const lines: LogLine[] = [];
  const open = new Map<string, { readonly chunk: Chunk; text: string }>();
  const add = ({ task, stream }: Chunk, text: string): void => {
    lines.push({ task, stream, text: text.replace(/\r+$/, '').split('\r').at(-1)! });
  };
  for (const chunk of chunks) {
    const key = `${chunk.task} ${chunk.attempt} ${chunk.stream}`;
    const [first = '', ...others] = chunk.text.split('\n');
    const line = open.get(key) ?? { chunk, text: '' };
    open.set(key, line);
    line.text += first;
    for (const next of others) {
      add(chunk, line.text);
      line.text = next;
    }
  }
  for (const { chunk, text } of open.values()) if (text !== '') add(chunk, text);
  return lines;
}
