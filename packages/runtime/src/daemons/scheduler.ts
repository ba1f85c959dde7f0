import { getHeapStatistics } from 'node:v8';
import { type Millis, type PolicySettings, parseJobSpec, present, type UsageBook } from '@goshawk/core';
import type { PostgresJournals } from '@goshawk/journal';
import { isKnownEstimator } from '@goshawk/predictor';
import {
  type EstimatorStates,
  type Job,
  Scheduler,
  type SchedulerConfig,
  type SchedulerEnvironment,
} from '@goshawk/scheduler';
import { probeEndpoint } from '@goshawk/transport';
import type { Hosted } from '../driver/index.js';
import { combineReadings, userReadings } from '../metrics/index.js';
import { JobTracing } from '../tracing/index.js';
import { AdoptedSchedulers, type HostScheduler, type Role, readingsOf } from './adopted-schedulers.js';
import { watchCentral, watchCounts } from './complaints.js';
import type { Daemon } from './daemon.js';
import { EstimatorStateFile, sharedStore } from './estimator-state-file.js';
import { failureLog } from './failure-log.js';
import { jobLog } from './job-log.js';
import {
  type JournalLocation,
  JournalPort,
  newTag,
  openInFolder,
  openOutputIn,
  openShared,
  sharedOutput,
} from './journal-port.js';
import { receiveLaterFailures } from './later-failures.js';
import { NameTaken } from './name-taken.js';
import { Notifier, type NotifyOptions } from './notifier.js';
import { repeatUntil } from './now-and-then.js';
import {
  checkName,
  type DaemonProcess,
  FIRST_PARTY,
  joinMessages,
  openProcess,
  type ProcessOptions,
  whenJoined,
} from './process.js';
import { ShadowWatch } from './shadow-watch.js';

export interface SchedulerOptions extends ProcessOptions {
  readonly name: string;
  /** Central's endpoint. */
  readonly central: string;
  /** Location of the journal; without it, jobs are lost when the process exits. */
  readonly journal?: JournalLocation | undefined;
  /**
   * File with the estimator state; without it, the estimators start from scratch. Schedulers that share a journal
   * store the state there.
   */
  readonly estimatorStateFile?: string | undefined;
  /** Estimators that run in shadow: they are scored on every job but their estimates are not used. */
  readonly shadow?: readonly string[] | undefined;
  /** Maximum number of ended jobs kept. */
  readonly endedJobsMax?: number | undefined;
  /** Retention of ended jobs. ms */
  readonly endedJobsKeepMs?: Millis | undefined;
  /** Maximum size of task output kept, over all jobs. Bytes. */
  readonly logBytesMax?: number | undefined;
  /** Maximum number of unfinished jobs; more are refused. */
  readonly activeJobsMax?: number | undefined;
  /** Maximum number of unstarted tasks per user; jobs that exceed it are refused. */
  readonly userWaitingTasksMax?: number | undefined;
  /** Maximum number of users with separate metrics; by default none if the cluster has keys. */
  readonly metricsUsers?: number | undefined;
  /** Notifications about ended jobs. */
  readonly notify?: NotifyOptions | undefined;
}

/** Retry interval in ms until the cluster's timings are known. */
const ENLIST_RETRY_MS = 500;
const ENDED_JOBS_MAX = 10_000;
/** Retention of ended jobs in an adopted journal, unless configured. ms */
const ADOPTED_KEPT_MS = 24 * 3_600_000;
/** Fraction of the heap for a scheduler's state; the rest is for messages in flight and the garbage collector. */
const HEAP_SHARE = 0.5;
const LOG_BYTES_MAX = 256 * 1024 * 1024;
/** Number of users in a log line about refused jobs. */
const LARGEST_USERS = 3;
/** Number of users with separate metrics, in a cluster in which everyone sees all jobs. */
const METRICS_USERS = 20;
/** Interval at which the scheduler reads the owners of the journals in the database. ms */
const JOURNALS_CHECK_MS = 5_000;
/** Time for central to answer before the scheduler claims back its journal. ms */
const CENTRAL_PROBE_MS = 2_000;

