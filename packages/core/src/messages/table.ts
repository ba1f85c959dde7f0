import { historyPage } from '../cluster-history.js';
import {
  clusterView,
  counters,
  drainState,
  eventPage,
  introduction,
  NOTICE_KINDS,
  schedulers,
  takeover,
  workerPage,
} from '../cluster-view.js';
import {
  address,
  bytes,
  choice,
  count,
  countTo,
  type Field,
  flag,
  type Infer,
  type InferMessage,
  list,
  number,
  open,
  optional,
  rare,
  record,
  resources,
  text,
  view,
} from '../fields/fields.js';
import {
  attempt,
  attribute,
  BATCH_PARTS,
  borrowing,
  job,
  lane,
  line,
  member,
  ms,
  name,
  outcome,
  outputChunk,
  probe,
  reportedRun,
  request,
  requires,
  settings,
  slots,
  stage,
  task,
  taskAttempt,
  taskOfJob,
  taskRange,
  used,
} from '../fields/records.js';
import { centralLine, jobExplanation, waitingGroup } from '../job/explanation.js';
import { factFields } from '../job/facts.js';
import {
  forecastEnd,
  forecastOutcome,
  jobOutline,
  OUTLINES_PER_MESSAGE_MAX,
  plannedEnd,
} from '../job/outline.js';
import { PRIORITIES } from '../job/priority.js';
import { retryChoiceFields } from '../job/retry-choice.js';
import { clusterShares } from '../job/shares.js';
import { usageBooks, usageQuery } from '../job/usage.js';
import {
  accepted,
  appended,
  jobDetail,
  jobEnd,
  jobFate,
  jobFilter,
  jobList,
  jobSummary,
  logPage,
  RESULT_ORDERS,
  resultPage,
  TASKS_LISTED_MAX,
  taskPage,
} from '../job/view.js';
import { WAITING_REASONS } from '../job/waiting.js';
import { LIMITS } from '../limits.js';
import { LENGTHS_MAX } from '../policy/job-lengths.js';
import { CLASSES } from '../policy/presets.js';

export const ROLES = ['client', 'scheduler', 'central', 'worker'] as const;
export type Role = (typeof ROLES)[number];

interface Declaration<F, From extends Role, To extends Role> {
  readonly from: readonly From[];
  readonly to: readonly To[];
  /** Effect of losing, duplicating or delaying the message. */
  readonly faults: string;
  readonly fields: F;
}

/** Declares a message. @param faults what happens if it is lost, repeated or late */
function message<
  const F extends Record<string, Field<unknown>>,
  const From extends Role,
  const To extends Role,
>(from: From | readonly From[], to: To | readonly To[], faults: string, fields: F): Declaration<F, From, To> {
  return {
    from: typeof from === 'string' ? [from] : from,
    to: typeof to === 'string' ? [to] : to,
    faults,
    fields,
  };
}

/**
 * Every message of the protocol: its sender and receiver, its fields with their units, and the effect of
 * losing, duplicating or delaying it. Messages between two parties arrive in order while their connection
 * lasts; machines assume nothing else about the network.
 *
 * The order of the table and of the fields defines the wire format. After a release, append messages and optional
 * fields at the end, and raise PROTOCOL_VERSION for any other change.
 */

function answer<const From extends Role, T>(from: From | readonly From[], value: Field<T>) {
  return message(from, 'client', 'Lost: the request is retried.', { request, value });
}

/** Usage that counts against the limits of a user, apart from running tasks. */
const quotaUsage = record({
  user: name,
  /** Tasks that have not started. */
  waiting: count,
  /** Bytes of the user's jobs in journals. */
  journal: number,
});

/** The fields in which an owner tells central about the tasks of a stage. */
const stageFacts = {
  demand: resources,
  /** The owner’s estimate of a task’s run time; 0: unknown. */
  estimateMs: ms,
  requires,
  /** The tasks start together or not at all. */
  gang: optional(flag),
  /** Whether its running tasks may pause for others; undefined: yes. */
  lend: optional(flag),
};

/** Tells where a journal comes from. */
const lineage = record({
  /** How often a scheduler has continued the journal from a copy of its folder; the highest number owns the jobs. */
  moves: count,
  /**
   * State of the original when it was copied; `restored`: an imported backup. Absent: the sender has no copy, or central
   * has admitted it.
   */
  copyOf: optional(choice('stopped', 'running', 'restored')),
});

export const PROTOCOL_VERSION = 1;

