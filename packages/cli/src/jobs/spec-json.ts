const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns a submitted job as JSON: bytes become text, or base64 if they are not UTF-8. */
export function specJson(spec: unknown): unknown {
  if (spec instanceof Uint8Array) return textOf(spec);
  if (Array.isArray(spec)) return spec.map(specJson);
  if (typeof spec !== 'object' || spec === null) return spec;
  return Object.fromEntries(Object.entries(spec).map(([name, value]) => [name, specJson(value)]));
}

/** Returns bytes as text, or as base64 if they are not UTF-8. */
export function textOf(bytes: Uint8Array): string | { readonly base64: string } {
  try {
    return UTF_8.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}
