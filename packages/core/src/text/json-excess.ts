import { formatCount } from './counts.js';

/** Limits on JSON text. */
interface JsonLimits {
  /** Keys of all objects together; default: no limit. */
  readonly keysMax?: number;
  /** Keys of one object. */
  readonly keysPerObjectMax: number;
  readonly depthMax: number;
}

const LIMITS: JsonLimits = { keysPerObjectMax: 100_000, depthMax: 1_000 };
/** Shorter text cannot take much memory. Characters. */
const SHORT = 256 * 1024;

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [LEFT_BRACKET, RIGHT_BRACKET, LEFT_BRACE, RIGHT_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Returns why JSON must not be parsed: an object with many keys takes up to 300 bytes for each, and deep nesting exhausts
 * the stack. undefined: it may be parsed, and may be invalid.
 */
export function jsonExcess(text: string, limits: Partial<JsonLimits> = {}): string | undefined {
  if (text.length <= SHORT) return undefined;
  const { keysMax = Number.POSITIVE_INFINITY, keysPerObjectMax, depthMax } = { ...LIMITS, ...limits };
  /** Number of keys of each enclosing object or list. */
  const counts = [0];
  let keys = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) {
      const inObject = ++counts[counts.length - 1]!;
      if (++keys > keysMax) return `it has more than ${formatCount(keysMax)} keys`;
      if (inObject > keysPerObjectMax)
        return `an object in it has more than ${formatCount(keysPerObjectMax)} keys`;
    } else if (code === LEFT_BRACE || code === LEFT_BRACKET) {
      if (counts.push(0) > depthMax + 1) return `it is nested deeper than ${formatCount(depthMax)} levels`;
    } else if ((code === RIGHT_BRACE || code === RIGHT_BRACKET) && counts.length > 1) counts.pop();
  }
  return undefined;
}

/** Returns the place of the closing quote, or the end of the text. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
}