/**
 * Starts one scheduler in this process.
 *
 * @throws InputError if it cannot listen on its endpoint, cannot open its journal, or its estimator state has a newer version
 */
export async function startScheduler(options: SchedulerOptions): Promise<Daemon> {
  const { logger, name } = options;
  checkName(name, options.keys);
  const journals = await openJournals(options);
  const { shared, own } = journals;
  let process: DaemonProcess | undefined;
  try {
    process = await openProcess('scheduler', options);
    await own?.begin(process.nameOf(FIRST_PARTY));
    void process.ended.then(() => closeJournals(journals));
    const place = shared === undefined ? options.estimatorStateFile : sharedStore(shared);
    const stateFile = place === undefined ? undefined : new EstimatorStateFile(place, logger);
    const served = serve(
      { process, journals, stateFile, estimatorStates: (await stateFile?.load()) ?? {} },
      options,
    );
    for (const claimed of (await shared?.adopted()) ?? []) await served.adopted!.adopt(claimed);
    return served.daemon;
  } catch (error) {
    await process?.close();
    await closeJournals(journals);
    throw error;
  }
}

interface Journals {
  readonly own: JournalPort | undefined;
  /** Journals shared with other schedulers. */
  readonly shared: PostgresJournals | undefined;
}

async function openJournals({ journal: place, name, central, logger }: SchedulerOptions): Promise<Journals> {
  if (place === undefined) return { own: undefined, shared: undefined };
  if ('folder' in place) {
    const journal = await openInFolder(place.folder, place.version, logger);
    const output = await openOutputIn(place.folder, logger);
    return { own: new JournalPort(journal, logger, output), shared: undefined };
  }
  const shared = await openShared(place, name, logger);
  try {
    const journal = await shared.own(
      async () => (await probeEndpoint(central, CENTRAL_PROBE_MS)) === 'greeting',
    );
    const { tag, epoch, home } = journal;
    logger.info({ tag, epoch, home }, 'a journal is open');
    return { own: new JournalPort(journal, logger, sharedOutput(journal, logger)), shared };
  } catch (error) {
    await shared.close();
    throw error;
  }
}

/**
 * Commits pending records and closes the journals.
 * @param onWritten called when the last record of a journal in a folder is durable
 */
async function closeJournals({ own, shared }: Journals, onWritten?: () => void): Promise<void> {
  if (shared === undefined) {
    await own?.output?.close();
    await own?.journal.close(onWritten);
  } else await shared.close();
}

interface Parts {
  readonly process: DaemonProcess;
  readonly journals: Journals;
  readonly stateFile: EstimatorStateFile | undefined;
  /** Initial states of the estimators. */
  readonly estimatorStates: EstimatorStates;
}

function configOf(
  { process, estimatorStates }: Parts,
  role: Role,
  options: SchedulerOptions,
): SchedulerConfig {
  const { port, name, index, adopted } = role;
  const { activeJobsMax, userWaitingTasksMax } = options;
  const wallOffsetMs = steadyOffset(() => Date.now() - process.host.now());
  return {
    name,
    self: process.addressOf(index),
    tag: port?.journal.tag ?? newTag(),
    epoch: port?.journal.epoch ?? 0,
    adopted,
    endpoint: process.mailbox.endpoint,
    http: process.http,
    central: process.centralAt(options.central),
    enlistRetryMs: ENLIST_RETRY_MS,
    get wallOffsetMs() {
      return wallOffsetMs();
    },
    get lineage() {
      return port?.lineage;
    },
    // Keys authenticate users, who may distrust each other: one user's job names must not affect another's estimates.
    hasPrivateNames: options.keys !== undefined,
    endedJobsMax: options.endedJobsMax ?? ENDED_JOBS_MAX,
    endedJobsKeepMs: options.endedJobsKeepMs ?? (adopted ? ADOPTED_KEPT_MS : undefined),
    estimatorStates,
    memoryBytes: getHeapStatistics().heap_size_limit * HEAP_SHARE,
    logBytesMax: options.logBytesMax ?? LOG_BYTES_MAX,
    notifyHosts: options.notify?.hosts,
    load: present({ activeJobsMax, userWaitingTasksMax }),
    inheritance: port?.inheritance(process.addressNamed, process.host.now()),
  };
}

