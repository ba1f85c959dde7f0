import type { Millis } from '@goshawk/core';

/** Looks each time that so long has passed since the last look, until `ended`. Keeps no process alive. */
export function nowAndThen(pauseMs: Millis, ended: Promise<unknown>, look: () => unknown): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const later = (): void => {
    timer = setTimeout(async () => {
      await look();
      if (!isOver) later();
    }, pauseMs).unref();
  };
  void ended.then(() => {
    isOver = true;
    clearTimeout(timer);
  });
  later();
}