export const MESSAGES = {
  // ---- membership: workers and schedulers ↔ central
  register: message('worker', 'central', 'Retried until welcomed. Duplicate: no effect.', {
    name,
    slots,
    capacity: resources,
    draining: flag,
    /**
     * `HOST:PORT` of its HTTP server; absent without a server, or if the server is reachable only locally.
     */
    http: optional(text(512)),
    /**
     * Runs that central placed here, so that a restarted central knows them immediately; owners report other
     * runs.
     */
    runs: list(reportedRun, LIMITS.heldTasksMax),
    attributes: list(attribute, LIMITS.attributesMax),
    /** Maximum number of tasks that share its CPUs, under policies that pack; absent: as many as slots. */
    places: optional(slots),
    /** The remaining time of a drain with a deadline, which a restarted central does not know. */
    drainDeadlineMs: optional(ms),
  }),
  enlist: message('scheduler', 'central', 'Retried until welcomed. Duplicate: no effect.', {
    name,
    /** Prefix of the ids of this scheduler's jobs. */
    tag: text(32),
    /** The endpoint for clients. */
    endpoint: text(512),
    /**
     * The scheduler keeps its jobs when it exits: it may return with the same tag, and its running tasks continue
     * meanwhile.
     */
    durable: flag,
    /** The scheduler accepts no new jobs and will leave. */
    draining: flag,
    /** See `register`. */
    http: optional(text(512)),
    /** Epoch of the journal, if others can take it over: the highest epoch owns the jobs. 0: no takeover. */
    epoch: count,
    /** The scheduler has taken over the journal of a lost scheduler and accepts no other jobs. */
    adopted: flag,
    /** Previous incarnations recorded in its journal, latest last. */
    previousIncarnations: list(address, LIMITS.previousIncarnationsMax),
    /** Absent: the journal was never copied. */
    lineage: rare(lineage),
  }),
  welcome: message(
    'central',
    ['worker', 'scheduler'],
    'Lost: the request is retried. With a learned cutoff: repeated to schedulers when they report completed jobs. Duplicate: harmless.',
    {
      settings,
    },
  ),
  heartbeat: message(['worker', 'scheduler'], 'central', 'If several in a row are lost, the lease expires.', {
    /** Slots in use (workers), unfinished jobs (schedulers). */
    busy: count,
    /** Queue length (workers), waiting tasks (schedulers). */
    queued: count,
    /** CPU and memory that running tasks use at present. Absent: unknown, or not a worker. */
    used: optional(used),
    /** Wall clock of the sender, ms since 1970. Only of schedulers, whose clocks users see. */
    clock: rare(ms),
  }),
  heartbeatAck: message(
    'central',
    ['worker', 'scheduler'],
    'Several lost in a row: the party registers again.',
    {
      /** Membership version; a party with a different one sends `resync`. */
      version: count,
      /** Version of the list of key owners. */
      ownersVersion: count,
      /**
       * Central matches short jobs. If false, central is overloaded, and workers and schedulers find each
       * other.
       */
      matching: flag,
      /**
       * Lists stages of the scheduler's jobs with tasks that wait at central, a part of them at a time. If schedulers
       * declare jobs, other jobs count as a stage with 0 tasks. The scheduler corrects what a lost message has left wrong.
       */
      waiting: optional(
        list(
          record({ job, stage, tasks: countTo(LIMITS.tasksPerJobMax), declared: flag }),
          LIMITS.waitingListedMax,
        ),
      ),
    },
  ),
  notRegistered: message(
    'central',
    ['worker', 'scheduler'],
    'Lost: the next heartbeat is answered the same way.',
    {},
  ),
  leave: message(['worker', 'scheduler'], 'central', 'Lost: the lease expires instead.', {}),
  resync: message(['worker', 'scheduler'], 'central', 'Lost: retried after the next heartbeat.', {}),
  peers: message(
    'central',
    'worker',
    'Lost: the next `heartbeatAck` has another version, and the receiver sends `resync`.',
    {
      version: count,
      /** The version on which this update is based; 0: `joined` is the complete list. */
      since: count,
      /** General workers, from which probes may be stolen (Hawk §3.6); empty if the policy does not steal. */
      joined: list(address, LIMITS.membersMax),
      left: list(address, LIMITS.membersMax),
      /** Lost schedulers; their tasks must end. */
      ownersLost: list(address, LIMITS.membersMax),
      /** New schedulers, if workers ask schedulers for tasks. */
      owners: list(address, LIMITS.membersMax),
      /**
       * Disconnected schedulers that keep their jobs: their running tasks continue, and results are kept for
       * them.
       */
      ownersAway: list(address, LIMITS.membersMax),
    },
  ),
  members: message(
    'central',
    'scheduler',
    'Lost: the next `heartbeatAck` has another version, and the receiver sends `resync`.',
    {
      version: count,
      since: count,
      /** New and changed workers. */
      changed: list(member, LIMITS.membersMax),
      left: list(address, LIMITS.membersMax),
      /** All schedulers that own keys, including disconnected ones that keep their jobs. */
      owners: list(record({ name, away: flag }), LIMITS.membersMax),
      ownersVersion: count,
      /** Age (ms) of the last heartbeat of each worker of `left`. */
      silentMs: optional(list(count, LIMITS.membersMax)),
    },
  ),
  drain: message('central', 'worker', 'Lost: retried with the next heartbeat’s acknowledgement.', {
    on: flag,
    /** Tasks still running after this time restart elsewhere. Absent: no limit. */
    deadlineMs: optional(ms),
  }),
  drained: message(
    'worker',
    'central',
    'Lost: the worker is shown as draining until it repeats the message.',
    {},
  ),
  usage: message('scheduler', 'central', 'Lost: the share of short work is off by one report.', {
    /** Run time of short tasks that ended since the last report. */
    shortMs: ms,
    longMs: ms,
    /**
     * Estimate × tasks of the short jobs that arrived since the last report and that central does not learn about
     * otherwise.
     */
    arrivedMs: ms,
    /** Number of tasks of these jobs. */
    arrivedTasks: count,
    /** Jobs completed since the last report, by mean task run time; the cutoff is learned from them. */
    completed: list(record({ length: count, jobs: count, workMs: ms }), LENGTHS_MAX + 1),
  }),

  // ---- long jobs (waiting-time queue): owner → central → worker → owner
  place: message(
    'scheduler',
    'central',
    'Repeated until the task is placed or withdrawn; central ignores repetitions.',
    {
      job,
      stage,
      long: flag,
      tasks: list(taskAttempt, LIMITS.tasksPerMessageMax),
      estimateMs: ms,
      demand: resources,
      requires,
    },
  ),
  assign: message(
    'central',
    'worker',
    'Lost: the owner receives no message about the task and asks central again. Duplicate: ignored.',
    {
      owner: address,
      job,
      stage,
      task,
      attempt,
      long: flag,
      estimateMs: ms,
      demand: resources,
    },
  ),
  placed: message('central', 'scheduler', 'Lost: `place` is retried and answered again.', {
    job,
    at: list(record({ task, attempt, worker: address }), LIMITS.tasksPerMessageMax),
  }),
  withdraw: message('scheduler', 'central', 'Lost: repeated once `heartbeatAck` lists the job as waiting.', {
    job,
  }),
  placementStarted: message(
    'worker',
    'central',
    'Lost: the worker’s estimated waiting time is wrong until the task ends.',
    {
      owner: address,
      job,
      task,
      attempt,
    },
  ),
  placementEnded: message(
    'worker',
    'central',
    'Lost: the worker registers again once its heartbeat reports fewer tasks than central counts there.',
    {
      owner: address,
      job,
      task,
      attempt,
    },
  ),

  // ---- short jobs, and the start of every task: owner ↔ worker
  probe: message(
    'scheduler',
    'worker',
    'Lost: its owner sends more probes if none is served for long. Duplicate: an extra probe, refused if unnecessary.',
    {
      job,
      stage,
      long: flag,
      lane,
      demand: resources,
      /** Estimate × waiting tasks, if workers serve small jobs first; otherwise 0. */
      sizeMs: ms,
      requires,
    },
  ),
  cancelProbes: message('scheduler', 'worker', 'Lost: the probes are refused when they are served.', {
    job,
    stage,
  }),
  ask: message(
    'worker',
    'scheduler',
    'Retried until answered, marked as a retry; the owner gives the same answer.',
    {
      /** Identifies the question; unique at the worker. */
      ask: count,
      again: flag,
      job,
      stage,
      /** The task, if central placed it here; otherwise the owner chooses. */
      placed: optional(taskAttempt),
    },
  ),
  run: message(
    'scheduler',
    'worker',
    'Lost: the worker repeats its question; for a match, central learns that the worker did not receive it; for a chunk, the owner audits the worker. Late: declined. Duplicate: recognized and ignored.',
    {
      /**
       * The question that this answers: an `ask`, a `seek` or the one in an `ended`. 0: unsolicited. Further
       * tasks for the same question form a chunk: they wait behind the first one in its slot.
       */
      ask: count,
      /** Central's match for this task; 0: central is not involved. */
      match: count,
      job,
      stage,
      task,
      attempt,
      payload: open,
      /** Id of the job, which the task sees. */
      jobId: name,
      long: flag,
      demand: resources,
      timeoutMs: optional(ms),
      /**
       * Workers that ran this task before were lost: for this long, or until it ends, the worker starts no other task.
       */
      apartMs: optional(ms),
      /**
       * Estimated run time, if tasks wait at central: the worker may receive one of them before this task
       * ends.
       */
      expectedMs: optional(ms),
      /**
       * How often the task has started, including this time; the task sees it as its attempt number.
       * `attempt` also counts attempts that never started.
       */
      execution: optional(attempt),
      /** Values of earlier stages, one JSON line each, or why they are unavailable. */
      inputs: optional(view({ lines: text(LIMITS.inputLengthMax), problem: optional(line) })),
      /** The task is a member of a gang: it takes a slot and waits for `startGang`. */
      gang: optional(record({ rank: count, ranks: count })),
      /** User of the job. */
      user: optional(name),
      /** CPUs that it borrows: the lenders pause until it ends. Declined if they are not enough any more. */
      borrows: rare(borrowing),
    },
  ),
  none: message('scheduler', 'worker', 'Lost: retried.', { ask: count }),
  ended: message(
    'worker',
    'scheduler',
    'Retried until confirmed. Duplicate: confirmed again, counted once.',
    {
      /** Identifies the report; unique at the worker. */
      report: count,
      job,
      task,
      attempt,
      outcome,
      runMs: ms,
      /** Captured output that has not been sent yet. */
      output: list(outputChunk, 64),
      /** Length of all captured output, including the above. */
      outputBytes: count,
      /** The question for the slot's next task, answered like an `ask`; 0: none. */
      ask: count,
      /** For how long it was paused, which `runMs` excludes; absent: never. */
      pausedMs: rare(ms),
      /** Tasks that were paused for it; absent: none. */
      borrowedFrom: rare(list(taskOfJob, LIMITS.lendersMax)),
      /** The message `lent` has the same field. */
      fromParent: rare(flag),
      /** The message `run` has the same field; absent: the attempt. */
      execution: rare(attempt),
      /** For how long the report has waited at the worker; absent: the attempt has just ended. */
      endedAgoMs: rare(ms),
    },
  ),
  confirm: message('scheduler', 'worker', 'Lost: the report is repeated.', { report: count }),
  output: message(
    'worker',
    'scheduler',
    'Lost: sent again until acknowledged. Duplicate: recognized by its offset.',
    {
      job,
      task,
      attempt,
      /** Bytes that the attempt printed before, on both streams. */
      offset: count,
      chunk: outputChunk,
      /**
       * Position of the oldest output that the worker still has. The owner refuses the output if earlier output is missing
       * that the worker still has.
       */
      keptFrom: count,
    },
  ),
  cancelTask: message('scheduler', 'worker', 'Retried until the task has ended.', { job, task, attempt }),
  declined: message(
    'worker',
    'scheduler',
    'Lost: for probes, the owner sends more after a while; for a task, it audits the worker.',
    {
      job,
      stage,
      /** Number of probes that will not be served here. */
      probes: count,
      /** The task, placed or bound, that will not run here. */
      placed: optional(taskAttempt),
    },
  ),

  // ---- stealing: worker ↔ worker; the victim notifies the owners
  steal: message('worker', 'worker', 'Lost: the thief asks the next victim after a while.', {
    round: count,
    /** Attributes of the thief; it receives no tasks that require others. */
    attributes: optional(list(attribute, LIMITS.attributesMax)),
  }),
  stolen: message(
    'worker',
    'worker',
    'Late: the probes are queued anyway. Lost: their owner sends more if none is served for long.',
    {
      round: count,
      probes: list(probe, LIMITS.stolenProbesMax),
    },
  ),
  moved: message(
    'worker',
    'scheduler',
    'Lost or duplicated: the owner records a wrong location for the probes, and sends more after a while.',
    {
      job,
      stage,
      to: address,
      probes: count,
    },
  ),

  // ---- requests of clients; the answers are below
  submit: message('client', 'scheduler', 'Retried until answered; the key makes it idempotent.', {
    request,
    /** Chosen by the client; submissions with the same key are one job. */
    key: name,
    /** The spec as submitted; the owner validates it. */
    spec: open,
  }),
  watchJob: message('client', 'scheduler', 'Repeated as a keep-alive; a watch without it expires.', {
    request,
    id: name,
    /** Requests start and run time of each task in the final event. */
    detail: flag,
    /** Report progress within milliseconds: the client reads results as they arrive. */
    soon: optional(flag),
  }),
  unwatch: message('client', 'scheduler', 'Lost: the watch expires.', { request }),
  describeJob: message('client', 'scheduler', 'Retried until answered.', {
    request,
    id: name,
    spec: flag,
  }),
  listJobs: message('client', 'scheduler', 'Retried until answered.', {
    request,
    states: list(name, 16),
    user: optional(name),
    /** Maximum number of ended jobs, newest first. */
    endedMax: count,
    jobsMax: count,
    where: optional(jobFilter),
  }),
  readLogs: message('client', 'scheduler', 'Retried until answered.', {
    request,
    id: name,
    task: optional(count),
    failedOnly: flag,
    /** Cursor: `next` of the previous answer. */
    cursor: count,
    /** Only this attempt of each task; 0: the last one. Absent: all. */
    attempt: optional(attempt),
  }),
  readResults: message('client', 'scheduler', 'Retried until answered.', {
    request,
    id: name,
    /**
     * First task whose value is requested, or with `ended` the number of results already read. The answer contains
     * the next value of this parameter.
     */
    from: count,
    /** undefined: only the values of completed tasks that returned one. */
    order: optional(choice(...RESULT_ORDERS)),
  }),
  cancelJob: message('client', 'scheduler', 'Retried until answered; idempotent.', {
    request,
    id: name,
  }),
  retryJob: message('client', 'scheduler', 'Retried until answered; the key makes it idempotent.', {
    request,
    key: name,
    id: name,
    ...retryChoiceFields,
    /** Retry as a new job, which keeps the task numbers. */
    asNew: optional(flag),
  }),
  findSchedulers: message('client', ['central', 'scheduler'], 'Retried until answered.', { request }),
  drainWorker: message('client', 'central', 'Retried until answered; idempotent.', {
    request,
    worker: name,
    on: flag,
    /** Tasks still running after this time restart elsewhere. Absent: no limit, or the one requested before. */
    deadlineMs: optional(ms),
  }),
  readCounters: message('client', ['central', 'scheduler', 'worker'], 'Retried until answered.', {
    request,
  }),
  refused: message(['central', 'scheduler', 'worker'], 'client', 'Lost: the request is retried.', {
    request,
    code: text(64),
    message: line,
    hint: line,
    /** When to retry; only if a retry is likely to succeed. */
    retryMs: optional(ms),
  }),

  // ---- matching: owners report needs, workers report free slots, and central matches them
  need: message(
    'scheduler',
    'central',
    'Repeated while tasks wait, and when `heartbeatAck` lists another number of tasks; it carries absolute state, not a delta.',
    {
      job,
      stage,
      /** Tasks that wait at the owner and may run. 0: the job needs no more workers. */
      tasks: countTo(LIMITS.tasksPerJobMax),
      /**
       * Matches for this stage that the owner has received, so that matches in flight are not counted twice.
       */
      matches: count,
      part: choice(...BATCH_PARTS),
      ...stageFacts,
      /** The job is known to be long; its pilots have not determined the estimate yet. */
      estimateFollows: optional(flag),
      /** Workers that the tasks must avoid because attempts failed there. */
      avoid: optional(list(address, LIMITS.avoidedWorkersMax)),
      /**
       * Describes the job: the first time, with each change, and with repetitions. Absent: the last description is valid;
       * a central without one ignores the message.
       */
      about: rare(
        view({
          ...factFields,
          /** Time since the owner accepted the job. */
          ageMs: ms,
          /** Deadline, relative to acceptance. */
          deadlineMs: rare(ms),
          /**
           * Slot time of the job’s ended attempts, for a restarted central; absent: none.
           */
          attainedMs: rare(ms),
          /**
           * All stages, for a policy that plans whole jobs: central keeps the job until it is withdrawn. Absent: central
           * forgets the job when none of its tasks waits or runs. Such a policy then knows the whole job, too: `stage`
           * is its only stage, and no task has ended.
           */
          stages: rare(
            list(
              view({
                ...stageFacts,
                tasks: countTo(LIMITS.tasksPerJobMax),
                /** Tasks that completed, or that were given up. */
                ended: countTo(LIMITS.tasksPerJobMax),
                /** Stages that must complete first. */
                after: list(stage, LIMITS.stagesPerJobMax),
                /** Distribution of run times, if the estimator knows it; otherwise empty. */
                distribution: list(record({ from: ms, to: ms, p: number }), LIMITS.segmentsMax),
              }),
              LIMITS.stagesPerJobMax,
            ),
          ),
        }),
      ),
    },
  ),
  pull: message(
    'worker',
    'central',
    'Repeated while a slot is free; it carries absolute state, not a delta.',
    {
      /**
       * The latest matches that this worker has received, at most one per slot. Central makes at most one new match per
       * slot before the next report.
       */
      heard: list(count, LIMITS.slotsMax),
      /** Free slots, and the resources that are free for them; of GPUs, the most that one task can get. */
      free: countTo(LIMITS.slotsMax),
      spare: resources,
      /** Number of CPUs that run long tasks. */
      long: countTo(LIMITS.slotsMax),
      /**
       * Run time of short tasks that completed since the last report, if the reserve depends on it; otherwise
       * 0.
       */
      shortMs: ms,
      /** Matches of busy slots: each runs a task, or requests the next tiny task. */
      runs: list(count, LIMITS.slotsMax),
      /** Free amounts of partly used GPUs; absent with at most one, which `spare` covers. */
      gpuParts: optional(list(number, LIMITS.gpusMax)),
      /**
       * GPUs that tasks hold, so that central knows which become free together: amounts by index; 0 is the match
       * of tasks without one. Absent if no task holds any.
       */
      gpus: optional(
        list(
          record({ match: count, gpu: countTo(LIMITS.gpusMax), amount: number }),
          LIMITS.slotsMax + LIMITS.gpusMax,
        ),
      ),
      /** The members of `runs` whose tasks are paused, so that their CPUs serve others; absent: none. */
      paused: rare(list(count, LIMITS.slotsMax)),
    },
  ),
  matched: message(
    'central',
    'scheduler',
    'Lost: the need is repeated, and `checkMatch` asks the owner about the match.',
    {
      job,
      stage,
      /** One slot of each of these workers is assigned to the job. Each worker numbers its matches. */
      workers: list(view({ worker: address, match: count, borrows: optional(borrowing) }), LIMITS.membersMax),
      /** No more tasks of any job were waiting at central at that moment. */
      noneWaiting: optional(flag),
      /** Workers that the scheduler does not know yet. */
      newcomers: optional(list(record({ worker: address, name }), LIMITS.membersMax)),
    },
  ),
  unused: message('scheduler', 'central', 'Lost: `checkMatch` asks the owner about the match again.', {
    worker: address,
    match: count,
  }),
  checkMatch: message('central', 'scheduler', 'Lost: retried while the worker has not received the match.', {
    job,
    worker: address,
    match: count,
  }),

  // ---- seeking: free workers ask schedulers for short tasks
  seek: message(
    'worker',
    'scheduler',
    'Retried until answered, marked as a retry; the owner gives the same answer.',
    {
      /** Identifies the question; unique at the worker. */
      ask: count,
      again: flag,
      /** Free resources apart from the slot. */
      spare: resources,
    },
  ),
  occupied: message(
    'central',
    'scheduler',
    'Lost: until the next bitmap, probes may go to workers that run only long tasks.',
    {
      /** One bit per worker, least significant first: all of its slots run long tasks. */
      bits: bytes(Math.ceil(LIMITS.membersMax / 8)),
    },
  ),

  // ---- a restarted owner finds out which tasks its workers hold
  resume: message(
    'scheduler',
    'worker',
    'After a restart, retried until the worker answers; otherwise sent occasionally as an audit.',
    {
      /** Previous incarnations of the sender, whose tasks it takes over. */
      previousIncarnations: list(address, LIMITS.previousIncarnationsMax),
      /** Number of the audit; 0: after a restart, when the sender needs again the output that earlier incarnations received. */
      audit: count,
    },
  ),
  holding: message('worker', 'scheduler', 'Lost: `resume` is retried. Duplicate: harmless.', {
    /**
     * The owner's tasks that are running here, or that ended without confirmation; reports of these follow.
     */
    tasks: list(
      view({
        job,
        task,
        attempt,
        /** Time since the start. */
        elapsedMs: ms,
        /** The match of the task, so that central can preempt it. Absent: none. */
        match: optional(count),
        /** For how much of that time it was paused; absent: never. */
        pausedMs: optional(ms),
        /** The task that uses its CPUs at present; absent: it is not paused. */
        lentTo: optional(taskOfJob),
        /** Tasks that are paused for it now; empty: no more. Absent: never. */
        borrowedFrom: optional(list(taskOfJob, LIMITS.lendersMax)),
        /** The message `lent` has the same field. */
        toChild: optional(flag),
        fromParent: optional(flag),
        /** The message `run` has the same field; absent: the attempt. */
        execution: optional(attempt),
      }),
      LIMITS.heldTasksMax,
    ),
    /** Number of the audit that this answers. */
    audit: count,
  }),

  // ---- sampling: the class of a job may be decided late
  nowLong: message(
    'scheduler',
    'worker',
    'Lost: the task counts as short until it ends, and probes behind it are not stolen until it has run for the cutoff.',
    { job, task, attempt },
  ),

  // ---- only one central per cluster
  claim: message('central', 'central', 'Repeated, more often after a start.', {
    /** Number of workers and schedulers with a recent heartbeat. */
    followers: count,
    /** The sender has just started. */
    isNew: flag,
    /** Addresses of the sender. */
    at: list(address, LIMITS.centralPlacesMax),
  }),

  // ---- why tasks wait, and where time was spent
  explainJob: message('client', 'scheduler', 'Retried until answered.', {
    request,
    id: name,
    /** A task to report individually. */
    task: optional(count),
  }),
  explainWaiting: message('client', 'scheduler', 'Retried until answered.', { request }),
  explainLine: message('client', 'central', 'Retried until answered.', { request }),
  planEnd: message('client', 'central', 'Retried until answered, which takes some seconds.', {
    request,
    /** A job that was not submitted; running tasks are ignored. */
    outline: jobOutline,
  }),
  explainNeed: message('client', 'central', 'Retried until answered.', {
    request,
    /** Full name of the job's scheduler. */
    owner: text(512),
    job,
  }),

  // ---- workers on which no task can start
  quarantine: message('worker', 'central', 'Repeated with each heartbeat; the quarantine ends without it.', {
    /** Why the worker accepts no tasks for now; empty: it accepts tasks again. */
    reason: text(8_192),
  }),
  nameTaken: message('central', ['worker', 'scheduler'], 'Lost: the party registers again.', {
    /** Full name of the party that has the name. */
    holder: text(512),
    /** Tag of the journal, if the other party has the same tag: one of the two uses a copy of that journal. */
    tag: optional(text(32)),
    /** The receiver has a copy, and nothing proves that the original has ended. */
    needsTakeover: rare(flag),
  }),
  unfit: message('scheduler', 'worker', 'Lost: repeated when the next task fails there.', {
    /** Evidence that the worker fails tasks that complete elsewhere. */
    reason: text(1_024),
    /** The user of all these tasks. Absent: they have several users, or none. */
    user: optional(name),
  }),

  // ---- preemption
  preempt: message('central', 'scheduler', 'Lost: the policy asks again. Duplicate: no effect.', {
    job,
    worker: address,
    /** The match whose task is preempted and requeued. */
    match: count,
  }),
  evict: message('scheduler', 'worker', 'Lost: the policy asks again. Late: the attempt has ended.', {
    job,
    task,
    attempt,
  }),

  // ---- takeover of a lost scheduler's jobs
  takeOver: message(
    'central',
    'scheduler',
    'Lost: retried, with this scheduler or another. Duplicate: the epoch in the journal prevents a second takeover.',
    {
      /** Name of the lost scheduler, and tag and epoch of its journal. */
      name,
      tag: text(32),
      epoch: count,
    },
  ),
  superseded: message('central', 'scheduler', 'Lost: repeated when it enlists again.', {
    /** Another scheduler has taken over its jobs with this higher epoch. */
    epoch: count,
  }),
  takeOverFrom: message('client', 'central', 'Retried until answered; an unknown scheduler counts as gone.', {
    request,
    /**
     * Name of the lost scheduler. `*`: all that are disconnected or missing and whose journals others can
     * read.
     */
    scheduler: name,
  }),
  describeShares: message('client', 'central', 'Retried until answered.', { request }),
  readEvents: message('client', 'central', 'Retried until answered.', {
    request,
    /** `next` of the previous page; 0: the first page. */
    after: count,
    /** Only events since this time. Wall clock, ms. */
    since: optional(number),
  }),
  readHistory: message('client', 'central', 'Retried until answered.', {
    request,
    /** Only points after this time. Wall clock, seconds. */
    after: count,
  }),
  describeCluster: message('client', 'central', 'Retried until answered.', { request }),
  listWorkers: message('client', 'central', 'Retried until answered.', {
    request,
    /** Cursor: `next` of the previous page; 0: the first page. */
    from: count,
  }),

  // ---- answers to clients
  accepted: answer('scheduler', accepted),
  jobSummary: answer('scheduler', jobSummary),
  jobDetail: answer('scheduler', jobDetail),
  jobList: answer('scheduler', jobList),
  jobExplanation: answer('scheduler', jobExplanation),
  waitingGroups: answer('scheduler', list(waitingGroup, CLASSES.length * WAITING_REASONS.length)),
  resultPage: answer('scheduler', resultPage),
  logPage: answer('scheduler', logPage),
  introduction: answer('scheduler', introduction),
  schedulers: answer('central', schedulers),
  eventPage: answer('central', eventPage),
  historyPage: answer('central', historyPage),
  cluster: answer('central', clusterView),
  workerPage: answer('central', workerPage),
  centralLine: answer('central', centralLine),
  plannedEnd: answer('central', plannedEnd),
  shares: answer('central', clusterShares),
  drainState: answer('central', drainState),
  takeover: answer('central', takeover),
  counters: answer(['central', 'scheduler', 'worker'], counters),
  jobProgress: message('scheduler', 'client', 'Lost: the next event, or the renewed watch, includes it.', {
    request,
    value: jobSummary,
  }),
  jobEnded: message('scheduler', 'client', 'Lost: the renewed watch is answered with the end.', {
    request,
    value: jobEnd,
  }),

  // ---- jobs that depend on jobs of other schedulers
  seekOwner: message('scheduler', 'central', 'Lost: retried while jobs depend on its jobs.', {
    tag: text(32),
  }),
  ownerIs: message('central', 'scheduler', 'Lost: retried.', {
    tag: text(32),
    /** Scheduler that owns the jobs with this tag; absent while it is disconnected. */
    owner: optional(address),
    /** No scheduler has these jobs, and no disconnected or missing one can return with them. */
    gone: flag,
  }),
  awaitJobs: message(
    'scheduler',
    'scheduler',
    'Repeated, with growing intervals, while jobs depend on these.',
    {
      ids: list(name, LIMITS.awaitedMax),
      /** Only asks whether this user may depend on them: jobs of others are unknown. Absent: jobs depend on them. */
      user: optional(name),
    },
  ),
  jobFates: message(
    'scheduler',
    'scheduler',
    'Lost: requested again. Sent immediately, and when a job ends.',
    {
      fates: list(jobFate, LIMITS.awaitedMax),
      /** The user of the question. */
      user: optional(name),
    },
  ),

  // ---- single tasks
  listTasks: message('client', 'scheduler', 'Retried until answered.', {
    request,
    id: name,
    /** Only tasks in these states; empty: any state. */
    states: list(name, 16),
    /** Only tasks of this stage. */
    stage: optional(name),
    /** Index of the first task to examine; the answer contains the next one. */
    from: count,
    limit: countTo(TASKS_LISTED_MAX),
  }),
  taskPage: answer('scheduler', taskPage),

  // ---- changes to waiting jobs
  updateJob: message(
    'client',
    'scheduler',
    'Retried until answered; carries absolute state. A request older than the client’s last one is ignored.',
    {
      request,
      id: name,
      /** Whether the job is on hold; false also cancels its begin time. */
      held: optional(flag),
      priority: optional(choice(...PRIORITIES)),
    },
  ),

  // ---- journals that schedulers share
  journals: message('scheduler', 'central', 'Repeated every few seconds. Duplicate: no effect.', {
    /** All journals in the database that contain jobs, with any owner. */
    journals: list(
      record({
        /** Name of the scheduler that created it. */
        name,
        tag: text(32),
        epoch: count,
      }),
      LIMITS.membersMax,
    ),
  }),

  // ---- open jobs, to which clients append tasks
  appendTasks: message(
    'client',
    'scheduler',
    'Retried until answered; tasks that the job already has are skipped.',
    {
      request,
      id: name,
      /** Index of the first of these tasks; without tasks, the answer contains the number of tasks. */
      first: countTo(LIMITS.tasksPerJobMax),
      /** Fields shared by all of the tasks. */
      common: open,
      /** The list of tasks. */
      each: open,
      /** Digest of all tasks of the job, including these. */
      digest: text(64),
      /** No more tasks may be appended. */
      close: flag,
      /**
       * The client does not need results of tasks before this one again; the scheduler drops those that are
       * only in memory.
       */
      taken: countTo(LIMITS.tasksPerJobMax),
    },
  ),
  appended: answer('scheduler', appended),

  // ---- cancelling single tasks, and jobs by filter
  cancelTasks: message('client', 'scheduler', 'Retried until answered; idempotent.', {
    request,
    id: name,
    /** Ranges of task numbers, `first` and `last` included; empty: all of the stage, or of the job. */
    tasks: list(taskRange, LIMITS.taskRangesMax),
    /** Only tasks of this stage. */
    stage: optional(name),
  }),
  tasksCancelled: answer(
    'scheduler',
    view({
      job: jobSummary,
      cancelled: count,
      /** Tasks that are running and will be killed. */
      killing: count,
      /** Tasks that had completed or failed already. */
      ended: count,
    }),
  ),
  cancelJobs: message('client', 'scheduler', 'Retried until answered; idempotent.', {
    request,
    /** Only jobs in these states; empty: any state. */
    states: list(name, 16),
    user: optional(name),
    /** A pattern with `*` and `?`. */
    name: optional(name),
    /** Number of the first job to examine; the answer contains the next one. */
    from: job,
    /** Count and name the jobs, but do not cancel them. */
    dryRun: flag,
    /** Only these jobs, even if their user, name and state have changed; absent: all that match. */
    ids: optional(list(name, LIMITS.cancelledMax)),
  }),
  jobsCancelled: answer(
    'scheduler',
    view({
      jobs: count,
      /** Tasks of these jobs that had not started, and that were running. */
      waiting: count,
      running: count,
      next: optional(job),
      /** Ids of these jobs, if nothing was cancelled. */
      ids: list(name, LIMITS.cancelledMax),
    }),
  ),

  // ---- gangs: no member starts until all have slots
  gangReady: message(
    'worker',
    'scheduler',
    'Retried until the task starts or is cancelled. Duplicate: `startGang` is repeated if the gang has started.',
    {
      job,
      task,
      attempt,
      /** Address of this member for the others. The port is free on the worker of rank 0; 0 elsewhere. */
      host: text(512),
      port: countTo(65_535),
    },
  ),
  startGang: message(
    'scheduler',
    'worker',
    'Lost: repeated in answer to the next `gangReady`. Duplicate: ignored.',
    {
      job,
      task,
      attempt,
      /** Host of each rank. */
      hosts: list(text(512), LIMITS.gangTasksMax),
      /** A free port on the host of rank 0, to which the other members connect. */
      port: countTo(65_535),
    },
  ),

  // ---- a restarted central learns which schedulers and workers are missing
  remember: message(
    ['central', 'scheduler'],
    ['central', 'scheduler'],
    'Lost: a restarted central learns it from another scheduler, or does not know what is missing.',
    {
      /**
       * Schedulers with local journals: present, disconnected or missing. Schedulers report them to the next
       * central.
       */
      schedulers: list(record({ name, tag: text(32), address }), LIMITS.membersMax),
      /** Workers that did not register with the new central within a lease. */
      workers: list(name, LIMITS.membersMax),
    },
  ),
  // ---- limits of users
  limits: message('central', 'scheduler', 'Lost: retried after the next heartbeat. Duplicate: harmless.', {
    /** Users, `@NAME` for projects, and `*` for all other users. An absent amount is unlimited. */
    holders: list(
      view({
        holder: name,
        project: optional(name),
        running: optional(count),
        cpus: optional(number),
        memory: optional(number),
        gpus: optional(number),
        waiting: optional(count),
        journal: optional(number),
        runTime: optional(ms),
        /** The limits on running tasks may be exceeded while central is down. */
        lapse: optional(flag),
      }),
      LIMITS.usersListedMax,
    ),
    /** Usage by jobs of all other schedulers: of users, and of projects, whose names users may have as well. */
    elsewhere: list(quotaUsage, LIMITS.usageListedMax),
    projectsElsewhere: list(quotaUsage, LIMITS.usageListedMax),
    /**
     * The position of this scheduler among those that share the limits while central is away; undefined: central has just
     * started, and does not know all usage.
     */
    part: optional(record({ index: count, of: count })),
  }),
  holdings: message('scheduler', 'central', 'Lost: retried with the next heartbeat. Duplicate: harmless.', {
    users: list(quotaUsage, LIMITS.usageListedMax),
  }),
  // ---- accounting
  readUsage: message('client', 'scheduler', 'Retried until answered.', { request, ...usageQuery }),
  usageBooks: answer('scheduler', usageBooks),

  // ---- output
  outputReceived: message('scheduler', 'worker', 'Lost: the next one or `resume` replaces it.', {
    job,
    task,
    attempt,
    /** Bytes of the attempt's output, of both streams, up to which all has arrived or is lost. */
    bytes: count,
    /** Later output was refused: the worker sends it again from here. */
    gap: flag,
  }),
  lent: message(
    'worker',
    'scheduler',
    'Lost: the state of the task is shown late, until `holding` or its end corrects it.',
    {
      job,
      task,
      attempt,
      /** The task that uses its CPUs now, so that it is paused; absent: it continues. */
      to: optional(taskOfJob),
      /** For how long it was paused so far. */
      pausedMs: ms,
      /** Tasks that are paused for it now; empty: no more, because they continue beside it or have ended. Absent: never. */
      from: rare(list(taskOfJob, LIMITS.lendersMax)),
      /** `to` is of a job that the task has submitted: they share the CPUs, so it is not paused. */
      toChild: rare(flag),
      /** `from` is the task that has submitted the job: they share the CPUs, so that one is not paused. */
      fromParent: rare(flag),
    },
  ),

  // ---- expected ends of jobs
  outline: message('central', 'scheduler', 'Lost: central asks again later.', {
    /** Identifies the question; unique at central. */
    id: count,
  }),
  outlined: message('scheduler', 'central', 'Lost: central forecasts no end, and asks again later.', {
    id: count,
    /** Active jobs, oldest first, a part of them per message. */
    jobs: list(jobOutline, OUTLINES_PER_MESSAGE_MAX),
    /** Jobs with a forecast end that have ended since the last question. */
    outcomes: list(forecastOutcome, LIMITS.activeJobsMax),
    /** More messages follow. */
    more: flag,
    /** It has too many unfinished tasks for a forecast, and lists no jobs. */
    tooLarge: flag,
  }),
  expectedEnds: message(
    'central',
    'scheduler',
    'Lost: the jobs keep their earlier ends until the next forecast.',
    {
      /** Time since the scheduler answered the question. */
      ageMs: ms,
      /** Absolute state: other jobs have no expected end. */
      ends: list(forecastEnd, LIMITS.activeJobsMax),
    },
  ),

  // ---- history of the cluster
  count: message('central', 'scheduler', 'Lost: the next point has no changes of this scheduler.', {
    /** Identifies the question; unique at central. */
    id: count,
  }),
  counted: message('scheduler', 'central', 'Lost: the next answer contains its changes.', {
    id: count,
    /** Tasks and jobs that have ended, and their times, since the start of the scheduler. */
    counters,
  }),

  // ---- events of schedulers
  notices: message(
    'scheduler',
    'central',
    'Lost: repeated with the next heartbeat, until `noticesStored`. Duplicate: no effect.',
    {
      notices: list(
        record({
          /** Increases with each notice of the sender. */
          number: count,
          /** Wall clock of the event. ms */
          at: number,
          kind: choice(...NOTICE_KINDS),
          text: text(LIMITS.noticeCharactersMax),
        }),
        LIMITS.noticesPerMessageMax,
      ),
    },
  ),
  noticesStored: message('central', 'scheduler', 'Lost: the notices are repeated. Duplicate: no effect.', {
    /** Number of the last one. */
    number: count,
  }),
} as const;