/** Observers of job events. */
function jobEffects(
  process: DaemonProcess,
  shadow: ShadowWatch | undefined,
  log: ReturnType<typeof jobLog>,
  notified: (job: Job) => void,
): Pick<
  SchedulerEnvironment,
  'jobAccepted' | 'jobRecorded' | 'jobClassified' | 'taskBound' | 'attemptEnded' | 'jobEnded'
> {
  const tracing = process.tracing && new JobTracing(process.tracing);
  return {
    jobAccepted: (job) => {
      shadow?.accepted(job);
      tracing?.jobAccepted(job);
      log.jobAccepted(job);
    },
    jobRecorded: (job) => log.jobRecorded(job),
    jobClassified: (job, now) => {
      tracing?.effects.jobClassified(job, now);
      log.jobClassified(job, now);
    },
    taskBound: (job, task, now) => {
      tracing?.effects.taskBound(job, task, now);
      log.taskBound(job, task, now);
    },
    attemptEnded: (job, task, outcome, runMs, now) => {
      tracing?.effects.attemptEnded(job, task, outcome, runMs, now);
      log.attemptEnded(job, task, outcome, runMs, now);
    },
    jobEnded: (job) => {
      shadow?.ended(job);
      tracing?.jobEnded(job);
      log.jobEnded(job);
      notified(job);
    },
  };
}

/** Observers of the schedulers of a process, besides clients and other parties. */
interface Watchers {
  readonly shadow: ShadowWatch | undefined;
  /** Reports that another scheduler has the name of this one. */
  readonly taken: NameTaken;
  /** Takes over the journal of a lost scheduler. */
  takeOver(gone: string, tag: string, epoch: number): void;
}

/** Returns a function that adds schedulers to this process: its own one, and one for each journal that it takes over. */
function hostWith(
  parts: Parts,
  options: SchedulerOptions,
  { shadow, taken, takeOver }: Watchers,
): HostScheduler {
  const { process, stateFile } = parts;
  const { logger } = options;
  const estimatorFailed = failureLog(
    logger,
    'estimator',
    'the estimator failed; the submitter’s estimate is used instead',
  );
  const wallOffsetMs = (): Millis => Date.now() - process.host.now();
  const notifier = options.notify && new Notifier(options.notify, logger, Date.now);
  void process.ended.then(() => notifier?.close());
  const ofOwn: Pick<SchedulerEnvironment, 'takeOver' | 'estimatorStateRefused'> = {
    takeOver,
    estimatorStateRefused: (estimator, message) => {
      logger.warn({ estimator }, `${message}; run times learned from now on are not saved`);
      stateFile?.giveUp();
    },
  };
  return (role, ends) => {
    const refused = role.adopted ? new NameTaken(role.name, logger) : taken;
    const log = jobLog(logger, (job, task) => hosted.machine.workerName(job.tasks.workerOf(task)));
    const hosted: Hosted<Scheduler> = process.host.add<Scheduler>(
      { index: role.index, name: role.name, role: 'scheduler' },
      (environment) =>
        new Scheduler(configOf(parts, role, options), {
          ...environment,
          ...role.port?.effects,
          leftInJournal: (job, bytes) =>
            logger.error(
              { job },
              `the job stays in the journal and does not run: it needs ${Math.round(bytes / 2 ** 20)} MiB of memory, more than is free; start with a larger heap (--max-old-space-size)`,
            ),
          estimatorFailed,
          nameTaken: (holder, tag, needsTakeover) => refused.report(holder, tag, needsTakeover),
          ...ends,
          counted: () => ({
            ...environment.counted?.(),
            ...(role.port && { journal: role.port.journal.metrics() }),
            ...(shadow && !role.adopted && { shadow: shadow.counts() }),
          }),
          ...jobEffects(process, shadow, log, (job) => notifier?.jobEnded(job, wallOffsetMs())),
          notify: (job) => {
            const {
              number,
              ends: { count: ends },
            } = job;
            notifier?.notify(job, wallOffsetMs(), () =>
              hosted.enter('notified', (scheduler, now) => scheduler.notified(number, ends, now)),
            );
          },
          ...(role.adopted ? {} : ofOwn),
        }),
    );
    return hosted;
  };
}

