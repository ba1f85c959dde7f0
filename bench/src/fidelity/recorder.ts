/**
 * Records the events of the runtime's diagnostics channels. It is loaded into every process of a cluster
 * (`NODE_OPTIONS=--import=…/recorder.js?folder=…`) and writes a recording to the folder when the process ends.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SleepEnded } from '@goshawk/executors';
import type { JournalCommitted } from '@goshawk/journal';
import type { TimerFired } from '@goshawk/runtime';
import type { MessageHandled, MessageSent } from '@goshawk/transport';
import { HANDLED_COLUMNS, type Recording, SENT_COLUMNS } from './recording.js';

const CALIBRATIONS = 1_000;

const offsetMs = clockOffsetMs();
const parties = new Map<string, number>();
const sent: number[] = [];
const handled: number[] = [];
const sleeps: number[] = [];
const timers: number[] = [];
const commits: number[] = [];
/** When the current step began, if a task's end or a timer started it. */
let stepAt: number | undefined;

/**
 * Offset from `performance.now()`, which counts from the start of its process, to the monotonic clock that all
 * processes of a machine share. A process may be suspended between two readings, so the fastest pair of readings
 * counts.
 */
function clockOffsetMs(): number {
  let best = { tookMs: Number.POSITIVE_INFINITY, offsetMs: 0 };
  for (let i = 0; i < CALIBRATIONS; i++) {
    const before = performance.now();
    const shared = process.hrtime();
    const tookMs = performance.now() - before;
    const sharedMs = shared[0] * 1e3 + shared[1] / 1e6;
    if (tookMs < best.tookMs) best = { tookMs, offsetMs: sharedMs - before - tookMs / 2 };
  }
  return best.offsetMs;
}

/** Omits incarnations, because an unknown one is written as `*`. */
function partyOf(process: string, index: number): number {
  const name = `${process.slice(0, process.lastIndexOf('!'))}/${index}`;
  let number = parties.get(name);
  if (number === undefined) {
    number = parties.size;
    parties.set(name, number);
  }
  return number;
}

/** @returns the current time */
function beginStep(): number {
  stepAt = performance.now() + offsetMs;
  queueMicrotask(() => {
    stepAt = undefined;
  });
  return stepAt;
}

const listeners = {
  'goshawk.message.sent': ({ from, fromIndex, to, toIndex, code }: MessageSent): void => {
    const at = stepAt ?? performance.now() + offsetMs;
    sent.push(at, partyOf(from, fromIndex), partyOf(to, toIndex), code as number);
  },
  'goshawk.message.handled': ({ from, fromIndex, to, toIndex, code, startedAt }: MessageHandled): void => {
    const at = startedAt + offsetMs;
    const tookMs = performance.now() - startedAt;
    // Messages sent since the step began belong to this step.
    for (let i = sent.length - SENT_COLUMNS; i >= 0 && sent[i]! >= at; i -= SENT_COLUMNS) sent[i] = at;
    handled.push(at, tookMs, partyOf(from, fromIndex), partyOf(to, toIndex), code as number);
  },
  'goshawk.sleep.ended': ({ lateMs, sleepMs }: SleepEnded): void =>
    void sleeps.push(beginStep(), lateMs, sleepMs),
  'goshawk.journal.committed': ({ tookMs, records }: JournalCommitted): void =>
    void commits.push(performance.now() + offsetMs - tookMs, tookMs, records),
  'goshawk.timer.fired': ({ lateMs }: TimerFired): void => void timers.push(beginStep(), lateMs),
};

for (const [channel, listener] of Object.entries(listeners)) {
  subscribe(channel, (event) => (listener as (event: unknown) => void)(event));
}

process.on('exit', () => {
  const folder = new URL(import.meta.url).searchParams.get('folder');
  if (folder === null || sent.length / SENT_COLUMNS + handled.length / HANDLED_COLUMNS === 0) return;
  const recording: Recording = { parties: [...parties.keys()], sent, handled, sleeps, timers, commits };
  writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(recording));
});
