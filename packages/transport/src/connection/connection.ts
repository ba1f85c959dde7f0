import type { PackedFrame } from '../frames/frame.js';

export type Transmission =
  /** ZeroMQ or the party has accepted it. */
  | 'sent'
  /** Retry later: the peer cannot keep up. */
  | 'full'
  /** Permanent failure: the peer is no longer reachable. */
  | 'gone';

/** Sends frames to one peer. At most one send is in flight. */
export interface Connection {
  /** Whether the connection is established; undefined if it is not monitored. */
  readonly isEstablished?: boolean | undefined;
  /** Whether the peer rejects the keys of this client, which then sends it no messages. */
  readonly isRejected?: boolean;
  transmit(frame: PackedFrame): Promise<Transmission>;
  /** Reconnects with the current keys; present only if there are keys. */
  rekey?(): void;
  /** Closes the connection. ZeroMQ may send its queue for another `lingerMs`. A send in flight ends as `gone`. */
  close(lingerMs: number): void;
}
