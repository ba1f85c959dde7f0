import {
  type Address,
  type Counters,
  ignoreForeign,
  invariant,
  type KillReason,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  NOBODY,
  type Outcome,
} from '@goshawk/core';
import type { KeptResult, WorkerCounters, WorkerLoad, WorkerTimer } from './contract.js';
import { predictedEndDue } from './foreseeing.js';
import { giveBackOverdueMembers, memberReady, sweepMembers } from './gang-members.js';
import { giveBack } from './giving-back.js';
import {
  acknowledged,
  disconnected,
  peersChanged,
  registerAgain,
  resumed,
  sendHeartbeat,
  welcomed,
} from './joining.js';
import { endLoan, kill, reportBorrowing } from './lending.js';
import {
  applyDrain,
  giveBackAll,
  killAll,
  leave,
  reportIfDrained,
  resumeAccepting,
  stop,
} from './lifecycle.js';
import { WorkerParts } from './parts.js';
import { flush, outputReceived, print, sendUnconfirmed } from './printing.js';
import { sweepAsks } from './questions.js';
import { register } from './registering.js';
import {
  assigned,
  cancel,
  cancelProbes,
  chunkOverdue,
  ended,
  enqueue,
  evict,
  given,
  markLong,
  refused,
  sendDelayedReports,
  serve,
  serveOrFind,
  started,
  startMember,
} from './serving.js';
import type { WorkerState } from './state.js';
import { emptyReply } from './stealing.js';

/**
 * The worker machine. Entries wait in its queue. A free slot serves the first one by asking its owner for a task (late
 * binding, Hawk §3.5). For a placed task it asks by name, so that the owner decides whether the task still runs here.
 * With an empty queue the worker steals probes (§3.6), requests tasks from schedulers, or reports its free slots to
 * central.
 */
export class Worker extends WorkerParts implements Machine<WorkerTimer> {
  start(now: Millis): void {
    for (const [index, { owner, message }] of (this.config.results ?? []).entries())
      this.reports.keep(owner, { ...message, report: index + 1, ask: 0 }, now);
    register(this, now);
  }

  receive(from: Address, message: Message, now: Millis): void {
    // A fast path: most messages of a large simulation are steals, and workers are never superseded.
    if (message.type === 'steal') return this.#answerSteal(from, message, now);
    if (message.type === 'stolen') return this.#takeStolen(from, message, now);
    if (this.superseded.size > 0 && this.superseded.has(from)) return;
    switch (message.type) {
      case 'probe':
        return enqueue(this, this.memory.probes.entryOf(from, message, now), now);
      case 'run':
        return given(this, from, message, now);
      case 'unfit':
        if (this.health.unfit(message, now)) giveBackAll(this);
        return;
      case 'none':
        return refused(this, from, message.ask, now);
      case 'confirm':
        this.reports.confirm(from, message.report);
        return reportIfDrained(this);
      case 'outputReceived':
        return outputReceived(this, from, message, now);
      case 'cancelProbes':
        return cancelProbes(this, from, message, now);
      case 'nowLong':
        return markLong(this, from, message);
      case 'cancelTask':
        return cancel(this, from, message, now);
      case 'evict':
        return evict(this, from, message, now);
      case 'startGang':
        return startMember(this, from, message);
      case 'assign':
        return assigned(this, message, now);
      case 'resume':
        return resumed(this, from, message, now);
      case 'welcome':
        return welcomed(this, from, message, now);
      case 'heartbeatAck':
        return acknowledged(this, from, message, now);
      case 'nameTaken':
        return this.env.nameTaken?.(message.holder);
      case 'notRegistered':
        if (from === this.membership.central) registerAgain(this, now);
        return;
      case 'peers':
        return peersChanged(this, from, message, now);
      case 'drain':
        if (from === this.membership.central) applyDrain(this, message, now);
        return;
      case 'readCounters':
        return this.env.send(from, { type: 'counters', request: message.request, value: this.#counted() });
      default:
        return ignoreForeign<'worker'>(message);
    }
  }

  wake(timer: WorkerTimer, key: number, now: Millis): void {
    switch (timer) {
      case 'heartbeat':
        return sendHeartbeat(this, now);
      case 'sweep':
        return this.#sweep(now);
      case 'steal':
        return this.takesWork ? this.stealing?.begin(now) : undefined;
      case 'taskTimeout':
        if (this.slots.isOverdue(key, now)) kill(this, key, 'timeout', now);
        return;
      case 'loan':
        if (!endLoan(this, key, now)) return;
        reportBorrowing(this, key);
        this.finder?.report();
        return;
      case 'output':
        return flush(this, key);
      case 'ahead':
        return predictedEndDue(this, key, now);
      case 'chunk':
        return chunkOverdue(this, key, now);
      case 'ends':
        return sendDelayedReports(this, now);
      case 'pull':
        return this.finder?.wake(now);
      case 'quarantine':
        if (this.existingHealth?.wake(now)) resumeAccepting(this, now);
        return;
      case 'drain':
        return killAll(this, 'drained', now);
    }
  }

  disconnected(from: Address, now: Millis): void {
    disconnected(this, from, now);
  }

  /** Called by the executor when a task has started. Its time limit counts from here. */
  taskStarted(slot: number, now: Millis): void {
    started(this, slot, now);
  }

  taskOutput(slot: number, stream: 'stdout' | 'stderr', bytes: Uint8Array, now: Millis): void {
    print(this, slot, stream, bytes, now + this.timings.progressMs);
  }

  /** Handles a report that a disk of this worker is full; repeated every few seconds while it is. */
  diskFull(reason: string, now: Millis): void {
    if (this.health.diskFull(reason, now)) giveBackAll(this);
  }

  /** The port found by `findPort` for the task in the slot. */
  portFound(slot: number, port: number, now: Millis): void {
    memberReady(this, slot, port, now);
  }

  /** Called by the executor when a task has ended. @param runMs run time measured by the executor */
  taskEnded(slot: number, outcome: Outcome, runMs: Millis, now: Millis): void {
    invariant(this.slots.isRunning(slot), () => `a task ended in slot ${slot}, where none ran`);
    ended(this, slot, outcome, runMs, now);
  }

  /**
   * Stops accepting work permanently: returns queued entries, lets running tasks finish, then calls `env.drained()`.
   */
  drain(now: Millis): void {
    stop(this, now);
  }

  /** Kills all running tasks. The reports to their owners say so, and the owners may run the tasks elsewhere. */
  killAll(reason: KillReason, now: Millis): void {
    killAll(this, reason, now);
  }

  /** Returns the results that no scheduler has confirmed. Call it when no task runs any more. */
  unconfirmedResults(now: Millis): readonly KeptResult[] {
    return [...this.reports.complete(now)];
  }

  /** Deregisters, so that no process has to wait for the lease to expire. */
  leave(): void {
    leave(this);
  }

  get counters(): WorkerCounters {
    const { counted, slots, stealing, tasksEnded } = this;
    return {
      tasksStarted: tasksEnded + slots.runningCount,
      tasksEnded,
      stealAttempts: stealing?.attempts ?? 0,
      stealSuccesses: stealing?.successes ?? 0,
      probesMoved: stealing?.probesMoved ?? 0,
      ...counted,
    };
  }

  get load(): WorkerLoad {
    const { config, queue, reports, slots } = this;
    return {
      slots: config.slots,
      busy: { long: slots.longCount, short: slots.busyCount - slots.longCount },
      queued: queue.length,
      unconfirmed: reports.size,
      paused: slots.stoppedCount,
    };
  }

  /** Returns whether this worker has joined a cluster and its central is gone, disconnected or unresponsive. */
  isCentralSilent(now: Millis): boolean {
    return this.membership.isUnresponsive(now);
  }

  get isMember(): boolean {
    return this.membership.central !== NOBODY;
  }

  checkInvariants(): void {
    checkWorker(this);
  }

  /** Returns the counters and current numbers for a `counters` message. */
  #counted(): Counters {
    const { slots, queue, env } = this;
    const load = { busy: slots.busyCount, queued: queue.length };
    return { ...this.counters, ...load, ...env.counted?.() } as Counters;
  }

  #answerSteal(thief: Address, message: MessageOf<'steal'>, now: Millis): void {
    // A fast path: usually this worker has nothing to steal.
    if (this.memory.isQueueEmpty(this.row) || this.stealing === undefined)
      return this.env.send(thief, emptyReply(message.round));
    if (this.stealing.give(thief, message, now)) serveOrFind(this, now);
  }

