import { nanoid } from 'nanoid';

/** 132 random bits in 22 of `A-Z a-z 0-9 _ -`. */
export function randomName(): string {
  return nanoid(22);
}
