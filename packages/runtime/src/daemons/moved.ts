import { isWildcard, type Logger, movedTo, parseEndpoint } from '@goshawk/transport';

interface Listening {
  readonly bind: string;
  readonly advertise?: string | undefined;
  readonly logger: Logger;
}

/** Between two looks. ms */
const PAUSE_MS = 5_000;

/**
 * Ends a process that tells others the address of its machine when the machine has another one in place of that, as a
 * container that was put into another network: peers would go on looking for it where it is not. Whoever starts it again
 * has a process that tells the new one.
 *
 * @param endpoint where others look for it
 */
export function endWhenMoved(
  { bind, advertise, logger }: Listening,
  endpoint: string,
  ended: Promise<unknown>,
  fail: (error: Error) => void,
): void {
  if (advertise !== undefined || !isWildcard(parseEndpoint(bind))) return;
  const timer = setInterval(() => {
    const now = movedTo(endpoint);
    if (now === undefined) return;
    const message = `others look for this process at ${endpoint}, and this machine has the address ${now} instead: start it again`;
    logger.fatal({ endpoint, now }, message);
    clearInterval(timer);
    fail(new Error(message));
  }, PAUSE_MS);
  timer.unref();
  void ended.then(() => clearInterval(timer));
}
