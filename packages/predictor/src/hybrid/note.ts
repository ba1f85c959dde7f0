/** State per job of an estimator with pilots: the pilots' note, and its own. */
export interface PilotsNote {
  readonly ofPilot?: unknown;
}

/** Without further state, the note is that of the pilots. */
export function noteOf<Note extends PilotsNote>(note: unknown): Note {
  return (note !== null && typeof note === 'object' ? note : { ofPilot: note }) as Note;
}
