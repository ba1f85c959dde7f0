import type { Logs } from './shapes.js';

type Chunk = Logs['chunks'][number];

/** A line of output, without its newline. */
export interface LogLine {
  readonly task: number;
  readonly stream: Chunk['stream'];
  /** When the line began to arrive. */
  readonly at: string;
  readonly text: string;
}

/**
 * Assembles chunks into lines, in the order in which the lines ended: a chunk may end within a line. Like a terminal, it
 * shows only the text after the last carriage return, as of a progress bar.
 */
export function linesOf(chunks: readonly Chunk[]): LogLine[] {
  const lines: LogLine[] = [];
  const open = new Map<string, { chunk: Chunk; text: string }>();
  const add = ({ task, stream, at }: Chunk, text: string): void => {
    lines.push({ task, stream, at, text: text.replace(/\r+$/, '').split('\r').at(-1)! });
  };
  for (const chunk of chunks) {
    const key = `${chunk.task} ${chunk.attempt} ${chunk.stream}`;
    const [first = '', ...others] = chunk.text.split('\n');
    const line = open.get(key) ?? { chunk, text: '' };
    open.set(key, line);
    if (line.text === '') line.chunk = chunk;
    line.text += first;
    for (const next of others) {
      add(line.chunk, line.text);
      line.chunk = chunk;
      line.text = next;
    }
  }
  for (const { chunk, text } of open.values()) if (text !== '') add(chunk, text);
  return lines;
}
