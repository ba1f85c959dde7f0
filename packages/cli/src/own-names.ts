/** A file of one's own, and not a name of the table: `./mine.js`. */
export function isOwn(name: string): boolean {
  return /[/\\]|\.[cm]?[jt]s$/.test(name);
}
