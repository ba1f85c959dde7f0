import {
  isEndedByOwner,
  type JobRecord,
  type JobState,
  type Message,
  type MessageOf,
  type Millis,
  sumOf,
  type TaskRange,
} from '@goshawk/core';
import type { Order } from './orders.js';
import type { Plan, UsersPlan } from './plan.js';
import type { Execution } from './tasks.js';

/** Maximum number of times that a task is lost with its worker before it fails. */
const LOSSES_MAX = 8;
/** Rate of the slowest clock, relative to true time. */
const SLOWEST_CLOCK = 0.97;
/** Maximum number of network and disk delays between a match and the start of its task, far above the average. */
const HOPS = 20;
const MATCH_MS = 50;
/** A limit that was lowered is enforced after this time. */
const LIMIT_GRACE_MS = 3_000;

/**
 * Observes everything in a run and checks the promises of docs/DURABILITY.md that are visible from outside. A complaint
 * starts with the name of the broken promise.
 */
export class Checker {
  readonly complaints: string[] = [];
  readonly #executions = new Map<string, Execution>();
  /** Runs by job, task and attempt. */
  readonly #executed = new Map<string, Execution>();
  /** The job reported to a client, by key. */
  readonly #accepted = new Map<string, { readonly order: Order; readonly jobId: string }>();
  /** Jobs whose cancellation was confirmed to a client. */
  readonly #cancelled = new Set<string>();
  readonly #askedToCancel = new Set<string>();
  readonly #retried = new Set<string>();
  readonly #dead = new Set<string>();
  /** Incarnations that a receiver must no longer accept, as `RECEIVER SENDER/INCARNATION`. */
  readonly #superseded = new Set<string>();
  /** Maps receiver and name of a sender to the latest incarnation from which a message was received. */
  readonly #latest = new Map<string, number>();
  /** Counts of the current step. */
  #step = { stolen: 0, moved: 0 };
  #hasLostCentral = false;
  /** Attempts that an owner has assigned. */
  readonly #given = new Set<string>();
  /** Maps a job to its tasks that the disk records as completed. */
  readonly #completed = new Map<string, Set<number>>();
  /** Disks that were lost, by the tag of their jobs. */
  readonly #lostTags = new Set<string>();
  readonly #transcript: ((line: string) => void) | undefined;

  readonly #users: readonly UsersPlan[];
  /** Whether some users have a limit on run times. */
  readonly #mayTimeOut: boolean;

  /** Whether workers and messages have no faults, so that no task is started twice. */
  readonly #isFaultFree: boolean;
  readonly #holdsLimits: boolean;
  /** Maximum difference between a start or end as seen by central and by the worker. */
  readonly #delayMs: Millis;
  /** Last run of each task, in a cluster without faults. */
  readonly #latestRun = new Map<string, Execution>();
  readonly #epochs = new Map<string, number>();

  /** Whether schedulers share a journal, so that only tasks of recorded jobs may start. */
  readonly #isShared: boolean;
  readonly #written = new Set<string>();
  /** Maps a job that began on hold to its key. */
  readonly #begunHeld = new Map<string, string>();
  /** Jobs of which tasks were cancelled, according to the journal. */
  readonly #withCancelled = new Set<string>();

  constructor(
    transcript: ((line: string) => void) | undefined,
    {
      faultFree = false,
      outages = false,
      shared = false,
      users = [],
      network,
    }: Pick<Plan, 'faultFree' | 'outages' | 'shared' | 'users' | 'network'>,
  ) {
    const { leastMs, moreMs, syncMs } = network;
    this.#delayMs = MATCH_MS + HOPS * (leastMs + moreMs + syncMs);
    this.#transcript = transcript;
    this.#users = users;
    this.#mayTimeOut = users.some((each) => Object.values(each.users).some(({ runTime }) => runTime));
    this.#isFaultFree = faultFree;
    this.#holdsLimits = faultFree || outages;
    this.#isShared = shared;
  }

