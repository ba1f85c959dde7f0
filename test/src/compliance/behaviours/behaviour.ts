import type { Stand } from '../recorder.js';

/** Something that every driver does, whatever it is made of. */
export interface Behaviour {
  readonly name: string;
  /** Throws when the driver of the stand does otherwise. */
  prove(stand: Stand): void;
}
