import type { BookedRun, BookedWorker } from '@goshawk/policies';

/** A worker as its matches are counted. */
export class DispatchedWorker {
  readonly booked: BookedWorker;
  /** Its bit in what schedulers are told of the occupied. */
  readonly bit: number;
  /** Number of the last match. */
  match = 0;

  constructor(booked: BookedWorker, bit: number) {
    this.booked = booked;
    this.bit = bit;
  }

  runOf(match: number): BookedRun | undefined {
    for (const run of this.booked.runs) if (run.match === match) return run;
    return undefined;
  }
}
