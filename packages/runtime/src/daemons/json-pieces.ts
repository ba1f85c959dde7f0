/** Number of array elements written at a time. */
const ELEMENTS = 256;

/** Yields the JSON of plain values in chunks, so that the process can do other work in between. */
export function* jsonPieces(value: unknown): Generator<string> {
  if (Array.isArray(value) && value.length > ELEMENTS) {
    for (let first = 0; first < value.length; first += ELEMENTS) {
      const piece = JSON.stringify(value.slice(first, first + ELEMENTS));
      yield `${first === 0 ? '[' : ','}${piece.slice(1, -1)}`;
    }
    yield ']';
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    let before = '{';
    for (const [name, of] of Object.entries(value)) {
      if (of === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* jsonPieces(of);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else {
    yield JSON.stringify(value);
  }
}
