import { type Job, Scheduler } from '@goshawk/scheduler';
import { customAlphabet } from 'nanoid';
import type { Daemon } from './daemon.js';
import { FIRST_PARTY, openProcess, type ProcessOptions, whenJoined } from './process.js';

export interface SchedulerOptions extends ProcessOptions {
  readonly name: string;
  /** Central's endpoint. */
  readonly central: string;
  /** Jobs kept after their end. */
  readonly endedJobsMax?: number | undefined;
  /** Bytes of task output kept, over all jobs. */
  readonly logBytesMax?: number | undefined;
}

/** Until the cluster has told its own timings. ms */
const ENLIST_RETRY_MS = 500;
const ENDED_JOBS_MAX = 10_000;
const LOG_BYTES_MAX = 256 * 1024 * 1024;

/** Letters and digits that cannot be taken for one another; job ids begin with them. */
const newTag = customAlphabet('23456789abcdefghjkmnpqrstuvwxyz', 5);

/**
 * Starts one scheduler in this process.
 *
 * @throws InputError when it cannot listen where it should
 */
export async function startScheduler(options: SchedulerOptions): Promise<Daemon> {
  const { logger, name } = options;
  const process = await openProcess('scheduler', options);
  const { endpoint } = process.mailbox;
  let onDrained: () => void = () => {};
  const drained = new Promise<void>((resolve) => {
    onDrained = resolve;
  });
  const { machine, enter } = process.host.add<Scheduler>(
    { index: FIRST_PARTY, name, role: 'scheduler' },
    (environment) =>
      new Scheduler(
        {
          name,
          self: process.addressOf(FIRST_PARTY),
          tag: newTag(),
          endpoint,
          central: process.centralAt(options.central),
          enlistRetryMs: ENLIST_RETRY_MS,
          wallOffsetMs: Date.now() - process.host.now(),
          endedJobsMax: options.endedJobsMax ?? ENDED_JOBS_MAX,
          logBytesMax: options.logBytesMax ?? LOG_BYTES_MAX,
        },
        {
          ...environment,
          jobEnded: (job: Job) => {
            const { id, state, counts } = job;
            logger.debug({ job: id, state, ...counts, ms: job.endedAt! - job.acceptedAt }, 'job ended');
          },
          drained: () => onDrained(),
        },
      ),
  );
  logger.info({ name, endpoint, central: options.central }, 'scheduler is up');
  const joined = whenJoined(() => machine.isReady, process.ended);
  void joined.then(() => logger.info({ name }, 'scheduler has joined the cluster'));
  const stop = async (): Promise<void> => {
    enter('leave', (scheduler) => scheduler.leave());
    await process.close();
  };
  return {
    role: 'scheduler',
    endpoint,
    joined,
    ended: process.ended,
    stop,
    drain: async () => {
      logger.info({ jobs: machine.activeJobs }, 'draining: no new jobs, those here are finished');
      enter('drain', (scheduler) => scheduler.drain());
      await drained;
      await stop();
    },
  };
}
