/** Merges sorted sources into one sorted sequence. Of equal items, that of the earlier source comes first. */
export function* mergedInOrder<T>(
  sources: readonly Iterable<T>[],
  isBefore: (one: T, other: T) => boolean,
): Iterable<T> {
  if (sources.length === 1) return yield* sources[0]!;
  const cursors = sources.map((source) => source[Symbol.iterator]());
  const heads = cursors.map((cursor) => cursor.next());
  for (;;) {
    let first = -1;
    for (let at = 0; at < heads.length; at++)
      if (heads[at]!.done !== true && (first < 0 || isBefore(heads[at]!.value, heads[first]!.value)))
        first = at;
    if (first < 0) return;
    yield heads[first]!.value;
    heads[first] = cursors[first]!.next();
  }
}
