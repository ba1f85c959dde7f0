/**
 * Every message of the protocol: who sends it to whom, its fields with their units, and what happens when
 * it is lost, doubled or late. Order holds between two parties while their connection lives; nothing else
 * is assumed of the network.
 *
 * The order of the table and of the fields is the wire format. Add at the end; raise PROTOCOL_VERSION for
 * any other change.
 */
import {
  clusterView,
  counters,
  drainState,
  introduction,
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
  list,
  number,
  open,
  optional,
  record,
  resources,
  text,
  view,
} from '../fields/fields.js';
import {
  attempt,
  attribute,
  BATCH_PARTS,
  heldRun,
  job,
  lane,
  line,
  member,
  ms,
  name,
  outcome,
  outputChunk,
  probe,
  request,
  requires,
  settings,
  slots,
  stage,
  task,
  taskAttempt,
  taskRange,
  wish,
} from '../fields/records.js';
import { centralLine, jobExplanation, waitingGroup } from '../job/explanation.js';
import { PRIORITIES } from '../job/priority.js';
import { retryChoiceFields } from '../job/retry-choice.js';
import { clusterShares } from '../job/shares.js';
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
import { message, type Role } from './declaration.js';

function answer<T>(from: Role | readonly Role[], value: Field<T>) {
  return message(from, 'client', 'Lost: the request comes again.', { request, value });
}

/** Usage that counts against the limits of a user, apart from running tasks. */
const held = record({
  user: name,
  /** Tasks that have not started. */
  waiting: count,
  /** Bytes of the user's jobs in journals. */
  journal: number,
});

export const PROTOCOL_VERSION = 10;

