import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from '@goshawk/client';
import { GoshawkError, type Millis, present } from '@goshawk/core';

/** The options of a process that submits jobs until it is killed. */
interface Load {
  readonly url: string;
  /** Folder of keys. */
  readonly keys?: string | undefined;
  /** Number of jobs in flight at any time, each followed to its end. */
  readonly inFlight: number;
  /** Pause before the next submission. */
  readonly pauseMs: Millis;
  readonly tasks: number;
  readonly sleepMs: Millis;
  /** Timeout of a submission. If it is shorter than the retry delay, a refusal is reported immediately. */
  readonly patienceMs: Millis;
}

/** Results since the last request for them. */
export interface Submitted {
  /** Times from submission to acceptance. */
  readonly answeredMs: readonly Millis[];
  /** Times from submission until the client receives the end. */
  readonly endedMs: readonly Millis[];
  /** Submissions refused because the scheduler was overloaded. */
  readonly refused: number;
  readonly failed: number;
}

const SELF = fileURLToPath(new URL('../dist/submitter.js', import.meta.url));

/** Starts a separate process that submits, and resolves when it is connected. */
export async function startSubmitter(load: Load): Promise<ChildProcess> {
  const child = fork(SELF, [JSON.stringify(load)]);
  await once(child, 'message');
  return child;
}

export async function submittedBy(child: ChildProcess): Promise<Submitted> {
  child.send('report');
  const [submitted] = (await once(child, 'message')) as [Submitted];
  return submitted;
}

async function submitForEver({
  url,
  keys,
  inFlight,
  pauseMs,
  tasks,
  sleepMs,
  patienceMs,
}: Load): Promise<void> {
  const who = { user: `submitter-${process.pid}`, ...present({ keys }) };
  const client = await connect(url, { ...who, requestTimeoutMs: 60_000 });
  const submitting = await connect(url, { ...who, requestTimeoutMs: patienceMs });
  const nothing = () => ({ answeredMs: [] as Millis[], endedMs: [] as Millis[], refused: 0, failed: 0 });
  let submitted = nothing();
  process.on('message', () => {
    process.send?.(submitted satisfies Submitted);
    submitted = nothing();
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
  const lane = async (): Promise<void> => {
    for (;;) {
      try {
        const startedAt = performance.now();
        const { id } = await submitting.submit({ tasks: { count: tasks, run: { sleep: sleepMs } } });
        submitted.answeredMs.push(performance.now() - startedAt);
        await client.job(id).wait();
        submitted.endedMs.push(performance.now() - startedAt);
      } catch (error) {
        if (error instanceof GoshawkError && error.code === 'overloaded') submitted.refused++;
        else submitted.failed++;
      }
      await pause(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

if (process.argv[1] === SELF) await submitForEver(JSON.parse(process.argv[2]!) as Load);
