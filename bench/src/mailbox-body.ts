/** The benchmark message: five fields of typical kinds, 43 bytes packed. */
export type Body = readonly [kind: number, job: string, task: number, ms: number, flag: number];

/** First field of a body: what the receiver does with it. */
export const KIND = {
  /** Counting starts; `task` says to how many. */
  start: 0,
  /** Answered with the same body. */
  ask: 1,
  /** Counted. */
  tell: 2,
  /** The receiver's word on how many it has counted; `task` says it. */
  counted: 3,
} as const;

export function body(kind: number, task: number): Body {
  return [kind, 'V1StGXR8_Z5jdHi6B-myT', task, 1234.5, 1];
}
