import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Does the work of a task for a peer without built-in tasks: nothing, `{ sleepMs }` or `{ exec }`.
 *
 * @returns undefined for nothing
 */
export function perform({ sleepMs, exec }) {
  if (sleepMs !== undefined) return pause(sleepMs);
  if (exec === undefined) return undefined;
  return new Promise((resolve, reject) => {
    spawn(exec, { stdio: 'ignore' }).once('error', reject).once('exit', resolve);
  });
}
