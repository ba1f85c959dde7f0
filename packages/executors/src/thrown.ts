import { ERROR_MESSAGE_LENGTH_MAX } from './limits.js';

/** Describes a thrown value of any type in one line: what it is, and where it was thrown. */
export function describeThrown(thrown: unknown): string {
  let text: string;
  try {
    if (thrown instanceof Error) {
      const frame = /^\s+at (?!.*\bnode:)(.*)$/m.exec(thrown.stack ?? '')?.[1];
      text = `${thrown.name}: ${thrown.message}${frame === undefined ? '' : ` (at ${frame})`}`;
    } else {
      text = `${String(thrown)} was thrown, which is not an Error`;
    }
  } catch {
    text = 'a value was thrown that cannot be printed';
  }
  text = text.replaceAll(/\s*\n\s*/g, ' ');
  return text.length > ERROR_MESSAGE_LENGTH_MAX ? `${text.slice(0, ERROR_MESSAGE_LENGTH_MAX)}…` : text;
}
