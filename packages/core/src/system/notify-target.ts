import { matchesGlob } from '../text/glob.js';
import { PLAIN_CHARACTER } from '../text/shell-word.js';

const WEB_ADDRESS = /^https?:\/\/(\[[\da-f:.]+\]|[\da-z._-]+)(?::\d{1,5})?(?:[/?#]\S*)?$/i;
/** A single address without quotes or options: it becomes a header of a mail. */
const MAIL_ADDRESS = /^[\da-z][\da-z._%+-]*@[\da-z][\da-z.-]*$/i;

/** Where a job's end is reported. */
export type NotifyTarget =
  | { readonly kind: 'web'; readonly host: string }
  | { readonly kind: 'mail'; readonly address: string }
  | { readonly kind: 'command'; readonly command: string };

/**
 * The host of an HTTP address, in lower case and without its port; undefined if the text is invalid or
 * contains a user name.
 */
function webHostOf(text: string): string | undefined {
  return WEB_ADDRESS.exec(text)?.[1]?.toLowerCase();
}

/** Parses `https://HOST/…`, `mail:ADDRESS` or `command:COMMAND`; undefined if the text is none of them. */
export function notifyTargetOf(text: string): NotifyTarget | undefined {
  const [, kind, rest = ''] = /^(mail|command):(.*)$/.exec(text) ?? [];
  if (kind === 'mail') return MAIL_ADDRESS.test(rest) ? { kind, address: rest } : undefined;
  if (kind === 'command') return rest.trim() === '' ? undefined : { kind, command: rest };
  const host = webHostOf(text);
  return host === undefined ? undefined : { kind: 'web', host };
}

/**
 * Whether notifications may be sent there.
 *
 * @param allowed globs of hosts, and of whole targets after `mail:` and `command:`, which no glob of hosts includes
 */
export function isNotifyAllowed(text: string, allowed: readonly string[]): boolean {
  const target = notifyTargetOf(text);
  if (target === undefined) return false;
  if (target.kind === 'command') return allowed.some((glob) => isCommandAllowed(glob, text));
  if (target.kind === 'mail')
    return allowed.some((glob) => glob.startsWith('mail:') && matchesGlob(glob, text));
  return allowed.some((glob) => !glob.startsWith('mail:') && matchesGlob(glob.toLowerCase(), target.host));
}

/** Arguments of a command may contain these characters. */
const PLAIN = new RegExp(`${PLAIN_CHARACTER}| `, 'gu');

/** Whether the glob permits the command. Only `command:*` permits further commands after it, or any other use of the shell. */
function isCommandAllowed(glob: string, text: string): boolean {
  if (!glob.startsWith('command:') || !matchesGlob(glob, text)) return false;
  const special = (of: string): string => of.replaceAll(PLAIN, '');
  return glob === 'command:*' || special(text) === special(glob.replaceAll(/[*?]/g, ''));
}

/** Names a target in errors and logs, without parts that may be secret. */
export function notifyTargetName(text: string): string {
  const target = notifyTargetOf(text);
  if (target?.kind === 'web') return target.host;
  return target?.kind === 'mail' ? text : 'commands';
}
