import type { Logger } from '@goshawk/transport';
import { descriptorReadings } from '../metrics/index.js';
import { repeatUntil } from './now-and-then.js';

const CHECK_MS = 10_000;
/** Share of the limit above which descriptors are short, as in the alert GoshawkDescriptorsShort. */
const SHORT_FROM = 0.8;

/**
 * Logs that the process is about to run out of file descriptors. When none is left it accepts no connections, and only its
 * peers would report a problem.
 */
export class DescriptorWatch {
  readonly #logger: Logger;
  #isShort = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  begin(ended: Promise<unknown>): void {
    repeatUntil(CHECK_MS, ended, () => {
      const { goshawk_process_open_fds: open, goshawk_process_max_fds: max } = descriptorReadings();
      if (typeof open === 'number' && typeof max === 'number') this.check(open, max);
    });
  }

  check(open: number, max: number): void {
    const isShort = open > SHORT_FROM * max;
    if (isShort === this.#isShort) return;
    this.#isShort = isShort;
    const fields = { event: isShort ? 'descriptors-short' : 'descriptors-enough', open, max };
    if (!isShort) this.#logger.info(fields, 'there are enough file descriptors again');
    else
      this.#logger.warn(
        fields,
        `${open} of at most ${max} file descriptors are open: without one, no connection is accepted; raise the limit (ulimit -n, LimitNOFILE) and restart this process`,
      );
  }
}