export const MESSAGES = {
  // ---- joining and staying: everybody ↔ central
  register: message('worker', 'central', 'Sent again until welcomed. Doubled: the second changes nothing.', {
    name,
    slots,
    capacity: resources,
    draining: flag,
    /** `HOST:PORT` of its HTTP server as others reach it; none where there is no door, or one for its own machine only. */
    http: optional(text(512)),
    /** Runs sent by a central, so that a restarted central knows them at once; owners report the rest. */
    runs: list(heldRun, LIMITS.heldTasksMax),
    attributes: list(attribute, LIMITS.attributesMax),
  }),
  enlist: message('scheduler', 'central', 'Sent again until welcomed. Doubled: the second changes nothing.', {
    name,
    /** Prefix of the ids of this scheduler's jobs. */
    tag: text(32),
    /** The endpoint for clients. */
    endpoint: text(512),
    /** Its jobs survive it: should it go, it may come back under the same tag, and what it owns goes on meanwhile. */
    durable: flag,
    /** It takes no new jobs, and will go. */
    draining: flag,
    /** See `register`. */
    http: optional(text(512)),
    /** Epoch of the journal, if others can take it over: the highest epoch owns the jobs. 0: no takeover. */
    epoch: count,
    /** It has taken over the journal of one that is gone, and takes no jobs beside those. */
    adopted: flag,
    /** Its incarnations before this one, as its journal knows them; the latest last. */
    previousIncarnations: list(address, 16),
  }),
  welcome: message(
    'central',
    ['worker', 'scheduler'],
    'Lost: the other side asks again. Doubled: harmless.',
    { settings },
  ),
  heartbeat: message(['worker', 'scheduler'], 'central', 'Several lost in a row end the lease.', {
    /** Slots in use (workers), jobs that have not ended (schedulers). */
    busy: count,
    /** Entries in the queue (workers), tasks that wait (schedulers). */
    queued: count,
  }),
  heartbeatAck: message(
    'central',
    ['worker', 'scheduler'],
    'Several lost in a row: the party registers anew.',
    {
      /** Membership version; a party with a different one sends `resync`. */
      version: count,
      /** Version of the list of key owners. */
      ownersVersion: count,
      /** Central matches short jobs; otherwise workers and schedulers are to find each other, it has too much to do. */
      matching: flag,
    },
  ),
  notRegistered: message(
    'central',
    ['worker', 'scheduler'],
    'Lost: the next heartbeat is answered the same way.',
    {},
  ),
  leave: message(['worker', 'scheduler'], 'central', 'Lost: the lease ends instead.', {}),
  resync: message(['worker', 'scheduler'], 'central', 'Lost: asked again after the next heartbeat.', {}),
  peers: message('central', 'worker', 'Lost: the version differs from the next acknowledgement’s; resync.', {
    version: count,
    /** The version that this one changes; 0: `joined` is the whole list. */
    since: count,
    /** General workers, from whom probes may be stolen (Hawk §3.6); none where nobody steals. */
    joined: list(address, LIMITS.membersMax),
    left: list(address, LIMITS.membersMax),
    /** Schedulers that are gone: what they own ends here. */
    ownersLost: list(address, LIMITS.membersMax),
    /** Schedulers that are new, where workers ask schedulers for tasks. */
    owners: list(address, LIMITS.membersMax),
    /** Schedulers that are away but keep their jobs: their running tasks continue, and the results are kept. */
    ownersAway: list(address, LIMITS.membersMax),
  }),
  members: message(
    'central',
    'scheduler',
    'Lost: the version differs from the next acknowledgement’s; resync.',
    {
      version: count,
      since: count,
      /** New workers, and those of which something changed. */
      changed: list(member, LIMITS.membersMax),
      left: list(address, LIMITS.membersMax),
      /** All schedulers to which keys belong: those that are there, and those that are away and keep their jobs. */
      owners: list(record({ name, away: flag }), LIMITS.membersMax),
      ownersVersion: count,
    },
  ),
  drain: message('central', 'worker', 'Lost: sent again with the next heartbeat’s answer.', { on: flag }),
  drained: message('worker', 'central', 'Lost: the worker shows as draining until it says so again.', {}),
  usage: message('scheduler', 'central', 'Lost: the share of short work is off by one report.', {
    /** Run time of tasks that ended since the last report. */
    shortMs: ms,
    longMs: ms,
    /** Estimate × tasks, and tasks, of short jobs that arrived since then and that central does not otherwise learn of. */
    cameMs: ms,
    cameTasks: count,
    /** Jobs that completed since then, by how long their tasks took: where the cutoff is learned. */
    completed: list(record({ length: count, jobs: count, workMs: ms }), LENGTHS_MAX + 1),
  }),

  // ---- long jobs: owner → central → worker → owner
  place: message(
    'scheduler',
    'central',
    'Sent again while a task is neither placed nor withdrawn; central knows it.',
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
    'Lost: the owner, which hears nothing of the task for long, asks central again. Doubled: the worker has it already.',
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
  placed: message('central', 'scheduler', 'Lost: `place` comes again and is answered again.', {
    job,
    at: list(record({ task, attempt, worker: address }), LIMITS.tasksPerMessageMax),
  }),
  withdraw: message('scheduler', 'central', 'Lost: the task is refused when its worker asks for it.', {
    job,
  }),
  placementStarted: message('worker', 'central', 'Lost: its waiting time is off until the task ends.', {
    owner: address,
    job,
    task,
    attempt,
  }),
  placementEnded: message(
    'worker',
    'central',
    'Lost: the worker’s waiting time is too high until it is idle, or registers again.',
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
    'Lost: its owner sends more when nothing is heard of any for long. Doubled: one more chance, refused when not needed.',
    {
      job,
      stage,
      long: flag,
      lane,
      demand: resources,
      /** Estimate × tasks that wait, where workers serve small jobs first; otherwise 0. */
      sizeMs: ms,
      requires,
    },
  ),
  cancelProbes: message('scheduler', 'worker', 'Lost: the probe finds out when it is served.', {
    job,
    stage,
  }),
  ask: message(
    'worker',
    'scheduler',
    'Sent again without an answer, marked as such; the owner answers the same.',
    {
      /** Names the question; unique at the worker. */
      ask: count,
      again: flag,
      job,
      stage,
      /** Which task, when central has placed it here; otherwise the owner chooses. */
      placed: optional(taskAttempt),
    },
  ),
  run: message(
    'scheduler',
    'worker',
    'Lost: asked for again by the worker that asked; of a match, central hears that the worker knows nothing of it; of a chunk, its owner asks the worker what it holds. Late: declined. Doubled: the second is recognised.',
    {
      /**
       * The worker's question that this answers: an `ask`, a `seek`, or that of an `ended`. 0: nobody has asked. Further tasks
       * in answer to the same question are a chunk: they wait behind the first one in its slot.
       */
      ask: count,
      /** The match of central's that this task is for; 0: central has no part in it. */
      match: count,
      job,
      stage,
      task,
      attempt,
      payload: open,
      /** The job's id, by which the task is to know it. */
      jobId: name,
      long: flag,
      demand: resources,
      timeoutMs: optional(ms),
      /** It has lost workers before: nothing else is to start at this one for so long, or until it ends. */
      apartMs: optional(ms),
      /** How long it is believed to take, where others wait for the slot: their task may come before the end. */
      expectedMs: optional(ms),
      /** How often the task has started, this time included. The task sees it as its attempt; `attempt` also counts what never started. */
      execution: optional(attempt),
      /** Values of earlier stages, a JSON line each; or why the task cannot have them. */
      inputs: optional(view({ lines: text(LIMITS.inputLengthMax), problem: optional(line) })),
      /** It is one of so many tasks that start together: it takes its slot, and waits there for `startGang`. */
      gang: optional(record({ rank: count, ranks: count })),
      /** The user of the job. */
      user: optional(name),
    },
  ),
  none: message('scheduler', 'worker', 'Lost: asked again.', { ask: count }),
  ended: message(
    'worker',
    'scheduler',
    'Sent again until confirmed. Doubled: confirmed again, counted once.',
    {
      /** Names the report; unique at the worker. */
      report: count,
      job,
      task,
      attempt,
      outcome,
      runMs: ms,
      /** Captured output that was not sent yet. */
      output: list(outputChunk, 64),
      /** All that was captured, the above included. */
      outputBytes: count,
      /** The slot waits for the next task, and this is the question for it, answered as an `ask` is; 0: it does not. */
      ask: count,
    },
  ),
  confirm: message('scheduler', 'worker', 'Lost: the report comes again.', { report: count }),
  output: message('worker', 'scheduler', 'Lost: the output is missing from the task’s log.', {
    job,
    task,
    attempt,
    /** Bytes that went before, of both streams. */
    offset: count,
    chunk: outputChunk,
  }),
  cancelTask: message('scheduler', 'worker', 'Sent again until the task has ended.', { job, task, attempt }),
  declined: message(
    'worker',
    'scheduler',
    'Lost: of a probe, its owner sends more after a while; of a task, it asks the worker what it holds.',
    {
      job,
      stage,
      /** So many probes will not be served here… */
      probes: count,
      /** …or this task, placed or bound, will not run here. */
      placed: optional(taskAttempt),
    },
  ),

  // ---- stealing: worker ↔ worker, and what the victim tells the owners
  steal: message('worker', 'worker', 'Lost: the thief asks the next victim after a while.', {
    round: count,
    /** Attributes of the thief: it gets no tasks that require others. */
    attributes: optional(list(attribute, LIMITS.attributesMax)),
  }),
  stolen: message(
    'worker',
    'worker',
    'Late: the probes are queued all the same. Lost: their owner sends more when nothing is heard of any for long.',
    {
      round: count,
      probes: list(probe, LIMITS.stolenProbesMax),
    },
  ),
  moved: message(
    'worker',
    'scheduler',
    'Lost or doubled: the owner looks for the probes in the wrong place, and sends more after a while.',
    {
      job,
      stage,
      to: address,
      probes: count,
    },
  ),

  // ---- what clients ask; what they are answered is below
  submit: message('client', 'scheduler', 'Sent again until answered; the key makes it one job.', {
    request,
    /** Chosen by the client; the same key is the same job. */
    key: name,
    /** The spec as submitted; the owner validates it. */
    spec: open,
  }),
  watchJob: message('client', 'scheduler', 'Sent again as a sign of life; a watch that falls silent ends.', {
    request,
    id: name,
    /** Requests start and run time of each task in the final event. */
    detail: flag,
    /** News comes within milliseconds: the client reads results as they come. */
    soon: optional(flag),
  }),
  unwatch: message('client', 'scheduler', 'Lost: the watch ends by itself.', { request }),
  describeJob: message('client', 'scheduler', 'Sent again until answered.', {
    request,
    id: name,
    spec: flag,
  }),
  listJobs: message('client', 'scheduler', 'Sent again until answered.', {
    request,
    states: list(name, 16),
    user: optional(name),
    where: optional(jobFilter),
    /** Ended jobs to include, newest first. */
    endedMax: count,
    jobsMax: count,
  }),
  readLogs: message('client', 'scheduler', 'Sent again until answered.', {
    request,
    id: name,
    task: optional(count),
    failedOnly: flag,
    /** Cursor: `next` of the previous answer. */
    cursor: count,
  }),
  readResults: message('client', 'scheduler', 'Sent again until answered.', {
    request,
    id: name,
    /** First task whose value is wanted, or with `ended` how many were read before; where to go on is in the answer. */
    from: count,
    /** Undefined: values alone, of completed tasks that returned something. */
    order: optional(choice(...RESULT_ORDERS)),
  }),
  cancelJob: message('client', 'scheduler', 'Sent again until answered; cancelling twice is once.', {
    request,
    id: name,
  }),
  retryJob: message('client', 'scheduler', 'Sent again until answered; the key makes it one retry.', {
    request,
    key: name,
    id: name,
    ...retryChoiceFields,
    /** As a new job, which keeps the numbers of the tasks. */
    asNew: optional(flag),
  }),
  findSchedulers: message('client', ['central', 'scheduler'], 'Sent again until answered.', { request }),
  drainWorker: message('client', 'central', 'Sent again until answered; draining twice is once.', {
    request,
    worker: name,
    on: flag,
  }),
  readCounters: message('client', ['central', 'scheduler', 'worker'], 'Sent again until answered.', {
    request,
  }),
  refused: message(['central', 'scheduler', 'worker'], 'client', 'Lost: the request comes again.', {
    request,
    code: text(64),
    message: line,
    hint: line,
    /** When it is worth trying again; only where that is likely to help. */
    retryMs: optional(ms),
  }),

  // ---- matching: owners say what they need, workers what is free, central brings them together
  need: message('scheduler', 'central', 'Sent again while tasks wait; it says all, not what changed.', {
    job,
    stage,
    long: flag,
    /** That wait at their owner, and may run. 0: the job needs nobody any more. */
    tasks: countTo(LIMITS.tasksPerJobMax),
    /** Workers that the owner was matched with for this stage, so that those on the way are not counted twice. */
    matches: count,
    /** The owner’s belief of a task’s run time. */
    estimateMs: ms,
    demand: resources,
    part: choice(...BATCH_PARTS),
    /** Tasks of the job in all stages. */
    jobTasks: countTo(LIMITS.tasksPerJobMax),
    /** Since the owner accepted the job. */
    ageMs: ms,
    /** It is known that the job is long; how long, its pilots have yet to tell. */
    estimateFollows: optional(flag),
    /** Undefined: normal. */
    priority: optional(choice(...PRIORITIES)),
    requires,
    /** Slot time of the job’s attempts that have ended; undefined: none. Who has just heard of the job knows nothing of them. */
    attainedMs: optional(ms),
    /** The tasks start together or not at all. */
    gang: optional(flag),
    /** Workers that none of the tasks may go to: attempts of them failed there. */
    avoid: optional(list(address, LIMITS.avoidedWorkersMax)),
    /** User of the job, where users have limits and jobs are not declared. */
    user: optional(name),
  }),
  pull: message('worker', 'central', 'Sent again while a slot is free; it says all, not what changed.', {
    /**
     * The last matches that this worker has heard of, as many as it has slots: central cannot have made more
     * since it last heard from it.
     */
    heard: list(count, LIMITS.slotsMax),
    /** Slots that are free, and what is free beside them; of GPUs, the most that one task can have. */
    free: countTo(LIMITS.slotsMax),
    spare: resources,
    /** Slots that run long tasks. */
    long: countTo(LIMITS.slotsMax),
    /** Run time of short tasks that completed since this was last said, where the reserve follows from it; otherwise 0. */
    shortMs: ms,
    /** Matches whose tasks run here. */
    runs: list(count, LIMITS.slotsMax),
    /** Free amounts of partly used GPUs; absent with at most one, which `spare` covers. */
    gpuParts: optional(list(number, LIMITS.gpusMax)),
  }),
  matched: message(
    'central',
    'scheduler',
    'Lost: the need is sent again, and the owner is asked what became of the match.',
    {
      job,
      stage,
      /** A slot of each of these is this job’s. Matches are numbered at each worker. */
      workers: list(record({ worker: address, match: count }), LIMITS.membersMax),
      /** Nothing waited at central any more then. */
      calm: optional(flag),
      /** Workers that the scheduler does not know yet. */
      newcomers: optional(list(record({ worker: address, name }), LIMITS.membersMax)),
    },
  ),
  unused: message('scheduler', 'central', 'Lost: the owner is asked again what became of the match.', {
    worker: address,
    match: count,
  }),
  unheard: message('central', 'scheduler', 'Lost: sent again while the worker has not heard of the match.', {
    job,
    worker: address,
    match: count,
  }),

  // ---- seeking: free workers ask schedulers for short tasks
  seek: message(
    'worker',
    'scheduler',
    'Sent again without an answer, marked as such; the owner answers the same.',
    {
      /** Names the question; unique at the worker. */
      ask: count,
      again: flag,
      /** Free resources besides the slot. */
      spare: resources,
    },
  ),
  occupied: message(
    'central',
    'scheduler',
    'Lost: probes go to workers that are long busy, until the next.',
    {
      /** A bit for each worker, least first: every slot runs a long task. */
      bits: bytes(Math.ceil(LIMITS.membersMax / 8)),
    },
  ),

  // ---- an owner that was started again finds what its workers hold
  resume: message(
    'scheduler',
    'worker',
    'Sent again: until the worker has answered after a restart, and now and then of what is believed to run.',
    {
      /** Previous incarnations of the sender, whose possessions it takes over. */
      previousIncarnations: list(address, LIMITS.previousIncarnationsMax),
      /** The number of the audit; 0: after a restart. */
      audit: count,
    },
  ),
  holding: message('worker', 'scheduler', 'Lost: `resume` comes again. Doubled: harmless.', {
    /** The owner's tasks that run here, or have ended with unconfirmed reports, which follow. */
    tasks: list(
      record({
        job,
        task,
        attempt,
        elapsedMs: ms,
        /** Central's match that brought the task, so that central can preempt it. Absent: none. */
        match: optional(count),
      }),
      LIMITS.heldTasksMax,
    ),
    /** Number of the audit that this answers. */
    audit: count,
  }),

  // ---- sampling: what a job is taken for may turn out late
  nowLong: message(
    'scheduler',
    'worker',
    'Lost: the task counts as short until it ends, and what waits behind it is not stolen before the cutoff.',
    { job, task, attempt },
  ),

  // ---- a cluster has one central
  claim: message('central', 'central', 'Said again, often while one is new.', {
    /** Workers and schedulers that were heard of lately. */
    followers: count,
    /** It was started a moment ago. */
    isNew: flag,
    /** Addresses of the sender. */
    at: list(address, LIMITS.centralPlacesMax),
  }),

  // ---- why something waits, and where the time went
  explainJob: message('client', 'scheduler', 'Sent again until answered.', {
    request,
    id: name,
    /** Reported individually. */
    task: optional(count),
  }),
  explainWaiting: message('client', 'scheduler', 'Sent again until answered.', { request }),
  explainLine: message('client', 'central', 'Sent again until answered.', { request }),
  explainNeed: message('client', 'central', 'Sent again until answered.', {
    request,
    /** Full name of the scheduler whose job it is. */
    owner: text(512),
    job,
  }),

  // ---- workers on which nothing can be started
  quarantine: message(
    'worker',
    'central',
    'Said again with each heartbeat while it is so; forgotten when it is not.',
    {
      /** Why the worker takes nothing for a while; empty: it accepts tasks again. */
      reason: text(8_192),
    },
  ),
  nameTaken: message('central', ['worker', 'scheduler'], 'Lost: who wants the name asks again.', {
    /** Full name of who has it. */
    holder: text(512),
    /** The tag of the journal, where the holder has that too: one of the two has a copy. */
    tag: optional(text(32)),
  }),
  unfit: message('scheduler', 'worker', 'Lost: the next task that fails there says so again.', {
    /** Evidence: the worker fails tasks that complete elsewhere. */
    reason: text(1_024),
  }),

  // ---- policies that plan whole jobs
  declare: message(
    'scheduler',
    'central',
    'Sent again with the needs of the job; it says all, not what changed.',
    {
      job,
      user: name,
      weight: number,
      /** Deadline from acceptance. */
      deadlineMs: optional(ms),
      /** Value of meeting the deadline; 0: the default value. */
      value: number,
      /** Attributes that its workers should have. */
      prefers: list(wish, LIMITS.attributesMax),
      /** Since the owner accepted the job. */
      ageMs: ms,
      stages: list(
        view({
          tasks: countTo(LIMITS.tasksPerJobMax),
          /** Completed, or given up. */
          ended: countTo(LIMITS.tasksPerJobMax),
          /** Stages that must complete before. */
          after: list(stage, LIMITS.stagesPerJobMax),
          demand: resources,
          /** The owner’s belief of a task’s run time; 0: it knows nothing. */
          estimateMs: ms,
          /** How run times are spread, where the estimator knows; else none. */
          distribution: list(record({ from: ms, to: ms, p: number }), LIMITS.segmentsMax),
          requires,
          /** Its tasks start together or not at all. */
          gang: optional(flag),
        }),
        LIMITS.stagesPerJobMax,
      ),
      /** Its running tasks may be ended for a job that would otherwise miss its deadline. */
      preemptible: optional(flag),
    },
  ),
  preempt: message(
    'central',
    'scheduler',
    'Lost: the policy asks again. Doubled: the second finds nothing to end.',
    {
      job,
      worker: address,
      /** The match whose task is preempted, and waits again. */
      match: count,
    },
  ),
  evict: message('scheduler', 'worker', 'Lost: the policy asks again. Late: the attempt has ended.', {
    job,
    task,
    attempt,
  }),

  // ---- the jobs of a scheduler that is gone are another one's
  takeOver: message(
    'central',
    'scheduler',
    'Lost: said again, to this one or another. Doubled: the journal knows.',
    {
      /** Name of the lost scheduler, whose journal had this tag and epoch. */
      name,
      tag: text(32),
      epoch: count,
    },
  ),
  superseded: message('central', 'scheduler', 'Lost: said again when it introduces itself again.', {
    /** Another one has its jobs with this epoch, which is higher. */
    epoch: count,
  }),
  takeOverFrom: message(
    'client',
    'central',
    'Sent again until answered; whom nobody knows any more is gone.',
    {
      request,
      /** Its name. `*`: all that are away or missing and whose journals others can read. */
      scheduler: name,
    },
  ),
  describeShares: message('client', 'central', 'Sent again until answered.', { request }),
  describeCluster: message('client', 'central', 'Sent again until answered.', { request }),
  listWorkers: message('client', 'central', 'Sent again until answered.', {
    request,
    /** Cursor: `next` of the previous page; 0: the beginning. */
    from: count,
  }),

  // ---- what clients are answered
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
  cluster: answer('central', clusterView),
  workerPage: answer('central', workerPage),
  centralLine: answer('central', centralLine),
  shares: answer('central', clusterShares),
  drainState: answer('central', drainState),
  takeover: answer('central', takeover),
  counters: answer(['central', 'scheduler', 'worker'], counters),
  jobProgress: message('scheduler', 'client', 'Lost: the next one, or the renewed watch, says it.', {
    request,
    value: jobSummary,
  }),
  jobEnded: message('scheduler', 'client', 'Lost: the watch is renewed and answered with the end.', {
    request,
    value: jobEnd,
  }),

  // ---- jobs that wait for jobs of other schedulers
  seekOwner: message('scheduler', 'central', 'Lost: asked again while jobs of it are waited for.', {
    tag: text(32),
  }),
  ownerIs: message('central', 'scheduler', 'Lost: asked again.', {
    tag: text(32),
    /** Owner of the jobs with this tag; absent while it is away. */
    owner: optional(address),
    /** Nobody has them, and nobody who keeps them is known. */
    gone: flag,
  }),
  awaitJobs: message(
    'scheduler',
    'scheduler',
    'Sent again, ever less often, while the jobs are waited for.',
    {
      ids: list(name, LIMITS.awaitedMax),
    },
  ),
  jobFates: message(
    'scheduler',
    'scheduler',
    'Lost: asked for again. Sent at once, and when a job has ended.',
    {
      fates: list(jobFate, LIMITS.awaitedMax),
    },
  ),

  // ---- tasks one by one
  listTasks: message('client', 'scheduler', 'Sent again until answered.', {
    request,
    id: name,
    /** Only tasks in these states; none: in any. */
    states: list(name, 16),
    /** Only tasks of this stage. */
    stage: optional(name),
    /** First index that is looked at; where to go on is in the answer. */
    from: count,
    limit: countTo(TASKS_LISTED_MAX),
  }),
  taskPage: answer('scheduler', taskPage),

  // ---- what waits is changed
  updateJob: message(
    'client',
    'scheduler',
    'Sent again until answered; it says how things are to be. One that is older than the last of its client changes nothing.',
    {
      request,
      id: name,
      /** Whether anything of it may start; false: now, also before the time at which it was to begin. */
      held: optional(flag),
      priority: optional(choice(...PRIORITIES)),
    },
  ),

  // ---- journals that schedulers share
  journals: message(
    'scheduler',
    'central',
    'Sent again every few seconds. Doubled: the second changes nothing.',
    {
      /** All non-empty journals in the database, with any owner. */
      journals: list(
        record({
          /** Name of the scheduler that created it. */
          name,
          tag: text(32),
          epoch: count,
        }),
        LIMITS.membersMax,
      ),
    },
  ),

  // ---- jobs that clients append tasks to
  appendTasks: message(
    'client',
    'scheduler',
    'Sent again until answered: tasks before those that the job has are its own.',
    {
      request,
      id: name,
      /** Index of the first of these tasks; with none, the answer says how many there are. */
      first: countTo(LIMITS.tasksPerJobMax),
      /** Fields that each task has, beside its own. */
      common: open,
      /** The tasks, a list. */
      each: open,
      /** Digest of all tasks of the job, including these. */
      digest: text(64),
      /** Nothing is appended after these. */
      close: flag,
      /** Results of tasks before this one are not asked for again: what is in memory alone is dropped. */
      taken: countTo(LIMITS.tasksPerJobMax),
    },
  ),
  appended: answer('scheduler', appended),

  // ---- tasks, and jobs by what they are, are cancelled
  cancelTasks: message('client', 'scheduler', 'Sent again until answered; cancelling twice is once.', {
    request,
    id: name,
    /** `first` to `last`, both included, by their numbers in the job; none: all of the stage, or of the job. */
    tasks: list(taskRange, LIMITS.taskRangesMax),
    /** They must be of this stage. */
    stage: optional(name),
  }),
  tasksCancelled: answer(
    'scheduler',
    view({
      job: jobSummary,
      cancelled: count,
      /** They run, and are killed. */
      killing: count,
      /** They had completed or failed before. */
      ended: count,
    }),
  ),
  cancelJobs: message(
    'client',
    'scheduler',
    'Sent again until answered; the same request is answered the same.',
    {
      request,
      /** Only jobs in these states; none: in any. */
      states: list(name, 16),
      user: optional(name),
      /** May contain `*` and `?`. */
      name: optional(name),
      /** First number that is looked at; where to go on is in the answer. */
      from: job,
      /** Only counts. */
      dryRun: flag,
    },
  ),
  jobsCancelled: answer(
    'scheduler',
    view({
      jobs: count,
      /** Tasks of theirs that had not started, and those that ran. */
      waiting: count,
      running: count,
      next: optional(job),
    }),
  ),

  // ---- gangs: all members have their slots before any starts
  gangReady: message(
    'worker',
    'scheduler',
    'Sent again until the task starts or is cancelled. Doubled: answered again if the gang has started.',
    {
      job,
      task,
      attempt,
      /** Address of this member for the others; the port is free on the worker of rank 0, and 0 on others. */
      host: text(512),
      port: countTo(65_535),
    },
  ),
  startGang: message(
    'scheduler',
    'worker',
    'Lost: sent again when the worker says again that it is ready. Doubled: the task runs already.',
    {
      job,
      task,
      attempt,
      /** Host of each rank. */
      hosts: list(text(512), LIMITS.gangTasksMax),
      /** Free on the host of rank 0, for the member that the others connect to. */
      port: countTo(65_535),
    },
  ),

  // ---- a restarted central learns what is missing
  remember: message(
    ['central', 'scheduler'],
    ['central', 'scheduler'],
    'Lost: a restarted central learns it from another scheduler, or misses nobody.',
    {
      /** Schedulers with local journals, whether present, away or missing; each scheduler tells the next central of them. */
      schedulers: list(record({ name, tag: text(32), address }), LIMITS.membersMax),
      /** Workers that have not registered with the new central within a lease. */
      workers: list(name, LIMITS.membersMax),
    },
  ),
  // ---- limits of users
  limits: message('central', 'scheduler', 'Lost: sent again after the next heartbeat. Doubled: harmless.', {
    /** Users, `@NAME` for projects, `*` for users who are not listed. Absent amounts have no limit. */
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
      }),
      LIMITS.usersListedMax,
    ),
    /** Usage by jobs of all other schedulers. */
    elsewhere: list(held, LIMITS.usersListedMax),
  }),
  holdings: message('scheduler', 'central', 'Lost: sent again with the next heartbeat. Doubled: harmless.', {
    users: list(held, LIMITS.usersListedMax),
  }),
} as const;