  // ---- journals that others take over

  claimed(tag: string, epoch: number): void {
    const before = this.#epochs.get(tag) ?? 0;
    if (epoch <= before) this.wrong(`epoch: ${tag} is claimed with ${epoch} after ${before}`);
    this.#epochs.set(tag, epoch);
  }

  /** The owner of an epoch has written a record. */
  fenced(tag: string, epoch: number, highest: number): void {
    if (epoch !== highest) this.wrong(`epoch: ${tag} is written to with ${epoch}, and ${highest} has it`);
  }

  wrong(complaint: string): void {
    if (this.complaints.includes(complaint)) return;
    this.complaints.push(complaint);
    this.#transcript?.(`!! ${complaint}`);
  }

  diskLost(tag: string): void {
    this.#lostTags.add(tag);
  }

  get isAnyLost(): boolean {
    return this.#lostTags.size > 0;
  }

  isLost(jobId: string): boolean {
    return this.#lostTags.has(tagOf(jobId));
  }

  // ---- answers to clients

  accepted(order: Order, jobId: string): void {
    const known = this.#accepted.get(order.key);
    if (known === undefined || this.isLost(known.jobId)) {
      this.#accepted.set(order.key, { order, jobId });
      return;
    }
    if (this.isLost(jobId)) return;
    if (known.jobId !== jobId) {
      if (this.#mayNotKnowBetter(jobId) || this.#mayNotKnowBetter(known.jobId)) return;
      this.wrong(`second-job: ${order.key} is ${known.jobId} and ${jobId}`);
    } else if (known.order.isConflict !== order.isConflict)
      this.wrong(`conflict-accepted: another job than ${jobId} was taken with its key`);
  }

  /**
   * A scheduler that has lost its disk is a new one; if central is new as well, no process may know the owners of keys.
   */
  #mayNotKnowBetter(jobId: string): boolean {
    return this.#hasLostCentral && [...this.#lostTags].some((tag) => ownerOf(tag) === ownerOf(tagOf(jobId)));
  }

  centralLost(): void {
    this.#hasLostCentral = true;
  }

