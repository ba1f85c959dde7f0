import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Comparison, Run } from '@goshawk/report';
import { GOSHAWK } from '../daemons.js';

const RECORDER = new URL('../../dist/fidelity/recorder.js', import.meta.url);
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Runs the command to its end.
 *
 * @param recordTo folder in which each started process leaves a recording
 * @throws Error with its stderr if the exit code is not 0
 */
export async function goshawk(args: readonly string[], recordTo?: string): Promise<Comparison> {
  const recorder = new URL(RECORDER);
  const env = { ...process.env };
  if (recordTo !== undefined) {
    recorder.searchParams.set('folder', recordTo);
    env.NODE_OPTIONS = `${env.NODE_OPTIONS ?? ''} --import=${recorder.href}`;
  }
  const { stdout } = await promisify(execFile)(process.execPath, [GOSHAWK, ...args, '--json', '--quiet'], {
    maxBuffer: OUTPUT_BYTES_MAX,
    env,
  });
  return JSON.parse(stdout) as Comparison;
}

/** Returns the options of a live run for its simulation. */
export function settingsOf({ policy, options: live }: Run): string[] {
  const text = (name: string) => String(live[name]);
  const partition = live.shortPartition === null ? 'none' : text('shortPartition');
  return [
    ...['--policy', policy, '--cutoff', text('cutoff'), '--short-partition', partition],
    ...['--steal-retry', text('stealRetry'), '--cancel', text('cancel'), '--probe-draw', text('probeDraw')],
    ...['--durations', 'task', '--workers', text('workers'), '--schedulers', text('schedulers')],
    ...['--estimator', text('estimator')],
  ];
}
