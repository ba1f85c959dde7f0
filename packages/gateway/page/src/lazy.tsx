import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Waiting } from './ui.js';

/** A part of the page that the browser loads when it is first shown. */
export class LazyModule<M> {
  readonly #load: () => Promise<M>;
  loaded: M | undefined;
  #loading: Promise<M> | undefined;

  constructor(load: () => Promise<M>) {
    this.#load = load;
  }

  /** Loads the part once; after a failure, the next call tries again. */
  async get(): Promise<M> {
    this.#loading ??= this.#load();
    try {
      this.loaded = await this.#loading;
      return this.loaded;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }
}

/** Shows a part once it is loaded. */
export function Lazy<M>({
  part,
  children,
}: {
  readonly part: LazyModule<M>;
  readonly children: (module: M) => ComponentChildren;
}) {
  const [module, setModule] = useState(part.loaded);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let isShown = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    part.get().then(
      (loaded) => {
        if (isShown) setModule(loaded);
      },
      () => {
        // The gateway is away. The page says so, and its own requests are repeated, too.
        timer = setTimeout(() => setAttempt(attempt + 1), 1_000);
      },
    );
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, [part, attempt]);
  return <>{module === undefined ? <Waiting words="Loading …" /> : children(module)}</>;
}
