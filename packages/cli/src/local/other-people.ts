import { readFileSync } from 'node:fs';

/** Range of uids for people (UID_MIN and UID_MAX of login.defs). */
const [UID_MIN, UID_MAX] = [1_000, 60_000];
const NO_LOGIN = /\/(nologin|false|sync)$/;
/** Sources of accounts that are not in the file. */
const DIRECTORIES = /^passwd:.*\b(sss|ldap|winbind|nis)\b/m;

/** Returns the names of accounts of people on this machine, except that of this process. */
export function otherPeople(
  uid = process.getuid?.() ?? 0,
  read = (file: string) => readFileSync(file, 'utf8'),
): string[] {
  const attempt = (file: string): string => {
    try {
      return read(file);
    } catch {
      return '';
    }
  };
  const names = attempt('/etc/passwd')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(
      ([, , id, , , , shell = '']) => isPerson(Number(id)) && Number(id) !== uid && !NO_LOGIN.test(shell),
    )
    .map(([name]) => name!);
  return DIRECTORIES.test(attempt('/etc/nsswitch.conf'))
    ? [...names, 'accounts of a directory service']
    : names;
}

function isPerson(uid: number): boolean {
  return uid >= UID_MIN && uid <= UID_MAX;
}
