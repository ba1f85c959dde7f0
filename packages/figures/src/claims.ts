import type { Claim, Judge } from './figure.js';

/** What a section of the paper says, and for each sentence how to tell whether it is so here. */
export function claims(section: string, judges: Readonly<Record<string, Judge>>): Claim[] {
  return Object.entries(judges).map(([text, judge]) => ({ section, text, judge }));
}
