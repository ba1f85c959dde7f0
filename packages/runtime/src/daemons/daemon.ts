import type { CloseReason } from './process.js';

/** One of Goshawk's processes, started. */
export interface Daemon {
  readonly role: 'central' | 'scheduler' | 'worker';
  /** The endpoint for peers. */
  readonly endpoint: string;
  /** Resolves when it belongs to its cluster; at once for central. */
  readonly joined: Promise<void>;
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<CloseReason>;
  /** Takes nothing new, finishes what it has, says goodbye and ends. */
  drain(): Promise<void>;
  /** Ends now: kills what runs, says goodbye. */
  stop(): Promise<void>;
}
