/** Note for one job of an estimator that wraps `Pilot`: it contains the note of `Pilot`. */
export interface PilotsNote {
  readonly ofPilot?: unknown;
}

/** Reads a job's note. A value that is not an object is the bare note of `Pilot`. */
export function noteOf<Note extends PilotsNote>(note: unknown): Note {
  return (note !== null && typeof note === 'object' ? note : { ofPilot: note }) as Note;
}
