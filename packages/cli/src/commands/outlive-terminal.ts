import { isatty } from 'node:tty';

/**
 * Lets a daemon that does not use the terminal outlive it. Node.js resets SIGHUP at its start, even if `nohup`
 * ignores it.
 * A daemon that uses the terminal exits at once, instead of being interrupted as other commands are.
 */
export function outliveTerminal(): void {
  process.removeAllListeners('SIGHUP');
  if ([0, 1, 2].some((descriptor) => isatty(descriptor))) return;
  process.on('SIGHUP', () => {});
}
