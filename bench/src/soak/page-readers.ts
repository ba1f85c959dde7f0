import { PARTS } from './page-parts.js';

/**
 * Opens readers of a gateway, each of which sends the requests of another part of the page at its interval and draws
 * nothing.
 */
export async function openReaders(url: string, count: number): Promise<AsyncDisposable> {
  const stop = new AbortController();
  const opened = Array.from({ length: count }, (_, index) =>
    openReader(url, PARTS[index % PARTS.length]!, stop.signal),
  );
  const readers = await Promise.all(opened);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(readers.map(({ ended }) => ended));
    },
  };
}

async function openReader(url: string, { asks, everyMs }: (typeof PARTS)[number], signal: AbortSignal) {
  const events = await fetch(new URL('/v1/events', url), { signal });
  if (!events.ok) throw new Error(`the gateway answers ${events.status}`);
  const read = async (): Promise<void> => {
    let askedAt = Number.NEGATIVE_INFINITY;
    let text = '';
    for await (const part of events.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        // The last event of each update.
        if (!event.startsWith('event: workers') || performance.now() - askedAt < everyMs) continue;
        askedAt = performance.now();
        await Promise.all(asks.map((path) => ask(new URL(path, url), signal)));
      }
    }
  };
  const ended = read().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  // The error is reported when the reader is closed.
  ended.catch(() => {});
  return { ended };
}

/** A gateway may close an idle connection while a request is sent; browsers then send it again. */
async function ask(url: URL, signal: AbortSignal): Promise<void> {
  const answer = await fetch(url, { signal }).catch(() => fetch(url, { signal }));
  await answer.json();
}
