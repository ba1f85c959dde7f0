/** Identifies a key of a submission in the whole cluster: users have separate keys. */
export function scopedKey(key: string, user: string | undefined): string {
  return user === undefined ? key : `${key}\0${user}`;
}
