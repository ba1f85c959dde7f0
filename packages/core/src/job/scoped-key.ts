/** Identifies a key of a submission in the whole cluster: each user has keys of their own. */
export function scopedKey(key: string, user: string | undefined): string {
  return user === undefined ? key : `${key}\0${user}`;
}