/** Creates the watch of estimators in shadow; undefined: there are none. */
function shadowOf(
  { shadow = [], name, logger }: SchedulerOptions,
  policy: () => PolicySettings,
): ShadowWatch | undefined {
  if (shadow.length === 0) return undefined;
  const failed = failureLog(logger, 'estimator', 'a shadow estimator failed; this lowers its score');
  return new ShadowWatch(shadow, name, policy, failed);
}

/** Reads the owners of the journals in the database, now and from time to time. */
function followJournals(
  shared: PostgresJournals,
  ended: Promise<unknown>,
  report: (all: Awaited<ReturnType<PostgresJournals['all']>>) => void,
): void {
  const read = (): void => {
    // The journal itself reports an unavailable database.
    shared.all().then(report, () => {});
  };
  read();
  repeatUntil(JOURNALS_CHECK_MS, ended, read);
}

/** Logs that the scheduler has joined, and warns if it does not have the estimator of the cluster. */
function logJoin(machine: Scheduler, { logger }: SchedulerOptions): void {
  logger.info({}, 'scheduler has joined the cluster');
  const estimator = machine.policy?.estimator;
  if (estimator === undefined || isKnownEstimator(estimator)) return;
  logger.warn(
    { estimator },
    'this scheduler does not have that estimator and uses the submitters’ estimates',
  );
}

/** The schedulers of this process. */
interface Running extends Pick<Hosted<Scheduler>, 'machine' | 'enter'> {
  /** Holds the schedulers that took over journals of lost ones; undefined: journals are not shared. */
  readonly adopted: AdoptedSchedulers | undefined;
  readonly taken: NameTaken;
  /** Resolves once no job is left, after a drain was requested. */
  readonly drained: Promise<void>;
}

/** Adds the scheduler of this process, and connects it to its journal and its estimator state. */
function run(parts: Parts, options: SchedulerOptions): Running {
  const { process, journals, stateFile } = parts;
  const { own, shared } = journals;
  const { logger, name } = options;
  const taken = new NameTaken(name, logger);
  const host = hostWith(parts, options, {
    // Jobs are accepted only after central's first welcome.
    shadow: shadowOf(options, () => machine.policy!),
    taken,
    takeOver: (gone, tag, epoch) => adopted?.takeOver(gone, tag, epoch),
  });
  const keepUsage = (books: readonly UsageBook[]): Promise<void> =>
    new Promise((resolve) =>
      enter('usage of a journal', (scheduler, now) => scheduler.keepUsage(books, resolve, now)),
    );
  const adopted = shared && new AdoptedSchedulers(shared, keepUsage, process, host, logger);
  let onDrained: () => void = () => {};
  const drained = new Promise<void>((resolve) => {
    onDrained = resolve;
  });
  const { machine, enter } = host(
    { index: FIRST_PARTY, name, port: own, adopted: false },
    {
      superseded: () => process.fail(new Error('another scheduler has taken over the jobs of this one')),
      drained: () => onDrained(),
      inherited: (jobs) => logger.info({ jobs }, 'recovered the jobs of the journal'),
    },
  );
  // The first call of `parseJobSpec` builds the schema, which takes 10 ms. Do it before a client waits.
  parseJobSpec({ tasks: [{ sleep: 0 }] });
  stateFile?.keep(() => machine.takeEstimatorStates());
  own?.serve(enter, (error) => process.fail(error));
  if (shared !== undefined)
    followJournals(shared, process.ended, (all) =>
      enter('journals', (scheduler) => scheduler.reportJournals(all)),
    );
  return { machine, enter, adopted, taken, drained };
}

