/** Omits the fields that are undefined, and keeps the order of the others. */
export function present<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const kept: { [Name in keyof T]?: Exclude<T[Name], undefined> } = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined) kept[name] = value as Exclude<T[typeof name], undefined>;
  }
  return kept;
}
