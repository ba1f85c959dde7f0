import { connect } from '@goshawk/client';
import { GoshawkError } from '@goshawk/core';

/**
 * A process that submits jobs of one task of 20 ms: `node flooder.js URL IN-FLIGHT PAUSE-MS`. It does not wait
 * when the answer is to come back later, but tries again at once: the worst client there is.
 */
export interface Flooded {
  /** Until a job was accepted. ms */
  readonly answeredMs: readonly number[];
  /** From then to the news of its end. ms */
  readonly endedMs: readonly number[];
  readonly refused: number;
  readonly failed: number;
}

const RUN_MS = 20;
/** Shorter than any time to come back, so that a refusal is reported at once. */
const REQUEST_TIMEOUT_MS = 450;

const [url = '', inFlight, pauseMs] = process.argv.slice(2);
const client = await connect(url, { user: `flooder-${process.pid}` });
const impatient = await connect(url, {
  user: `flooder-${process.pid}`,
  requestTimeoutMs: REQUEST_TIMEOUT_MS,
});
const flooded = { answeredMs: [] as number[], endedMs: [] as number[], refused: 0, failed: 0 };

process.on('message', () => process.send?.(flooded satisfies Flooded));
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function submitForEver(): Promise<void> {
  for (;;) {
    try {
      const startedAt = performance.now();
      const job = await impatient.submit({ tasks: [{ sleep: RUN_MS }] });
      const acceptedAt = performance.now();
      flooded.answeredMs.push(acceptedAt - startedAt);
      await client.job(job.id).wait();
      flooded.endedMs.push(performance.now() - acceptedAt);
    } catch (error) {
      if (error instanceof GoshawkError && error.code === 'overloaded') flooded.refused++;
      else flooded.failed++;
    }
    await new Promise((resolve) => setTimeout(resolve, Number(pauseMs)));
  }
}

for (let i = 0; i < Number(inFlight); i++) void submitForEver();
