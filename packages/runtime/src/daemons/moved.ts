import { isWildcard, type Logger, movedTo, parseEndpoint } from '@goshawk/transport';
import { repeatUntil } from './now-and-then.js';

interface Listening {
  readonly bind: string;
  readonly advertise?: string | undefined;
  readonly logger: Logger;
}

/** Check interval. ms */
const PAUSE_MS = 5_000;

/**
 * Ends this process if its machine has a new address, for example after a container joined another network. Peers use
 * the old address until a restart announces the new one.
 *
 * @param endpoint advertised endpoint
 */
export function endWhenMoved(
  { bind, advertise, logger }: Listening,
  endpoint: string,
  ended: Promise<unknown>,
  fail: (error: Error) => void,
): void {
  if (advertise !== undefined || !isWildcard(parseEndpoint(bind))) return;
  repeatUntil(PAUSE_MS, ended, () => {
    const now = movedTo(endpoint);
    if (now === undefined) return;
    const message = `peers expect this process at ${endpoint}, but this machine now has the address ${now}: restart the process`;
    logger.fatal({ endpoint, now }, message);
    fail(new Error(message));
  });
}
