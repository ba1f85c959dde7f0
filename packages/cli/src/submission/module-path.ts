/**
 * Divides `PATH#EXPORT`. A path may have a `#` as well, so it ends at the last one if that makes it a file; otherwise the whole
 * text may be one. Where neither is a file here, as on other machines, the text after `#` is a name unless it looks like a path.
 *
 * @param exists whether there is such a file
 */
export function splitModule(
  text: string,
  exists: (path: string) => boolean,
): { readonly path: string; readonly name: string | undefined } {
  const hash = text.lastIndexOf('#');
  const [path, name] = [text.slice(0, hash), text.slice(hash + 1)];
  const whole = { path: text, name: undefined };
  if (hash < 0) return whole;
  if (exists(path)) return { path, name };
  return exists(text) || /[/\\]|\.[cm]?[jt]s$/.test(name) ? whole : { path, name };
}
