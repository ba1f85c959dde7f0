import type { Millis } from '@goshawk/core';

/**
 * Calls a function repeatedly until `ended`, with a pause after each call. Does not keep the process alive.
 *
 * @param pauseMs the pause, or a function that returns the next one
 */
export function repeatUntil(
  pauseMs: Millis | (() => Millis),
  ended: Promise<unknown>,
  check: () => unknown,
): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const later = (): void => {
    const ms = typeof pauseMs === 'number' ? pauseMs : pauseMs();
    timer = setTimeout(async () => {
      await check();
      if (!isOver) later();
    }, ms).unref();
  };
  void ended.then(() => {
    isOver = true;
    clearTimeout(timer);
  });
  later();
}
