import type { Millis } from '@goshawk/core';

/**
 * Looks each time that so long has passed since the last look, until `ended`. Keeps no process alive.
 *
 * @param pauseMs how long, or what says it before each look
 */
export function nowAndThen(
  pauseMs: Millis | (() => Millis),
  ended: Promise<unknown>,
  look: () => unknown,
): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const later = (): void => {
    const ms = typeof pauseMs === 'number' ? pauseMs : pauseMs();
    timer = setTimeout(async () => {
      await look();
      if (!isOver) later();
    }, ms).unref();
  };
  void ended.then(() => {
    isOver = true;
    clearTimeout(timer);
  });
  later();
}
