/** State per job of an estimator with pilots: the pilots' note, and its own. */
export interface PilotsNote {
  readonly ofPilot?: unknown;
}

/** Returns the note of a job; the pilots' note if there is no further state. */
export function noteOf<Note extends PilotsNote>(note: unknown): Note {
  return (note !== null && typeof note === 'object' ? note : { ofPilot: note }) as Note;
}
