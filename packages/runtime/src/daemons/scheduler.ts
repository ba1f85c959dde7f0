import { getHeapStatistics } from 'node:v8';
import type { Millis } from '@goshawk/core';
import { type Learnt, Scheduler, type SchedulerConfig, type SchedulerEnvironment } from '@goshawk/scheduler';
import type { Logger } from '../driver/index.js';
import { journalReadings, schedulerReadings } from '../metrics/index.js';
import { JobTracing } from '../tracing/index.js';
import type { Daemon } from './daemon.js';
import { JobJournal, type JobJournalOptions, newTag } from './job-journal.js';
import { LearntFile } from './learnt-file.js';
import { nameTaken } from './name-taken.js';
import {
  checkName,
  type DaemonProcess,
  FIRST_PARTY,
  NOT_JOINED,
  openProcess,
  type ProcessOptions,
  whenJoined,
} from './process.js';
import { ShadowWatch } from './shadow-watch.js';

export interface SchedulerOptions extends ProcessOptions {
  readonly name: string;
  /** Central's endpoint. */
  readonly central: string;
  /** Where jobs are written down; without it they live as long as the process. */
  readonly journal?: JobJournalOptions | undefined;
  /** The file where it keeps what its estimators have learnt; without it they begin anew with the process. */
  readonly learntFile?: string | undefined;
  /** Estimators that are asked about every job and have no say. */
  readonly shadow?: readonly string[] | undefined;
  /** Jobs kept after their end. */
  readonly endedJobsMax?: number | undefined;
  /** For so long. ms */
  readonly endedJobsKeepMs?: Millis | undefined;
  /** Bytes of task output kept, over all jobs. */
  readonly logBytesMax?: number | undefined;
  /** Jobs that have not ended, more of which are refused. */
  readonly activeJobsMax?: number | undefined;
}

/** Until the cluster has told its own timings. ms */
const ENLIST_RETRY_MS = 500;
const ENDED_JOBS_MAX = 10_000;
/** Of the heap, for what a scheduler keeps; the rest is for what is on its way, and for the collector to work in. */
const HEAP_SHARE = 0.5;
const LOG_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Starts one scheduler in this process.
 *
 * @throws InputError when it cannot listen where it should, cannot have its journal, or what it had learnt is of a newer
 *   version
 */
export async function startScheduler(options: SchedulerOptions): Promise<Daemon> {
  const { logger } = options;
  checkName(options.name);
  const journal = options.journal && (await JobJournal.open(options.journal, logger));
  let process: DaemonProcess | undefined;
  try {
    process = await openProcess('scheduler', options);
    await journal?.begin(process.nameOf(FIRST_PARTY));
    void process.ended.then(() => journal?.close());
    const learnt = options.learntFile === undefined ? undefined : new LearntFile(options.learntFile, logger);
    const parts = { process, journal, learnt, knows: (await learnt?.load()) ?? {} };
    return serve(parts, options);
  } catch (error) {
    await process?.close();
    await journal?.close();
    throw error;
  }
}

interface Parts {
  readonly process: DaemonProcess;
  readonly journal: JobJournal | undefined;
  readonly learnt: LearntFile | undefined;
  /** What was in that file. */
  readonly knows: Learnt;
}

function configOf({ process, journal, knows }: Parts, options: SchedulerOptions): SchedulerConfig {
  return {
    name: options.name,
    self: process.addressOf(FIRST_PARTY),
    tag: journal?.tag ?? newTag(),
    endpoint: process.mailbox.endpoint,
    http: process.http,
    central: process.centralAt(options.central),
    enlistRetryMs: ENLIST_RETRY_MS,
    get wallOffsetMs() {
      return Date.now() - process.host.now();
    },
    endedJobsMax: options.endedJobsMax ?? ENDED_JOBS_MAX,
    endedJobsKeepMs: options.endedJobsKeepMs,
    learnt: knows,
    memoryBytes: getHeapStatistics().heap_size_limit * HEAP_SHARE,
    logBytesMax: options.logBytesMax ?? LOG_BYTES_MAX,
    load: options.activeJobsMax === undefined ? {} : { activeJobsMax: options.activeJobsMax },
    inheritance: journal?.inheritance(process.addressNamed),
  };
}

/** Whoever wants to hear what becomes of jobs. */
function jobEffects(
  process: DaemonProcess,
  shadow: ShadowWatch | undefined,
  logger: Logger,
): Pick<SchedulerEnvironment, 'jobAccepted' | 'jobDecided' | 'taskBound' | 'attemptEnded' | 'jobEnded'> {
  const tracing = process.tracing && new JobTracing(process.tracing);
  return {
    ...tracing?.effects,
    jobAccepted: (job) => {
      shadow?.accepted(job);
      tracing?.jobAccepted(job);
    },
    jobEnded: (job) => {
      shadow?.ended(job);
      tracing?.jobEnded(job);
      const { id, state, counts } = job;
      logger.debug({ job: id, state, ...counts, ms: job.endedAt! - job.acceptedAt }, 'job ended');
    },
  };
}

function serve(parts: Parts, options: SchedulerOptions): Daemon {
  const { process, journal, learnt } = parts;
  const { logger, name } = options;
  const { endpoint } = process.mailbox;
  const shadow: ShadowWatch | undefined =
    (options.shadow ?? []).length === 0
      ? undefined
      : new ShadowWatch(options.shadow!, name, () => machine.policy);
  let onDrained: () => void = () => {};
  const drained = new Promise<void>((resolve) => {
    onDrained = resolve;
  });
  const { machine, enter } = process.host.add<Scheduler>(
    { index: FIRST_PARTY, name, role: 'scheduler' },
    (environment) =>
      new Scheduler(configOf(parts, options), {
        ...environment,
        ...journal?.effects,
        nameTaken: nameTaken(name, logger),
        counted: () => ({
          ...environment.counted?.(),
          ...(journal && { journal: journal.metrics() }),
          ...(shadow && { shadow: shadow.counts() }),
        }),
        ...jobEffects(process, shadow, logger),
        learntRefused: (estimator, message) => {
          logger.warn({ estimator }, `${message}; what is learnt from now on is not kept`);
          learnt?.giveUp();
        },
        drained: () => onDrained(),
      }),
  );
  learnt?.keep(() => machine.takeLearnt());
  journal?.serve(enter, (error) => process.fail(error));
  logger.info({ endpoint, central: options.central, jobs: machine.activeJobs }, 'scheduler is up');
  process.show(() => ({
    notReady: [...(machine.isReady ? [] : NOT_JOINED), ...(journal?.notReady ?? [])],
    readings: () => ({
      ...schedulerReadings(machine, process.host.now()),
      ...(journal && journalReadings(journal.metrics(), journal.commitMs)),
    }),
  }));
  const joined = whenJoined(() => machine.isReady, process.ended);
  void joined.then(() => logger.info({}, 'scheduler has joined the cluster'));
  const stop = async (): Promise<void> => {
    enter('leave', (scheduler) => scheduler.leave());
    await learnt?.close();
    // What is durable by now is said before the mailbox closes.
    await journal?.close();
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