  #takeStolen(from: Address, message: MessageOf<'stolen'>, now: Millis): void {
    this.stealing?.answered(from, message, now);
    if (message.probes.length === 0) return;
    for (const probe of message.probes) {
      const entry = this.memory.probes.entryOf(probe.owner, probe, now);
      if (this.takesWork) this.queue.push(entry);
      else giveBack(this, [entry]);
    }
    serve(this, now);
  }

  /** Retries unanswered questions and unconfirmed reports. */
  #sweep(now: Millis): void {
    const { retryMs, retriesMax } = this.timings;
    this.isSweepArmed = false;
    if (retryMs === 0) return;
    const isMemberGone = giveBackOverdueMembers(this, now);
    const hasFreed = sweepAsks(this, now) || isMemberGone;
    const holdsMembers = sweepMembers(this, now);
    this.reports.resend(retryMs, now, (report) => sendUnconfirmed(this, report, now));
    this.stealing?.sweep(retryMs, now);
    this.finder?.sweep(retryMs, retriesMax, now);
    if (hasFreed) serveOrFind(this, now);
    else serve(this, now);
    const isWaiting = this.stealing?.inRound || this.finder?.isWaiting || this.reports.size > 0;
    if (isWaiting || holdsMembers || this.slots.isAsking) this.armSweep(now);
    reportIfDrained(this);
  }
}

/** Checks the invariants of a worker between steps. */
function checkWorker({ queue, slots, takesWork, existingAhead: ahead, existingChunks }: WorkerState): void {
  slots.checkInvariants();
  const long = [...queue].filter((entry) => entry.long && entry.lane === 'normal').length;
  invariant(long === queue.longEntries, () => `${long} long entries wait, counted ${queue.longEntries}`);
  const head = queue.head();
  invariant(
    head === undefined || slots.idleCount === 0 || !slots.fits(head.demand),
    'a slot is idle and the head of the queue would fit',
  );
  if (ahead !== undefined) {
    const kept = ahead.kept.length;
    invariant(ahead.open >= 0, () => `${kept} tasks are kept for ${ahead.announcedCount} slots`);
    invariant(kept === 0 || slots.idleCount === 0, 'a slot is idle and a task is kept for one');
    invariant(takesWork || kept === 0, 'a worker that accepts no tasks keeps some');
  }
  for (const [ask, { owner }] of existingChunks?.firsts() ?? [])
    invariant(
      takesWork && slots.indexOfAnswered(owner, ask) >= 0,
      () => `a chunk waits behind a slot that does not run: question ${ask}`,
    );
  invariant(takesWork || queue.isEmpty, 'a worker that accepts no tasks has entries');
}
