import { isatty } from 'node:tty';

/**
 * Lets a daemon that does not use the terminal outlive it. Node.js resets SIGHUP at its start, even if `nohup`
 * ignores it.
 */
export function outliveTerminal(): void {
  if ([0, 1, 2].some((descriptor) => isatty(descriptor))) return;
  process.on('SIGHUP', () => {});
}
