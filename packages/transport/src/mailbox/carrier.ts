import type { PackedFrame } from './frame.js';

export type Transmission =
  /** ZeroMQ has it, or the party has. */
  | 'sent'
  /** Not now: the peer does not keep up. */
  | 'full'
  /** Never: there is no way to the peer any more. */
  | 'gone';

/** How frames get to one peer. Asked for one transmission at a time. */
export interface Carrier {
  /** The connection stands; undefined where that is not watched. */
  readonly isStanding?: boolean | undefined;
  transmit(frame: PackedFrame): Promise<Transmission>;
  /** Connects anew, with the keys of the present; only where there are keys. */
  rekey?(): void;
  /** Closes; what ZeroMQ holds may still leave for `lingerMs`. A transmission under way ends as `gone`. */
  close(lingerMs: number): void;
}
