/** What an estimator that has pilots keeps of a job: their note, and what it knows beside it. */
export interface PilotsNote {
  readonly ofPilot?: unknown;
}

/** Of a job of which nothing was known but what pilots say, the note is their own. */
export function noteOf<Note extends PilotsNote>(note: unknown): Note {
  return (note !== null && typeof note === 'object' ? note : { ofPilot: note }) as Note;
}
