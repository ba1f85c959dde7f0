import { inspect } from 'node:util';
import { ERROR_MESSAGE_LENGTH_MAX } from './limits.js';

/** Maximum depth of causes. A chain of causes may be circular. */
const CAUSE_DEPTH_MAX = 4;

/** Frames of the executor say nothing about the function that failed. */
const OWN_FOLDER = new URL('.', import.meta.url).href;

/** Describes a thrown value of any type in one line: what it is, where it was thrown, and its causes. */
export function describeThrown(thrown: unknown): string {
  let text: string;
  try {
    text =
      thrown instanceof Error
        ? describeError(thrown, frameOf(thrown))
        : `${describeOther(thrown)} was thrown, which is not an Error`;
  } catch {
    text = 'a value was thrown that cannot be printed';
  }
  text = text.replaceAll(/\s*\n\s*/g, ' ');
  return text.length > ERROR_MESSAGE_LENGTH_MAX ? `${text.slice(0, ERROR_MESSAGE_LENGTH_MAX)}…` : text;
}

/** The causes often have the reason: those of `fetch failed` say which connection was refused. */
function describeError(error: Error, frame: string, depth = 1): string {
  const { name, message, cause } = error;
  const causes = [
    ...(error instanceof AggregateError ? error.errors : []),
    ...(cause === undefined ? [] : [cause]),
  ];
  const head = `${name}: ${message || ((error as NodeJS.ErrnoException).code ?? '')}${frame}`;
  if (causes.length === 0 || depth === CAUSE_DEPTH_MAX) return head;
  const texts = causes.map((each) =>
    each instanceof Error ? describeError(each, '', depth + 1) : describeOther(each),
  );
  return `${head}; cause: ${texts.join(', ')}`;
}

function frameOf({ stack = '' }: Error): string {
  const frames = [...stack.matchAll(/^\s+at (.*)$/gm)].map(([, frame]) => frame!);
  const frame = frames.find((each) => !/\bnode:/.test(each) && !each.includes(OWN_FOLDER));
  return frame === undefined ? '' : ` (at ${frame})`;
}

function describeOther(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { breakLength: Number.POSITIVE_INFINITY });
}
