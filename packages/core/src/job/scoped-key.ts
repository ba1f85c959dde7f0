/** Makes a submission key unique in the cluster: each user has a separate namespace. */
export function scopedKey(key: string, user: string | undefined): string {
  return user === undefined ? key : `${key}\0${user}`;
}
