import type { Stand } from '../recorder.js';

/** A behavior required of every driver. */
export interface Behaviour {
  readonly name: string;
  /** Throws if the driver of the test stand lacks the behavior. */
  prove(stand: Stand): void;
}