/** Reports the state of the schedulers: in the log if central is silent or jobs are refused, and over HTTP. */
function observe(
  { process, journals: { own } }: Parts,
  { machine, enter, adopted, taken }: Running,
  options: SchedulerOptions,
): void {
  const { logger, central, keys, metricsUsers = keys === undefined ? METRICS_USERS : 0 } = options;
  const watched = { logger, ended: process.ended };
  const isSilent = (): boolean => machine.isReady && machine.isCentralSilent(process.host.now());
  watchCentral(watched, central, isSilent, 'short jobs continue, long jobs wait');
  watchCounts(
    watched,
    () => machine.tallies.jobsRefused,
    () => machine.largestUsers(LARGEST_USERS),
    own,
    (text) => enter('limit reached', (scheduler, now) => scheduler.notice('limit-reached', text, now)),
  );
  let failedLater = 0;
  const logFailure = failureLog(logger, 'estimator', 'the estimator threw in a timer or a promise');
  const later = receiveLaterFailures((estimator, error) => {
    failedLater++;
    logFailure(estimator, error);
  });
  void process.ended.then(later);
  process.show(() => ({
    notReady: [
      ...(machine.isReady ? [] : joinMessages(taken.problem ?? process.refusalBy(central))),
      ...new Set([...(own?.notReady ?? []), ...(adopted?.notReady ?? [])]),
    ],
    readings: () => ({
      ...combineReadings([
        readingsOf(machine, own?.journal, process.host.now()),
        ...(adopted?.readings() ?? []),
        { goshawk_scheduler_estimator_failures_total: failedLater },
      ]),
      ...userReadings(
        [machine, ...(adopted?.machines ?? [])].flatMap((each) => each.userLoads()),
        metricsUsers,
      ),
    }),
  }));
}

interface Served {
  readonly daemon: Daemon;
  readonly adopted: AdoptedSchedulers | undefined;
}

function serve(parts: Parts, options: SchedulerOptions): Served {
  const { process, journals, stateFile } = parts;
  const { logger } = options;
  const { endpoint } = process.mailbox;
  const running = run(parts, options);
  const { machine, enter, adopted, drained } = running;
  logger.info({ endpoint, central: options.central }, 'scheduler is up');
  observe(parts, running, options);
  const joined = whenJoined(() => machine.isReady, process.ended, options);
  void joined.then(() => logJoin(machine, options));
  const stop = async (): Promise<void> => {
    enter('leave', (scheduler) => scheduler.leave());
    adopted?.leave();
    await stateFile?.close();
    await closeJournals(journals, () => process.host.close());
    await process.close();
  };
  const daemon: Daemon = {
    role: 'scheduler',
    endpoint,
    logger,
    joined,
    ended: process.ended,
    stop,
    drain: async () => {
      // Without a cluster, nothing that it could wait for would end.
      if (!machine.isReady) return stop();
      logger.info({ jobs: machine.activeJobs }, 'draining: no new jobs are accepted, accepted jobs finish');
      enter('drain', (scheduler) => scheduler.drain());
      await drained;
      await stop();
    },
  };
  return { daemon, adopted };
}

/** Smaller differences stem from reading two clocks in sequence and from gradual clock corrections. */
const JITTER_MS = 50;

/**
 * Returns the offset from the process clock to the wall clock. It stays constant while both agree, so that
 * the times and order of jobs do not change between queries.
 * @param read the current offset
 */
export function steadyOffset(read: () => Millis): () => Millis {
  let held = read();
  return () => {
    const offset = read();
    if (Math.abs(offset - held) > JITTER_MS) held = offset;
    return held;
  };
}
