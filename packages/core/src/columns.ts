type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

/** The column with room for `size` numbers, and for twice as many as before; what was in it stays where it was. */
export function grown<T extends Column>(column: T, size: number): T {
  const Kind = column.constructor as new (length: number) => T;
  const wider = new Kind(Math.max(size, 2 * column.length));
  wider.set(column);
  return wider;
}
