import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from './api.js';

/** The last answer to a request that is repeated, and the last error. */
export interface Answer<T> {
  readonly data: T | undefined;
  /** Error of the last request; undefined: it succeeded, or none has ended. */
  readonly error: ApiError | undefined;
  /** Path of `data`. */
  readonly path: string | undefined;
  /** Time at which `data` arrived, ms since 1970. */
  readonly at: number;
  /** Requests the answer again. */
  readonly reload: () => void;
}

/** Requests one path at a time, so that answers arrive in order, and repeats a request that was asked for meanwhile. */
export class Loader<T> {
  readonly #show: (path: string, answer: { readonly data?: T; readonly error?: ApiError }) => void;
  readonly #get: (path: string, signal: AbortSignal) => Promise<T>;
  #path: string | undefined;
  #running: AbortController | undefined;
  #isWanted = false;

  constructor(
    show: (path: string, answer: { readonly data?: T; readonly error?: ApiError }) => void,
    request: (path: string, signal: AbortSignal) => Promise<T> = get,
  ) {
    this.#show = show;
    this.#get = request;
  }

  ask(path: string): void {
    if (path !== this.#path) this.stop();
    this.#path = path;
    this.#isWanted = this.#running !== undefined;
    if (!this.#isWanted) void this.#run(path);
  }

  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#isWanted = false;
    this.#path = undefined;
  }

  async #run(path: string): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    let answer: { readonly data?: T; readonly error?: ApiError };
    try {
      answer = { data: await this.#get(path, running.signal) };
    } catch (error) {
      if (!running.signal.aborted && !(error instanceof ApiError)) reportError(error);
      answer = error instanceof ApiError ? { error } : {};
    }
    if (running.signal.aborted) return;
    this.#running = undefined;
    this.#show(path, answer);
    if (this.#isWanted && this.#path === path) this.ask(path);
  }
}

const NONE = { data: undefined, error: undefined, path: undefined, at: 0 } as const;

/**
 * Requests a path now, whenever the path or `tick` changes, and every `everyMs`. Earlier data stays until the answer arrives.
 *
 * @param path undefined: no request
 */
export function useAnswer<T>(path: string | undefined, tick: unknown = 0, everyMs?: number): Answer<T> {
  const [shown, setShown] = useState<Omit<Answer<T>, 'reload'>>(NONE);
  const loader = useRef<Loader<T> | undefined>(undefined);
  loader.current ??= new Loader<T>((of, { data, error }) =>
    setShown((old) =>
      data === undefined ? { ...old, error } : { data, error: undefined, path: of, at: Date.now() },
    ),
  );
  const reload = (): void => {
    if (path !== undefined) loader.current!.ask(path);
  };
  useEffect(reload, [path, tick]);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [path, everyMs]);
  useEffect(() => () => loader.current!.stop(), []);
  return { ...shown, reload };
}
