/** Main file of the thread that watches the event loop of a process. */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { BEAT_MS, type Watched } from './stall-watch.js';

/** The last heartbeat may be older by an interval. */
const ENDED_AFTER_MS = 5_000 - BEAT_MS;

const { beats, policy } = workerData as Watched;
let last = -1;
let stalledMs = 0;

/** Log levels as in pino. */
const LEVELS = { fatal: 60 };

function log(level: keyof typeof LEVELS, msg: string): void {
  const line = JSON.stringify({
    level: LEVELS[level],
    time: new Date().toISOString(),
    role: 'central',
    policy,
    stoodMs: stalledMs,
    msg,
  });
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // The reader is gone, or the disk is full. There is nowhere to report that.
  }
}

// Counts ticks of this thread rather than time, so that a suspension does not look like a stall.
setInterval(() => {
  const beat = Atomics.load(beats, 0);
  stalledMs = beat === last ? stalledMs + BEAT_MS : 0;
  last = beat;
  if (stalledMs < ENDED_AFTER_MS) return;
  // A handler of the policy may have caught the first signal.
  if (stalledMs > ENDED_AFTER_MS) process.kill(process.pid, 'SIGKILL');
  log('fatal', 'the policy does not return: central exits, and restarts with the policy goshawk');
  process.kill(process.pid, 'SIGUSR2');
}, BEAT_MS);