/** Successful reply to each type of client request. */
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
  describeShares: ['shares'],
  drainWorker: ['drainState'],
  takeOverFrom: ['takeover'],
  readCounters: ['counters'],
} as const satisfies Partial<Record<MessageType, readonly MessageType[]>>;

/** Requests of clients. */
export type Question = keyof typeof ANSWERS;
export type AnswerType<Q extends Question = Question> = (typeof ANSWERS)[Q][number];

export type MessageType = keyof typeof MESSAGES;

/** One message, with its fields as declared above. */
export type MessageOf<T extends MessageType> = { readonly type: T } & Infer<(typeof MESSAGES)[T]['fields']>;

export type Message = { [T in MessageType]: MessageOf<T> }[MessageType];

export const MESSAGE_TYPES = Object.keys(MESSAGES) as MessageType[];

const REPLIES: ReadonlySet<MessageType> = new Set<MessageType>([
  ...Object.values(ANSWERS).flat(),
  'refused',
  'jobProgress',
  'jobEnded',
]);

/** Replies to clients, beginning with the number of the request. */
export type Reply = { [T in ReplyType]: MessageOf<T> }[ReplyType];
export type ReplyType = AnswerType | 'refused' | 'jobProgress' | 'jobEnded';

export function isReply(message: Message): message is Reply {
  return isReplyType(message.type);
}

export function isReplyType(type: MessageType): type is ReplyType {
  return REPLIES.has(type);
}

/** A client's request or its reply: not a cost of a policy. */
export function isOfClients(type: string): boolean {
  if (!Object.hasOwn(MESSAGES, type)) return false;
  const { from, to } = MESSAGES[type as MessageType];
  return [...from, ...to].includes('client');
}
