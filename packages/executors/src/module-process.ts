/**
 * Main file of the process of one module task on a worker that isolates tasks. Reads the order from stdin, and
 * reports the outcome on a separate descriptor. It imports only files beside it, because a sandbox shows it no
 * others.
 */
import { readFileSync, writeSync } from 'node:fs';
import { deserialize } from 'node:v8';
import { ModuleExecutor } from './module.js';
import { type ModuleProcessOrder, REPORT_DESCRIPTOR } from './module-process-protocol.js';

/** Longest delay of a timer (ms). A sandbox does not show `@goshawk/core`, which has the same constant. */
const TIMER_MAX_MS = 2 ** 31 - 1;

const { order, ...limits } = deserialize(readFileSync(0)) as ModuleProcessOrder;
const executor = new ModuleExecutor({
  ...limits,
  threads: 1,
  // The spawner kills this process after the grace period.
  graceMs: TIMER_MAX_MS,
  environment: { ...(process.env as Record<string, string>) },
  refusal: () => undefined,
  warn: () => {},
});

/** Threads do not keep the process alive. */
const hold = setInterval(() => {}, TIMER_MAX_MS);

const run = executor.start(order, {
  output: ({ stream, bytes }) => write(stream === 'stdout' ? 1 : 2, bytes),
  ended: (outcome) => {
    write(REPORT_DESCRIPTOR, Buffer.from(JSON.stringify(outcome)));
    clearInterval(hold);
    void executor.close().then(() => process.exit());
  },
});
process.on('SIGTERM', () => run.kill('cancelled'));

/** Writes all bytes. Blocks while the spawner does not read, and stops if the spawner is gone. */
function write(descriptor: number, bytes: Uint8Array): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
  } catch {
    process.exit(1);
  }
}
