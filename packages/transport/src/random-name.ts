import { randomBytes } from 'node:crypto';

/** 128 random bits in 22 of `A-Z a-z 0-9 _ -`. */
export function randomName(): string {
  return randomBytes(16).toString('base64url');
}
