/**
 * Splits `PATH#EXPORT` at the last `#` if the text before it is a file. A path may contain `#`, so otherwise
 * the whole text may be a file. If neither is a file here, because the module is on other machines, the text
 * after `#` is an export unless it looks like a path.
 *
 * @param exists reports whether a file exists
 */
export function splitModule(
  text: string,
  exists: (path: string) => boolean,
): { readonly path: string; readonly name: string | undefined } {
  const hash = text.lastIndexOf('#');
  const [path, name] = [text.slice(0, hash), text.slice(hash + 1)];
  const unnamed = { path: text, name: undefined };
  if (hash < 0) return unnamed;
  if (exists(path)) return { path, name };
  return exists(text) || /[/\\]|\.[cm]?[jt]s$/.test(name) ? unnamed : { path, name };
}