/** The successful reply to each request. */
export const ANSWERS = {
  submit: ['accepted'],
  appendTasks: ['appended'],
  retryJob: ['accepted'],
  cancelJob: ['jobSummary'],
  updateJob: ['jobSummary'],
  cancelTasks: ['tasksCancelled'],
  cancelJobs: ['jobsCancelled'],
  describeJob: ['jobDetail'],
  listJobs: ['jobList'],
  listTasks: ['taskPage'],
  explainJob: ['jobExplanation'],
  explainWaiting: ['waitingGroups'],
  readResults: ['resultPage'],
  readLogs: ['logPage'],
  findSchedulers: ['schedulers', 'introduction'],
  describeCluster: ['cluster'],
  listWorkers: ['workerPage'],
  explainLine: ['centralLine'],
  explainNeed: ['centralLine'],
  planEnd: ['plannedEnd'],
  describeShares: ['shares'],
  readEvents: ['eventPage'],
  readHistory: ['historyPage'],
  drainWorker: ['drainState'],
  takeOverFrom: ['takeover'],
  readCounters: ['counters'],
  readUsage: ['usageBooks'],
} as const satisfies Partial<Record<MessageType, readonly MessageType[]>>;

/** Requests of clients. */
export type Question = keyof typeof ANSWERS;
export type AnswerType<Q extends Question = Question> = (typeof ANSWERS)[Q][number];

