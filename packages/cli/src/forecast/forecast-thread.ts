/** Main file of central's forecast thread: receives outlines of the cluster, and replies with forecasts, one at a time. */
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import { isLoaded } from '@goshawk/command';
import type { ClusterOutline, Millis } from '@goshawk/core';
import { Forecaster } from '@goshawk/simulator';

/** Processor time of this thread (ms), which other load does not inflate; elsewhere than on Linux, the time. */
function clock(): Millis {
  if (process.platform !== 'linux') return performance.now();
  const [ns = '0'] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ');
  return Number(ns) / 1e6;
}

/** As low as `nice -n 19`. */
const LOWEST = 19;

/** Between forecasts a larger heap is mostly garbage: what the thread learns takes few bytes per job. */
const HEAP_BYTES_MAX = 48 * 2 ** 20;

/** Returns V8's function that collects garbage, of which V8 leaves hundreds of MiB in an idle thread. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

// On Linux, 0 is the calling thread.
if (process.platform === 'linux') setPriority(0, LOWEST);
const collectGarbage = garbageCollector();
const forecaster = new Forecaster(clock);

parentPort!.on('message', async (outline: ClusterOutline) => {
  const { policy } = outline.policy.preset.decidedBy;
  // Policies of papers are registered in each thread.
  if (isLoaded(policy)) await (await import('@goshawk/command/policy')).loadPolicy(policy, process.cwd());
  parentPort!.postMessage(forecaster.forecast(outline));
  // Nobody waits for this thread now.
  if (getHeapStatistics().total_heap_size > HEAP_BYTES_MAX) collectGarbage();
});
