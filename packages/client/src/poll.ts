import { type Message, type Millis, type Question, UnreachableError } from '@goshawk/core';
import type { Destination } from './attempts.js';
import type { CallOptions } from './options.js';
import type { Answer, Requests } from './requests.js';

interface Poll<T> {
  readonly answered: readonly T[];
  /** Who did not answer in time, as for people. */
  readonly silent: readonly string[];
}

/**
 * Asks many the same. One that does not answer is left out: the lease of a scheduler or worker that died
 * goes on for some seconds, and meanwhile the others' answers are worth having.
 *
 * @throws UnreachableError when nobody answers
 */
export async function poll<Q extends Question, D extends Destination, T>(
  requests: Requests,
  everyone: readonly D[],
  question: {
    readonly what: string;
    readonly timeoutMs: Millis;
    build(request: number): Message & { readonly type: Q };
    read(answer: Answer<Q>, of: D): T;
  },
  { signal }: CallOptions,
): Promise<Poll<T>> {
  const { what, timeoutMs, build, read } = question;
  const asked = everyone.map(async (one) =>
    read(await requests.ask<Q>({ what, build, timeoutMs, signal, to: () => one }), one),
  );
  const answered: T[] = [];
  const silent: string[] = [];
  const settled = await Promise.allSettled(asked);
  settled.forEach((outcome, index) => {
    if (outcome.status === 'fulfilled') answered.push(outcome.value);
    else if (outcome.reason instanceof UnreachableError) silent.push(everyone[index]!.title);
    else throw outcome.reason;
  });
  const first = settled[0];
  if (answered.length === 0 && first?.status === 'rejected') throw first.reason;
  return { answered, silent };
}
