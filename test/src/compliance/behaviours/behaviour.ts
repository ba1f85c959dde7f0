import type { TestBench } from '../recorder.js';

/** A behavior required of every driver. */
export interface Behaviour {
  readonly name: string;
  /** Throws if the driver of the test bench lacks the behavior. */
  prove(bench: TestBench): void;
}