  /** Jobs that began on hold, where a key has two because no process knew its owner. Their clients may know only one. */
  heldTwice(): readonly string[] {
    const jobs = [...this.#begunHeld].filter(([jobId]) => !this.isLost(jobId));
    return jobs
      .filter(([jobId, key]) => {
        const same = jobs.filter(([other, otherKey]) => otherKey === key && other !== jobId);
        return same.some(([other]) => this.#mayNotKnowBetter(jobId) || this.#mayNotKnowBetter(other));
      })
      .map(([jobId]) => jobId);
  }

  /** Allows cancelled tasks of the job to run again. */
  retryAsked({ retryOf, job, chosen }: Order): void {
    if (retryOf === undefined) return;
    this.#cancelled.delete(retryOf);
    this.#cancelledTasks.delete(retryOf);
    this.#held.delete(retryOf);
    this.#retried.add(retryOf);
    // Later stages and the rest of a gang run with the chosen tasks.
    if (chosen !== undefined && job.stages === undefined && job.gang !== true)
      this.#chosen.set(retryOf, chosen);
  }

  /** By job, the tasks that a retry has named. */
  readonly #chosen = new Map<string, readonly TaskRange[]>();
  /** Tasks, by job, whose cancellation was confirmed to a client. */
  readonly #cancelledTasks = new Map<string, TaskRange>();

  tasksCancelled({ jobId, cancelTasks }: Order): void {
    this.#cancelledTasks.set(jobId!, cancelTasks!);
  }

  /** Jobs whose hold a scheduler has confirmed, until their client asks for their release, with their bound tasks. */
  readonly #held = new Map<string, number>();

  /** Tasks that count as running but are not assigned yet wait for a record to be durable. */
  holdConfirmed(jobId: string, running: number): void {
    let executing = 0;
    for (const run of this.#executions.values())
      if (run.jobId === jobId && run.kind === 'running') executing++;
    this.#held.set(jobId, Math.max(0, running - executing));
  }

  releaseAsked(jobId: string): void {
    this.#held.delete(jobId);
  }

  isCancelAsked(jobId: string): boolean {
    return this.#askedToCancel.has(jobId);
  }

  cancelAsked(jobId: string): void {
    this.#askedToCancel.add(jobId);
  }

  cancelConfirmed({ jobId }: Order): void {
    this.#cancelled.add(jobId!);
  }

  ended(order: Order): void {
    const { jobId, end, values, cancelConfirmed, job, asNewOf } = order;
    const { state, tasks, attempts } = end!;
    const sum = tasks.completed + tasks.failed + tasks.cancelled;
    if (sum !== tasks.total) this.wrong(`counts: ${jobId} has ended with ${JSON.stringify(tasks)}`);
    if (asNewOf === undefined) this.#checkAppended(order);
    else this.#checkRetriedAsNew(order);
    // Another client may have retried the job between its end and the reading of its results.
    const mayHaveMore = this.#retried.has(jobId!) && order.retryOf === undefined;
    if (mayHaveMore ? values.size < tasks.completed : values.size !== tasks.completed)
      this.wrong(`results: ${jobId} has ${values.size} results of ${tasks.completed} completed tasks`);
    for (const [task, value] of values) {
      const run = this.#executions.get(String(value));
      if (run === undefined || run.jobId !== jobId || run.task !== task)
        this.wrong(`results: ${jobId} has the result ${String(value)} for task ${task}`);
      else if (run.kind !== 'completed')
        this.wrong(`results: ${String(value)} counts although its run was ${run.kind}`);
    }
    if (state === 'cancelled' && !this.#askedToCancel.has(jobId!) && !order.afterOk)
      this.wrong(`cancelled: ${jobId} is cancelled without a request`);
    if (
      cancelConfirmed &&
      state !== 'cancelled' &&
      !(state === 'completed' && tasks.completed === tasks.total)
    )
      this.wrong(`cancelled: ${jobId} is ${state} although its cancellation was confirmed`);
    // The other members of a gang are lost with the one that fails.
    const mayLose = job.gang === true || this.#isShared;
    if (this.#isFaultFree && !mayLose && attempts.lost > this.#preemptionsOf(jobId!))
      this.wrong(`lost: ${jobId} lost ${attempts.lost} attempts although no worker had a fault`);
    this.#checkPrecedence(jobId!, job, asNewOf);
    this.#checkBegin(order);
    this.#checkGangs(jobId!, job, values);
    const mayFail =
      mayFailByItself(job) ||
      attempts.lost >= LOSSES_MAX ||
      order.retryOf !== undefined ||
      tasks.cancelled > 0 ||
      this.#mayTimeOut;
    if (state === 'failed' && !mayFail)
      this.wrong(`failed: ${jobId} has failed for no reason: ${JSON.stringify(end!.failures)}`);
  }

  /** A job that ended without a cancellation has all the tasks that its client appended. */
  #checkAppended({ jobId, job, appends, end }: Order): void {
    if (appends === undefined || this.#askedToCancel.has(jobId!)) return;
    const lists = [Array.isArray(job.tasks) ? job.tasks : [], ...appends];
    const total = sumOf(lists, ({ length }) => length);
    if (end!.tasks.total !== total)
      this.wrong(`appended: ${jobId} has ended with ${end!.tasks.total} of ${total} tasks`);
  }

  /** No task starts before the job is to begin, unless a clock is set. A retry starts immediately. */
  #checkBegin({ jobId, job, at, client, retryOf, asNewOf }: Order): void {
    if (!this.#isFaultFree || typeof job.begin !== 'number' || client !== 'c1') return;
    if (retryOf !== undefined || asNewOf !== undefined || this.#retried.has(jobId!)) return;
    const beginsAt = at + job.begin * SLOWEST_CLOCK;
    for (const run of this.#executions.values())
      if (run.jobId === jobId && run.startedAt < beginsAt)
        this.wrong(`begin: ${run.value} started ${beginsAt - run.startedAt} ms too early`);
  }

  /** A retry as a new job runs the named tasks of the old one, and none that had completed there. */
  #checkRetriedAsNew({ jobId, asNewOf, chosen, job, end }: Order): void {
    const completed = this.#completed.get(asNewOf!) ?? new Set<number>();
    const ran = new Set<number>();
    for (const run of this.#executions.values()) if (run.jobId === jobId) ran.add(run.task);
    for (const task of ran) {
      if (completed.has(task)) this.wrong(`index: ${jobId} runs task ${task}, which completed in ${asNewOf}`);
      if (chosen !== undefined && job.stages === undefined && job.gang !== true && !isIn(chosen, task))
        this.wrong(`index: ${jobId} runs task ${task}, which the retry of ${asNewOf} did not select`);
    }
    if (end!.state === 'completed' && end!.tasks.total > ran.size)
      this.wrong(`counts: ${jobId} retries ${end!.tasks.total} tasks of ${asNewOf}, and has run ${ran.size}`);
  }

  /** Results of a gang are from one attempt; without faults, all members of an attempt start. */
  #checkGangs(jobId: string, { gang, stages, tasks }: Order['job'], values: Order['values']): void {
    if (gang !== true) return;
    const counts = (stages ?? [{ tasks }]).map((stage) =>
      Array.isArray(stage.tasks) ? stage.tasks.length : 0,
    );
    let first = 0;
    for (const count of counts) {
      const members = Array.from({ length: count }, (_, rank) => first + rank);
      const attempts = new Set(members.map((task) => this.#executions.get(String(values.get(task)))?.gang));
      if (members.every((task) => values.has(task)) && attempts.size > 1)
        this.wrong(`gang: results of ${jobId} come from ${attempts.size} attempts of tasks ${members}`);
      const runs = [...this.#executions.values()].filter(
        (run) => run.jobId === jobId && members.includes(run.task),
      );
      for (const attempt of new Set(runs.map((run) => run.gang))) {
        const ofAttempt = runs.filter((run) => run.gang === attempt);
        const started = ofAttempt.length;
        // A preemption may arrive before the last member has started.
        if (ofAttempt.some(({ isPreempted }) => isPreempted)) continue;
        if (this.#isFaultFree && !this.#isShared && !this.#askedToCancel.has(jobId) && started < count)
          this.wrong(`gang: ${started} of ${count} tasks of ${jobId} started together`);
      }
      first += count;
    }
  }

  /** No task runs before all tasks of the preceding stages have completed. */
  #checkPrecedence(jobId: string, { stages = [] }: Order['job'], asNewOf: string | undefined): void {
    const runs = [...this.#executions.values()].filter(
      (run) => run.jobId === jobId || (asNewOf !== undefined && run.jobId === asNewOf),
    );
    const spans = new Map<string, { readonly first: number; readonly count: number }>();
    let first = 0;
    for (const { name, after = [], tasks } of stages) {
      const count = Array.isArray(tasks) ? tasks.length : 0;
      const own = runs.filter(({ task, jobId: of }) => task >= first && task < first + count && of === jobId);
      const beganAt = own.reduce(
        (least, { startedAt }) => Math.min(least, startedAt),
        Number.POSITIVE_INFINITY,
      );
      for (const before of after) {
        const span = spans.get(before)!;
        for (let task = span.first; task < span.first + span.count; task++) {
          const ends = runs.filter((run) => run.task === task && run.kind === 'completed');
          if (ends.some(({ endedAt = Number.POSITIVE_INFINITY }) => endedAt <= beganAt)) continue;
          if (own.length > 0)
            this.wrong(`stages: ${name} of ${jobId} began before task ${task} of ${before} had completed`);
        }
      }
      spans.set(name, { first, count });
      first += count;
    }
  }

  /** No task of a job starts before this many tasks of another job have completed. */
  follows(jobId: string, otherId: string, tasks: number): void {
    const runs = [...this.#executions.values()];
    const starts = runs.filter((run) => run.jobId === jobId).map(({ startedAt }) => startedAt);
    const beganAt = Math.min(...starts);
    for (let task = 0; task < tasks; task++) {
      const ends = runs.filter(
        (run) => run.jobId === otherId && run.task === task && run.kind === 'completed',
      );
      if (starts.length === 0 || ends.some(({ endedAt = Number.POSITIVE_INFINITY }) => endedAt <= beganAt))
        continue;
      this.wrong(`after: ${jobId} began before task ${task} of ${otherId} had completed`);
    }
  }

  /** Checks the end of a job against the ends of the jobs that it requires to complete. */
  endedAfter(jobId: string, state: JobState, ends: readonly (JobState | undefined)[]): void {
    const isFree = ends.every((end) => end === 'completed');
    if (state === 'cancelled' ? isFree && !this.#askedToCancel.has(jobId) : !isFree)
      this.wrong(`after: ${jobId} is ${state}, although its predecessors are ${ends.join(', ')}`);
  }

  #preemptionsOf(jobId: string): number {
    return sumOf([...this.#executions.values()], (run) =>
      Number(run.jobId === jobId && run.isPreempted === true),
    );
  }

  /** Checks that no task is preempted again before it has run for as long as it lost. */
  checkPreempted(): void {
    if (!this.#isFaultFree) return;
    const lostMs = new Map<string, Millis>();
    for (const {
      jobId,
      task,
      attempt,
      isPreempted,
      startedAt,
      endedAt = startedAt,
    } of this.#executions.values()) {
      if (isPreempted !== true) continue;
      const ranMs = endedAt - startedAt;
      const before = lostMs.get(`${jobId}/${task}`) ?? 0;
      lostMs.set(`${jobId}/${task}`, ranMs);
      if (ranMs < before * SLOWEST_CLOCK ** 2 - this.#delayMs)
        this.wrong(`preempted: ${jobId}/${task}/${attempt} ran ${ranMs} ms after losing ${before} ms before`);
    }
  }

  // ---- messages and records of owners

  sent(process: string, message: Message): void {
    if (message.type === 'stolen') this.#step.stolen += message.probes.length;
    if (message.type === 'moved') this.#step.moved += message.probes;
    if (message.type !== 'run') return;
    const { jobId, task, attempt } = message;
    const run = `${jobId}/${task}/${attempt}`;
    if (!this.#given.has(run) && this.#cancelled.has(jobId))
      this.wrong(`cancelled: ${process} assigns ${run} after the cancellation was confirmed`);
    if (!this.#given.has(run)) this.#checkHeld(process, jobId, run);
    if (!this.#given.has(run)) this.#checkGiven(process, message);
    this.#given.add(run);
  }

  #checkHeld(process: string, jobId: string, run: string): void {
    const bound = this.#held.get(jobId);
    if (bound === undefined) return;
    if (bound === 0) this.wrong(`held: ${process} assigns ${run} while the job is on hold`);
    else this.#held.set(jobId, bound - 1);
  }

  /** An owner assigns a new attempt only for an unfinished task that should run. */
  #checkGiven(process: string, { jobId, task, attempt, gang }: MessageOf<'run'>): void {
    const run = `${jobId}/${task}/${attempt}`;
    const cancelled = this.#cancelledTasks.get(jobId);
    if (cancelled !== undefined && isIn([cancelled], task))
      this.wrong(`cancelled: ${process} assigns ${run} after the cancellation of the task was confirmed`);
    // A gang starts as a whole.
    if (gang !== undefined) return;
    if (this.#completed.get(jobId)?.has(task) === true)
      this.wrong(`again: ${process} assigns ${run} although the task has completed`);
    const chosen = this.#chosen.get(jobId);
    if (chosen !== undefined && !isIn(chosen, task))
      this.wrong(`index: ${process} assigns ${run}, which the retry did not select`);
  }

  /** Records that a process has received a message, and checks that the incarnation of its sender is current. */
  heard(by: string, { name, incarnation }: { readonly name: string; readonly incarnation: number }): void {
    const pair = `${by} ${name}`;
    const latest = this.#latest.get(pair) ?? 0;
    // An incarnation that is first received after its successor may count as the successor, because nothing distinguishes them.
    if (this.#superseded.has(`${pair}/${incarnation}`))
      this.wrong(
        `incarnations: ${by} accepts a message of ${name}/${incarnation} after one of ${name}/${latest}`,
      );
    if (incarnation <= latest) return;
    this.#superseded.add(`${pair}/${latest}`);
    this.#latest.set(pair, incarnation);
  }

  /** Called after each step of a process. */
  stepped(process: string): void {
    const { stolen, moved } = this.#step;
    if (stolen !== moved)
      this.wrong(
        `probes: ${process} gave ${stolen} probes to a thief, and reported ${moved} to their owners`,
      );
    this.#step = { stolen: 0, moved: 0 };
  }

  written(tag: string, record: JobRecord): void {
    const job = `${tag}-${record.job}`;
    if (record.kind === 'accepted') {
      this.#written.add(job);
      if (record.spec.hold === true && record.key !== undefined) this.#begunHeld.set(job, record.key);
    }
    if (record.kind === 'cancelled' || record.kind === 'tasksCancelled') this.#withCancelled.add(job);
    if (record.kind === 'declined') return this.#declined(`${job}/${record.task}/${record.attempt}`);
    if (record.kind !== 'attempt') return;
    const { task, attempt, outcome } = record;
    const run = this.#executed.get(`${job}/${task}/${attempt}`);
    // The owner decides that a run is lost or its job has failed, because the worker is lost, or seems to be.
    const isOwnersWord = outcome.kind === 'lost' || isEndedByOwner(outcome);
    if (!isOwnersWord && run?.kind !== outcome.kind)
      this.wrong(`fenced: ${job}/${task}/${attempt} is recorded as ${outcome.kind}, but was ${run?.kind}`);
    if (outcome.kind !== 'completed') return;
    if (outcome.value !== run?.value)
      this.wrong(`fenced: ${job}/${task}/${attempt} is recorded with the result ${String(outcome.value)}`);
    const tasks = this.#completed.get(job) ?? new Set();
    this.#completed.set(job, tasks);
    if (tasks.has(record.task))
      this.wrong(`twice: two results of task ${record.task} of ${job} are recorded`);
    tasks.add(record.task);
  }

  /** A live worker that has completed an attempt keeps the result until the owner confirms it. */
  #declined(attempt: string): void {
    const run = this.#executed.get(attempt);
    if (run?.kind === 'completed' && !this.#dead.has(run.worker))
      this.wrong(
        `results: ${run.worker} has completed ${attempt} although its owner received a report that it did not run`,
      );
  }

  died(process: string): void {
    this.#dead.add(process);
  }

  // ---- what workers do

  executed(execution: Execution): void {
    const { jobId, task, attempt, value, worker } = execution;
    const run = `${jobId}/${task}/${attempt}`;
    if (this.#executed.has(run)) this.wrong(`twice: ${run} is executed again, by ${worker}`);
    this.#executed.set(run, execution);
    if (execution.meant !== undefined && execution.meant !== task)
      this.wrong(`index: ${run} has the payload of task ${execution.meant}`);
    if (this.#isFaultFree) this.#mustBeNeeded(execution);
    if (this.#holdsLimits && !this.#isShared) this.#mustBeAllowed(execution);
    if (this.#isShared && !this.#written.has(jobId))
      this.wrong(`unwritten: ${run} is executed, and its job was not written down`);
    this.#executions.set(value, execution);
  }

  #mustBeNeeded(execution: Execution): void {
    const { jobId, task, attempt } = execution;
    const before = this.#latestRun.get(`${jobId}/${task}`);
    this.#latestRun.set(`${jobId}/${task}`, execution);
    // A cancelled task that completes before a takeover remains cancelled, and a retry runs it again.
    const mayBeCancelled = this.#isShared && this.#withCancelled.has(jobId);
    const isDone = before?.kind === 'completed' && execution.gang === undefined && !mayBeCancelled;
    if (before?.kind === 'running' || isDone)
      this.wrong(`again: ${jobId}/${task}/${attempt} is executed, and ${before.attempt} is ${before.kind}`);
  }

  /** The limits of users hold at all times, also while central is down and after its restart. */
  #mustBeAllowed({ user, startedAt, jobId }: Execution): void {
    if (user === undefined || this.#users.length === 0) return;
    // Central learns of a change of limits immediately, and of running tasks a little later.
    const recent = this.#users.filter(
      ({ at }, index) =>
        at <= startedAt && (this.#users[index + 1]?.at ?? startedAt) >= startedAt - LIMIT_GRACE_MS,
    );
    if (this.#users[0]!.at > startedAt - LIMIT_GRACE_MS) return;
    const grantOf = ({ users }: UsersPlan, of = ''): UserLimits => users[of] ?? users['*'];
    const running = [...this.#executions.values()].filter(({ kind }) => kind === 'running');
    const check = (holder: string, limits: readonly UserLimits[], has: number): void => {
      const allowed = Math.max(...limits.map(runningOf));
      if (has >= allowed)
        this.wrong(`limit: ${holder} has ${has} of ${allowed} running tasks, and ${jobId} starts`);
    };
    const own = recent.map((each) => grantOf(each, user));
    check(user, own, running.filter((run) => run.user === user).length);
    const projects = new Set(recent.map((each) => grantOf(each, user)?.project));
    const [project] = projects;
    if (projects.size > 1 || project === undefined) return;
    const shared = recent.map(({ users }) => users[`@${project}`]);
    const members = running.filter((run) =>
      recent.every((each) => grantOf(each, run.user)?.project === project),
    );
    check(`@${project}`, shared, members.length);
  }

  /** Counts the tasks that the journals record as completed, over the jobs of a tag. */
  completedOf(tag: string): number {
    return sumOf([...this.#completed], ([jobId, tasks]) => (tagOf(jobId) === tag ? tasks.size : 0));
  }

  get executions(): number {
    return this.#executions.size;
  }
}

/** Returns the scheduler's name, without the number of its disk. */
function ownerOf(tag: string): string {
  return tag.slice(0, tag.lastIndexOf('x'));
}

export function tagOf(jobId: string): string {
  return jobId.slice(0, jobId.lastIndexOf('-'));
}

function isIn(ranges: readonly TaskRange[], task: number): boolean {
  return ranges.some(({ first, last }) => task >= first && task <= last);
}

/** The settings of a user or project in a file of `--users`. */
type UserLimits = UsersPlan['users'][string] | undefined;

/** Tasks of chaos request no CPUs, and so take one each. */
function runningOf(limits: UserLimits): number {
  return Math.min(
    Number(limits?.running ?? Number.POSITIVE_INFINITY),
    Number(limits?.cpus ?? Number.POSITIVE_INFINITY),
  );
}

function mayFailByItself({ tasks, stages, timeout }: Order['job']): boolean {
  if (timeout !== undefined) return true;
  const all = [tasks, ...(stages ?? []).map((stage) => stage.tasks)]
    .filter((list) => Array.isArray(list))
    .flat();
  return all.some((task) => 'input' in task && (task.input as { fails: number }).fails > 0);
}