export type MessageType = keyof typeof MESSAGES;

/** One message, with its fields as declared above. */
export type MessageOf<T extends MessageType> = { readonly type: T } & InferMessage<
  (typeof MESSAGES)[T]['fields']
>;

/** The value of a successful reply. */
export type AnswerValue<A extends AnswerType> = Infer<(typeof MESSAGES)[A]['fields']>['value'];

export type Message = { [T in MessageType]: MessageOf<T> }[MessageType];

type TypesWith<R extends Role, End extends 'from' | 'to'> = {
  [T in MessageType]: R extends (typeof MESSAGES)[T][End][number] ? T : never;
}[MessageType];

/** Messages that this role sends. */
export type MessageFrom<R extends Role> = Extract<Message, { readonly type: TypesWith<R, 'from'> }>;
/** Messages that other roles receive, and this one does not. */
export type MessageNotTo<R extends Role> = Exclude<Message, { readonly type: TypesWith<R, 'to'> }>;

/** Ignores a message for other roles. If the machine of this role has no case for one that it receives, the call does not compile. */
export function ignoreForeign<R extends Role>(_message: MessageNotTo<R>): void {}

export const MESSAGE_TYPES = Object.keys(MESSAGES) as MessageType[];

const REPLIES: ReadonlySet<MessageType> = new Set<MessageType>([
  ...Object.values(ANSWERS).flat(),
  'refused',
  'jobProgress',
  'jobEnded',
]);

/** Replies to clients; each starts with the number of the request. */
export type Reply = { [T in ReplyType]: MessageOf<T> }[ReplyType];
type ReplyType = AnswerType | 'refused' | 'jobProgress' | 'jobEnded';

/** Whether the message answers a request of a client. */
export function isReply(message: Message): message is Reply {
  return isReplyType(message.type);
}

export function isReplyType(type: MessageType): type is ReplyType {
  return REPLIES.has(type);
}

/** Whether a message is a client's request or a reply; these messages do not count as costs of a policy. */
export function isOfClients(type: string): boolean {
  if (!Object.hasOwn(MESSAGES, type)) return false;
  const { from, to } = MESSAGES[type as MessageType];
  return [...from, ...to].includes('client');
}
