/** Returns a limit of the text of `/proc/PID/limits`, as numbers or `unlimited`; undefined if it is not listed. */
export function limitIn(
  text: string,
  name: string,
): { readonly soft: string; readonly hard: string } | undefined {
  const [, soft, hard] = new RegExp(`^${name} +(\\d+|unlimited) +(\\d+|unlimited)`, 'm').exec(text) ?? [];
  return soft === undefined ? undefined : { soft, hard: hard! };
}
