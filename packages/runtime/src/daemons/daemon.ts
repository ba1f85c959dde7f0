import type { Logger } from '@goshawk/transport';
import type { CloseReason } from './process.js';

/** A running Goshawk process. */
export interface Daemon {
  readonly role: 'central' | 'scheduler' | 'worker';
  /** The endpoint for peers. */
  readonly endpoint: string;
  readonly logger: Logger;
  /** Resolves when the process has joined its cluster; immediately for central. */
  readonly joined: Promise<void>;
  /** Resolves when the process has ended, for any reason. */
  readonly ended: Promise<CloseReason>;
  /** Accepts no new work, finishes running work, deregisters and ends. */
  drain(): Promise<void>;
  /** Ends now: kills running tasks and deregisters. */
  stop(): Promise<void>;
}
