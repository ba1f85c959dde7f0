import { LIMITS, type Resources } from '@goshawk/core';
import { Worker } from '@goshawk/worker';
import { addWorker, type Hosted } from '../driver/index.js';
import { createExecutors, type ExecutorOptions } from '../executors/index.js';
import type { Daemon } from './daemon.js';
import { NOT_JOINED, openProcess, type ProcessOptions, whenJoined } from './process.js';

export interface WorkersOptions extends ProcessOptions {
  /** One worker each. */
  readonly names: readonly string[];
  readonly slots: number;
  /** What the tasks of one worker may use together, beside slots. */
  readonly capacity: Resources;
  /** Central's endpoint. */
  readonly central: string;
  /** A folder of this machine that outlives the process. */
  readonly dataFolder: string;
  readonly executors?: Omit<ExecutorOptions, 'dataFolder' | 'warn'>;
}

/** Until the cluster has told its own timings. ms */
const REGISTER_RETRY_MS = 500;

/**
 * Starts workers in this process; they share its mailbox and its executors.
 *
 * @throws InputError when it cannot listen where it should
 */
export async function startWorkers(options: WorkersOptions): Promise<Daemon> {
  const { logger, names } = options;
  const executor = createExecutors({
    ...options.executors,
    dataFolder: options.dataFolder,
    valueBytesMax: LIMITS.resultBytesMax,
    warn: (message) => logger.warn({}, message),
  });
  const leftovers = await executor.endLeftovers();
  if (leftovers > 0) logger.warn({ leftovers }, 'ended commands that an earlier worker had left running');
  const process = await openProcess('worker', options);
  const central = process.centralAt(options.central);
  // Who has been told to drain for good and has not finished; an operator's drain, which can be taken back, is
  // nobody's end.
  const draining = new Map<string, () => void>();
  const workers: Hosted<Worker>[] = names.map((name, index) => {
    return addWorker(
      process.host,
      { index, name, executor, onDrained: () => draining.get(name)?.() },
      (environment) => {
        const self = process.addressOf(index);
        const { slots, capacity } = options;
        return new Worker(
          { name, self, slots, capacity, central, registerRetryMs: REGISTER_RETRY_MS },
          environment,
        );
      },
    );
  });
  const { endpoint } = process.mailbox;
  logger.info(
    { workers: names.length, slots: options.slots, endpoint, central: options.central },
    'workers are up',
  );
  process.readiness(() => (workers.every(({ machine }) => machine.isMember) ? [] : NOT_JOINED));
  const joined = whenJoined(() => workers.every(({ machine }) => machine.isMember), process.ended);
  void joined.then(() => logger.info({ workers: names.length }, 'workers have joined the cluster'));
  void process.ended.then(() => executor.close());
  const leave = async (): Promise<void> => {
    for (const { enter } of workers) enter('leave', (worker) => worker.leave());
    await process.close();
  };
  return {
    role: 'worker',
    endpoint,
    joined,
    ended: process.ended,
    drain: async () => {
      logger.info({ workers: names.length }, 'draining: what waits goes back, what runs is finished');
      const drained = names.map((name) => new Promise<void>((resolve) => draining.set(name, resolve)));
      for (const { enter } of workers) enter('drain', (worker, now) => worker.drain(now));
      await Promise.all(drained);
      await executor.close();
      await leave();
    },
    stop: async () => {
      for (const { enter } of workers) enter('kill all', (worker) => worker.killAll('shutdown'));
      // The ends of what was killed are reported before the mailbox closes.
      await executor.close();
      await leave();
    },
  };
}
