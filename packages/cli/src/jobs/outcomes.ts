/** Maximum number of concurrent requests about jobs, whose schedulers may be slow or gone. */
const CONCURRENCY_MAX = 16;

/** Calls a function for each item, several at a time, and yields the outcomes in the order of the items. */
export async function* outcomesOf<T, R>(
  items: Iterable<T>,
  call: (item: T) => Promise<R>,
): AsyncGenerator<PromiseSettledResult<R>, void, undefined> {
  const begun: Promise<[PromiseSettledResult<R>]>[] = [];
  for (const item of items) {
    begun.push(Promise.allSettled([call(item)]));
    if (begun.length >= CONCURRENCY_MAX) yield (await begun.shift()!)[0];
  }
  for (const each of begun) yield (await each)[0];
}
