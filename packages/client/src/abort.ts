type Callback = (reason: unknown) => void;

interface Callbacks {
  readonly all: Set<Callback>;
  readonly listener: () => void;
}

/** One listener per signal, regardless of the number of callbacks: Node warns of a leak at the eleventh. */
const callbacksOf = new WeakMap<AbortSignal, Callbacks>();

/** Calls back once when the signal is aborted. @returns a function that stops listening */
export function onAbort(signal: AbortSignal | undefined, callback: Callback): () => void {
  if (signal === undefined) return () => {};
  const callbacks = callbacksOf.get(signal) ?? listenTo(signal);
  callbacks.all.add(callback);
  return () => {
    if (!callbacks.all.delete(callback) || callbacks.all.size > 0) return;
    signal.removeEventListener('abort', callbacks.listener);
    callbacksOf.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Callbacks {
  const all = new Set<Callback>();
  const listener = (): void => {
    callbacksOf.delete(signal);
    for (const callback of [...all]) if (all.delete(callback)) callback(signal.reason);
  };
  const callbacks = { all, listener };
  callbacksOf.set(signal, callbacks);
  signal.addEventListener('abort', listener, { once: true });
  return callbacks;
}

/** Stops waiting when the signal is aborted; the operation itself continues. */
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

/** Resolves after a delay. @throws the signal's reason if it is aborted before */
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
