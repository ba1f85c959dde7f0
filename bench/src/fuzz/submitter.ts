import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@goshawk/client';
import { present } from '@goshawk/core';

/**
 * Legitimate traffic, from a process of its own: jobs of a few short tasks, one after the other, until it is
 * killed. `node submitter.js URL [KEYS]`; says how it went when it is asked to.
 */
export interface Report {
  /** From the submission of each job to the news of its end. ms */
  readonly ms: readonly number[];
  readonly failed: number;
}

const PAUSE_MS = 10;

const [url = '', keys] = process.argv.slice(2);
// That an answer comes late on a busy machine is no failure.
const client = await connect(url, { requestTimeoutMs: 60_000, ...present({ keys }) });
let ms: number[] = [];
let failed = 0;

process.on('message', () => {
  process.send?.({ ms, failed } satisfies Report);
  ms = [];
  failed = 0;
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

for (;;) {
  const startedAt = performance.now();
  try {
    const job = await client.submit({ tasks: { count: 4, run: { sleep: 1 } } });
    await job.wait();
    ms.push(performance.now() - startedAt);
  } catch {
    failed++;
  }
  await pause(PAUSE_MS);
}
