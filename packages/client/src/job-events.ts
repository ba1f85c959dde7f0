import type { GoshawkError, JobEvent } from '@goshawk/core';
import { onAbort } from './abort.js';
import type { Asking } from './attempts.js';
import { type WatchOrder, watchJob } from './watches.js';

/** Yields events of a job until its end. A slow reader misses progress, of which only the latest is kept, but never the end. */
export async function* jobEvents(
  asking: Asking,
  order: WatchOrder,
  signal: AbortSignal | undefined,
): AsyncGenerator<JobEvent, void, undefined> {
  signal?.throwIfAborted();
  const news = new LatestEvent();
  const ignoreSignal = onAbort(signal, (reason) => news.fail(reason));
  const stop = watchJob(asking, order, {
    progress: (job) => news.put({ kind: 'progress', job }),
    ended: (event) => news.put(event),
    failed: (error: GoshawkError) => news.fail(error),
  });
  try {
    for (;;) {
      const event = await news.take();
      yield event;
      if (event.kind === 'ended') return;
    }
  } finally {
    ignoreSignal();
    stop();
  }
}

/** A buffer for one event and one reader. */
class LatestEvent {
  #event: JobEvent | undefined;
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  put(event: JobEvent): void {
    this.#event = event;
    this.#wake?.();
  }

  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake?.();
  }

  async take(): Promise<JobEvent> {
    if (this.#event === undefined && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure !== undefined) throw this.#failure.reason;
    const event = this.#event!;
    this.#event = undefined;
    return event;
  }
}
