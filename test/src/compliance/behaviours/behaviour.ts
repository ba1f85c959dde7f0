import type { Stand } from '../recorder.js';

/** A behavior required of every driver. */
export interface Behaviour {
  readonly name: string;
  /** Throws when the driver of the stand does otherwise. */
  prove(stand: Stand): void;
}
