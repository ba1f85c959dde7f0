import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * What a task does at a peer that has no tasks of its own: nothing, or one of `{ sleepMs }` and `{ exec }`.
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
