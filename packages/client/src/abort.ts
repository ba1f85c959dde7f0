/** Calls back when the signal is aborted. @returns stops listening */
export function onAbort(signal: AbortSignal | undefined, callback: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const listener = (): void => callback(signal.reason);
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/** Gives up waiting when the signal is aborted; what was waited for goes on. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  let ignore = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    ignore = onAbort(signal, reject);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    ignore();
  }
}

/** Resolves after a while. @throws the signal's reason when it is aborted before */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      ignore();
      resolve();
    }, ms);
    const ignore = onAbort(signal, (reason) => {
      clearTimeout(timer);
      reject(reason);
    });
  });
}
