/** The benchmark message: five fields of typical kinds, 43 bytes packed. */
export type Body = readonly [kind: number, job: string, task: number, ms: number, flag: number];

/** First field of a body: what the receiver does with it. */
export const KIND = {
  /** Starts counting; `task` is the number of messages to count. */
  start: 0,
  /** The receiver replies with the same body. */
  ask: 1,
  /** The receiver counts it. */
  tell: 2,
  /** The receiver reports its count in `task`. */
  counted: 3,
} as const;

export function body(kind: number, task: number): Body {
  return [kind, 'V1StGXR8_Z5jdHi6B-myT', task, 1234.5, 1];
}
