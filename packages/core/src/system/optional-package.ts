/** Reports whether an import failed because the package itself is not installed. */
export function isAbsent(error: unknown, name: string): boolean {
  const { code, message } = error as Error & { readonly code?: string };
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes(`'${name}'`);
}
