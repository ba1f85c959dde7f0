/** The fields that are not undefined, in their order: of what may be left out, a record has nothing rather than undefined. */
export function present<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const kept: Partial<Record<string, unknown>> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) kept[name] = value;
  return kept as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}
