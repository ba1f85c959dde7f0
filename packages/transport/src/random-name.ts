import { nanoid } from 'nanoid';

/** Returns 22 random characters of `A-Z a-z 0-9 _ -`, which are 132 bits. */
export function randomName(): string {
  return nanoid(22);
}
