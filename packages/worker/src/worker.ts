import {
  type Address,
  type Counters,
  findsWork,
  invariant,
  LIVE_TIMINGS,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  NOBODY,
  type Outcome,
  patienceMsOf,
  type Timings,
} from '@goshawk/core';
import type { KillReason, WorkerConfig, WorkerEnvironment, WorkerStanding, WorkerTimer } from './contract.js';
import { type Entry, entryOfPlaced } from './entry.js';
import { GivingBack } from './giving-back.js';
import { handOver, hasHad, heldRuns, orphanTasksOf, readdress, registrationOf } from './held-tasks.js';
import { checkWorker } from './invariants.js';
import { Membership, nextBeat } from './membership.js';
import { WorkerMemory } from './memory.js';
import { Printing } from './printing.js';
import { askFor, Questions } from './questions.js';
import type { WorkerQueue } from './queue.js';
import { Reports, reportOf } from './reports.js';
import { continuesSeries, entryAfter, seriesMsOf } from './series.js';
import type { Slots } from './slots.js';
import { countedOf, countNow, noneCounted, standingOf } from './standing.js';
import { StartHealth } from './start-health.js';
import { nothingToSteal, Stealing } from './stealing.js';
import { WorkFinder } from './work-finder.js';
import type { WorkerParts } from './worker-parts.js';

/**
 * The worker: entries wait in its queue, a free slot serves the head by asking its owner for the task (late
 * binding, Hawk §3.5), and when a slot is free and nothing waits the worker steals (§3.6), seeks, or pulls. A task
 * that central has placed asks in the same way, naming itself, so that its owner has the last word on whether
 * it still runs here.
 */
export class Worker implements Machine<WorkerTimer> {
  // Fields read on a failed steal come first, then those of a probe that waits: a step takes few lines of a cache.
  readonly #memory: WorkerMemory;
  /** Its place there: how long its queue is can be told without a look at the queue. */
  readonly #row: number;
  readonly #env: WorkerEnvironment;
  #draining = false;
  /** Made when a task came to nothing for the first time. */
  #startHealth: StartHealth | undefined;
  #nextAsk = 1;
  #sweepArmed = false;
  /** Before the welcome nothing is known of the network: questions and reports are looked after all the same. */
  #timings: Timings = LIVE_TIMINGS;
  /** Each is made when the policy of the cluster has workers do that. */
  #stealing: Stealing | undefined;
  #finder: WorkFinder | undefined;
  #seriesMs: Millis = 0;
  #nextReport = 1;
  readonly #membership = new Membership();
  readonly #reports = new Reports();
  /** Owners whose jobs another one has. */
  #superseded = NOBODY_SUPERSEDED;
  readonly #counters = noneCounted();
  readonly #config: WorkerConfig;
  /** Made when a part is that needs it. */
  #madeAround: WorkerParts | undefined;
  /** Whoever started this worker wants it to end. */
  #stopping = false;
  #saidDrained = false;

  /** @param memory of all workers in the process; default: its own */
  constructor(config: WorkerConfig, env: WorkerEnvironment, memory: WorkerMemory = new WorkerMemory()) {
    this.#config = config;
    this.#env = env;
    this.#memory = memory;
    this.#row = memory.admit(config.slots, config.capacity);
  }

  // ---- doors

  start(now: Millis): void {
    this.#register(now);
  }

  receive(from: Address, message: Message, now: Millis): void {
    // Most thieves ask where nothing waits: they are answered before anything else is looked at.
    if (message.type === 'steal') return this.#robbed(from, message.round, now);
    if (this.#superseded.size > 0 && this.#superseded.has(from)) return;
    switch (message.type) {
      case 'stolen':
        return this.#takeStolen(from, message, now);
      case 'probe':
        return this.#enqueue(this.#memory.probes.entryOf(from, message, now), now);
      case 'bind':
        return this.#bound(from, message, now);
      case 'run':
        return this.#given(from, message, now);
      case 'unfit':
        if (this.#health().unfit(message.reason, now)) this.#giveBackAll();
        return;
      case 'none':
        return this.#refused(from, message.ask, now);
      case 'confirm':
        this.#reports.confirm(from, message.report);
        return this.#sayIfDrained();
      case 'cancelProbes':
        this.#queue().removeProbes(from, message.job, message.stage);
        return this.#serve(now);
      case 'nowLong':
        return this.#nowLong(from, message);
      case 'cancelTask':
        this.#cancelTask(from, message);
        return this.#serve(now);
      case 'evict':
        return this.#evict(from, message);
      case 'assign':
        return this.#assigned(message, now);
      case 'resume':
        return this.#resumed(from, message, now);
      case 'welcome':
        return this.#welcomed(from, message, now);
      case 'heartbeatAck':
        return this.#acknowledged(from, message, now);
      case 'nameTaken':
        return this.#env.nameTaken?.(message.holder);
      case 'strangerTold':
        if (from === this.#membership.central) this.#registerAnew(now);
        return;
      case 'peers':
        return this.#peersChanged(from, message, now);
      case 'drain':
        if (from === this.#membership.central && !this.#stopping) this.#setDraining(message.on, now);
        return;
      case 'readCounters':
        return this.#env.send(from, { type: 'counters', request: message.request, value: this.#counted() });
      default:
        return; // Meant for another role.
    }
  }

  wake(timer: WorkerTimer, key: number, now: Millis): void {
    switch (timer) {
      case 'heartbeat':
        return this.#beat(now);
      case 'sweep':
        return this.#sweep(now);
      case 'steal':
        return this.#takesNothing() ? undefined : this.#stealing?.begin(now);
      case 'taskTimeout':
        if (this.#slots().isOverdue(key, now)) this.#env.kill(key, 'timeout');
        return;
      case 'output':
        return new Printing(this.#env, this.#slots()).flush(key);
      case 'pull':
        return this.#finder?.wake(now);
      case 'aside':
        if (this.#startHealth?.wake(now)) this.#takesAgain(now);
        return;
    }
  }

  disconnected(from: Address, now: Millis): void {
    if (!this.#membership.disconnected(from)) return;
    this.#register(now);
    this.#finder?.lookAround(now);
  }

  /** The task in the slot has really started: its time limit counts from here. */
  taskStarted(slot: number, now: Millis): void {
    if (!this.#slots().isRunning(slot)) return;
    const timeoutMs = this.#slots().started(slot, now);
    this.#startHealth?.started();
    if (timeoutMs !== undefined) this.#env.setTimer('taskTimeout', slot, now + timeoutMs);
  }

  taskOutput(slot: number, stream: 'stdout' | 'stderr', bytes: Uint8Array, now: Millis): void {
    new Printing(this.#env, this.#slots()).append(slot, stream, bytes, now + this.#timings.progressMs);
  }

  /** @param runMs as the executor measured it */
  taskEnded(slot: number, outcome: Outcome, runMs: Millis, now: Millis): void {
    const slots = this.#slots();
    invariant(slots.isRunning(slot), () => `a task ended in slot ${slot}, which was ${slots.at(slot).kind}`);
    if (slots.timeoutOf(slot) !== undefined) this.#env.clearTimer('taskTimeout', slot);
    if (slots.printedBy(slot) !== undefined) this.#env.clearTimer('output', slot);
    const wasApart = this.#startHealth?.endedApart(slot) === true;
    if (outcome.kind === 'completed') this.#startHealth?.completed();
    else if (this.#health().ended(outcome, now)) this.#giveBackAll();
    const mayGoOn = this.#seriesMs > 0 && !wasApart && !this.#takesNothing() && this.#queue().isEmpty;
    const running = mayGoOn || slots.isPlaced(slot) ? slots.runningAt(slot) : undefined;
    const goesOn = mayGoOn && continuesSeries(running!, outcome.kind, runMs, this.#seriesMs, now);
    const ask = goesOn ? this.#nextAsk++ : 0;
    const report = this.#report(slot, outcome, runMs, ask, now);
    if (!slots.isLong(slot)) this.#finder?.shortEnded(runMs);
    if (running?.placedByCentral) this.#giveBack().tellCentral('placementEnded', running.owner, running);
    if (!goesOn) {
      this.#freed(slot, now);
      if (wasApart) this.#takesAgain(now);
      return;
    }
    slots.release(slot);
    slots.ask(entryAfter(running!), ask, now, { since: running!.since, report });
    this.#armSweep(now);
  }

  /** Nothing runs in the slot any more: what waits here is next, or it is looked for elsewhere. */
  #freed(slot: number, now: Millis): void {
    this.#slots().release(slot);
    this.#serveOrFind(now);
  }

  /** Slots may be free that were not. */
  #serveOrFind(now: Millis): void {
    this.#serve(now);
    if (this.#memory.slots.idle[this.#row] === 0) return;
    if (!this.#takesNothing()) this.#stealing?.begin(now);
    this.#finder?.freed(now);
    this.#sayIfDrained();
  }

  /** Takes no more work, for good: gives back what waits, lets what runs end, then `env.drained()`. */
  drain(now: Millis): void {
    this.#stopping = true;
    this.#saidDrained = false;
    this.#setDraining(true, now);
  }

  /** Kills what runs; the owners hear that it was cut short and may run it elsewhere. */
  killAll(reason: KillReason): void {
    for (const [slot] of this.#slots().running()) this.#env.kill(slot, reason);
  }

  /** Says goodbye, so that nobody has to wait for the lease to end. */
  leave(): void {
    if (this.#membership.central !== NOBODY) this.#env.send(this.#membership.central, { type: 'leave' });
  }

  #counted(): Counters {
    return { ...countedOf(this.counters, this.standing), ...this.#env.counted?.() } as Counters;
  }

  get counters() {
    countNow(this.#counters, this.#stealing?.counted, this.#nextReport - 1, this.#slots().runningCount);
    return this.#counters;
  }

  get isMember(): boolean {
    return this.#membership.central !== NOBODY;
  }

  get standing(): WorkerStanding {
    return standingOf(this.#config.slots, this.#slots(), this.#queue(), this.#reports);
  }

  get isIdle(): boolean {
    return this.#slots().busyCount === 0 && this.#queue().isEmpty && this.#reports.size === 0;
  }

  checkInvariants(): void {
    checkWorker(this.#queue(), this.#slots(), this.#takesNothing());
  }

  // ---- its parts

  #queue(): WorkerQueue {
    return this.#memory.queue.of(this.#row);
  }

  #slots(): Slots {
    return this.#memory.places.of(this.#row);
  }

  #parts(): WorkerParts {
    this.#madeAround ??= {
      queue: () => this.#queue(),
      slots: () => this.#slots(),
      membership: this.#membership,
      takesWork: () => !this.#takesNothing(),
      nextAsk: () => this.#nextAsk++,
      asked: (now) => this.#armSweep(now),
    };
    return this.#madeAround;
  }

  #giveBack(): GivingBack {
    return new GivingBack(this.#env, this.#counters, this.#central());
  }

  #questions(): Questions {
    return new Questions(this.#env, this.#slots(), this.#reports, this.#giveBack());
  }

  // ---- serving the queue

  #enqueue(entry: Entry, now: Millis): void {
    if (this.#takesNothing()) return this.#giveBack().entry(entry);
    this.#queue().push(entry);
    this.#serve(now);
  }

  /** A head that does not fit waits, and all behind it: a task that needs much is not overtaken for ever. */
  #serve(now: Millis): void {
    while (this.#memory.slots.idle[this.#row]! > 0) {
      const queue = this.#queue();
      const slots = this.#slots();
      const head = queue.head();
      if (head === undefined || !slots.fits(head.demand)) return;
      queue.shift();
      const ask = this.#nextAsk++;
      slots.ask(head, ask, now);
      askFor(head, ask, false, this.#env);
      this.#armSweep(now);
    }
  }

  #bound(from: Address, message: MessageOf<'bind'>, now: Millis): void {
    this.#noticeGap(now);
    const slots = this.#slots();
    const slot = slots.indexOfAsk(message.ask);
    const entry = slot < 0 ? undefined : slots.entryAt(slot);
    if (entry?.owner !== from) {
      // Doubled: it runs here or has ended here. Late: the question was given up, and the task must not wait.
      if (hasHad(from, message, slots, this.#reports)) return;
      return this.#giveBack().task(from, message.job, 0, message.task, message.attempt);
    }
    if (this.#takesNothing()) {
      this.#giveBack().task(from, message.job, entry.stage, message.task, message.attempt);
      this.#giveBack().placementOver(entry);
      this.#slots().release(slot);
      return this.#sayIfDrained();
    }
    this.#run(slot, entry, from, message, now);
  }

  /** An owner sends a task: central has matched a slot with its job, or this worker sought one. */
  #given(from: Address, message: MessageOf<'run'>, now: Millis): void {
    this.#noticeGap(now);
    if (hasHad(from, message, this.#slots(), this.#reports)) return;
    const { job, task, attempt } = message;
    const entry = this.#finder?.accept(from, message);
    if (entry === undefined) this.#giveBack().task(from, job, 0, task, attempt);
    else {
      this.#run(this.#slots().ask(entry, 0, now), entry, from, message, now);
    }
    this.#finder?.settled(message, now);
  }

  #run(slot: number, entry: Entry, owner: Address, message: MessageOf<'bind' | 'run'>, now: Millis): void {
    this.#slots().run(slot, owner, message, now);
    this.#memory.thieves.foundWork(this.#row);
    this.#finder?.started();
    if (entry.placed !== undefined) this.#giveBack().tellCentral('placementStarted', owner, message);
    this.#env.execute(slot, message);
    const { apartMs, jobId, task } = message;
    if (apartMs !== undefined && this.#health().runsApart(slot, jobId, task, apartMs, now))
      this.#giveBackAll();
  }

  /** The owner has no task for this probe (left): the slot goes on to the next entry. */
  #refused(from: Address, ask: number, now: Millis): void {
    const slots = this.#slots();
    const slot = slots.indexOfAsk(ask);
    if (slot < 0) return this.#finder?.refused(from, ask, now);
    const entry = slots.entryAt(slot)!;
    if (entry.placed !== undefined) this.#giveBack().placementOver(entry);
    this.#freed(slot, now);
  }

  /** It was found out that the job of a task is long. */
  #nowLong(from: Address, { job, task, attempt }: MessageOf<'nowLong'>): void {
    const slot = this.#slots().indexOfTask(from, job, task, attempt);
    if (slot >= 0 && this.#slots().setLong(slot)) this.#finder?.foundLong();
  }

  /** Its owner has it wait again, elsewhere or later: a policy wants the room. */
  #evict(from: Address, { job, task, attempt }: MessageOf<'evict'>): void {
    const slot = this.#slots().indexOfTask(from, job, task, attempt);
    if (slot >= 0) this.#env.kill(slot, 'preempted');
  }

  #cancelTask(from: Address, { job, task, attempt }: MessageOf<'cancelTask'>): void {
    const slot = this.#slots().indexOfTask(from, job, task, attempt);
    if (slot >= 0) return this.#env.kill(slot, 'cancelled');
    if (!this.#reports.has(from, job, task, attempt))
      this.#giveBack().cancelled(from, { job, task, attempt }, this.#queue());
  }

  #report(slot: number, outcome: Outcome, runMs: Millis, ask: number, now: Millis): MessageOf<'ended'> {
    const slots = this.#slots();
    const owner = slots.ownerOf(slot);
    const message = reportOf(this.#nextReport++, slots, slot, outcome, runMs, ask);
    this.#env.send(owner, message);
    if (this.#timings.retryMs > 0 && !this.#slots().isOrphaned(slot)) {
      this.#reports.keep(owner, message, now);
      this.#armSweep(now);
    }
    return message;
  }

  // ---- placed by central

  #assigned(message: MessageOf<'assign'>, now: Millis): void {
    const { owner, job, task, attempt } = message;
    if (!this.#slots().serves(owner, job, task, attempt) && !this.#queue().has(owner, job, task, attempt))
      this.#enqueue(entryOfPlaced(message), now);
  }

  // ---- stealing

  #robbed(thief: Address, round: number, now: Millis): void {
    if (this.#memory.entries.areEmpty(this.#row) || this.#stealing === undefined)
      return this.#env.send(thief, nothingToSteal(round));
    this.#stealing.give(thief, round, now);
    this.#serve(now);
  }

  #takeStolen(from: Address, message: MessageOf<'stolen'>, now: Millis): void {
    const probes = this.#stealing?.answered(from, message, now) ?? message.probes;
    if (probes.length === 0) return;
    for (const probe of probes) {
      const entry = this.#memory.probes.entryOf(probe.owner, probe, now);
      if (this.#takesNothing()) this.#giveBack().entry(entry);
      else this.#queue().push(entry);
    }
    this.#serve(now);
  }

  // ---- draining, and times in which nothing can be started

  #takesNothing(): boolean {
    return this.#draining || (this.#startHealth?.isQuarantined ?? false);
  }

  #health(): StartHealth {
    this.#startHealth ??= new StartHealth(this.#env, this.#membership, this.#counters);
    return this.#startHealth;
  }

  /** A pause is over; central has forgotten what is free here. */
  #takesAgain(now: Millis): void {
    this.#finder?.welcomed(false);
    this.#lookForWork(now);
  }

  /** What a process that stood still finds in its mailbox may run elsewhere by now: it gives back what comes at first. */
  #noticeGap(now: Millis): void {
    if (this.#timings.leaseMs === 0) return;
    const gapMs = this.#membership.gapMs(now);
    if (gapMs > 0 && this.#health().stoodStill(gapMs, this.#timings.heartbeatMs, now)) this.#giveBackAll();
  }

  #giveBackAll(): void {
    this.#giveBack().all(this.#queue().removeAll());
    this.#stealing?.end();
    this.#finder?.end();
  }

  #lookForWork(now: Millis): void {
    if (!this.#takesNothing()) this.#stealing?.begin(now);
    this.#finder?.lookAround(now);
  }

  #setDraining(on: boolean, now: Millis): void {
    if (on === this.#draining) {
      // Whoever says so believes otherwise.
      this.#register(now);
      return this.#sayIfDrained();
    }
    this.#draining = on;
    this.#saidDrained = false;
    if (on) this.#giveBackAll();
    // Central hears of it by the same message that says everything else about this worker.
    this.#register(now);
    this.#sayIfDrained();
    if (!on) this.#lookForWork(now);
  }

  #sayIfDrained(): void {
    if (!this.#draining || this.#saidDrained || !this.isIdle) return;
    this.#saidDrained = true;
    if (this.#membership.central !== NOBODY) this.#env.send(this.#membership.central, { type: 'drained' });
    this.#env.drained();
  }

  // ---- belonging to a cluster

  /** Keeps account of placed tasks, and has to hear of those that end before it has welcomed this worker. */
  #central(): Address {
    const { central, isCutOff } = this.#membership;
    return central === NOBODY || isCutOff ? this.#config.central : central;
  }

  /** @param isRepeated nobody has answered so far; what is held changes with time */
  #register(now: Millis, isRepeated = false): void {
    const runs = heldRuns(this.#slots(), this.#queue(), now);
    const isWaiting = isRepeated && runs.length === 0 && this.#env.holdsBack?.(this.#central());
    if (!isWaiting) this.#env.send(this.#central(), registrationOf(this.#config, this.#draining, runs));
    this.#beatAgain(now);
  }

  #beatAgain(now: Millis): void {
    const everyMs = this.isMember ? this.#timings.heartbeatMs : this.#config.registerRetryMs;
    if (everyMs > 0) this.#setBeat(nextBeat(now, everyMs));
  }

  #setBeat(at: Millis): void {
    this.#membership.beatDueAt = at;
    this.#env.setTimer('heartbeat', 0, at);
  }

  #registerAnew(now: Millis): void {
    this.#membership.forget();
    this.#register(now, true);
  }

  #welcomed(from: Address, { settings }: MessageOf<'welcome'>, now: Millis): void {
    if (this.#config.slots === 0 && !settings.policy.preset.packs)
      return this.#env.needsSlots?.(settings.policy.policy);
    const { central: before, isCutOff } = this.#membership;
    const first = before === NOBODY;
    this.#membership.welcome(from, settings, now);
    this.#timings = settings.timings;
    this.#seriesMs = seriesMsOf(settings.policy);
    const { heartbeatMs } = settings.timings;
    if (heartbeatMs > 0) {
      if (first) this.#setBeat(nextBeat(now + heartbeatMs / 2, heartbeatMs));
    } else {
      this.#membership.beatDueAt = Number.POSITIVE_INFINITY;
      this.#env.clearTimer('heartbeat', 0);
    }
    // What has ended since this one heard of it was told to the other.
    if (!first && !isCutOff && before !== from) this.#register(now);
    this.#queue().patienceMs = patienceMsOf(settings.policy);
    const { preset } = settings.policy;
    if (this.#stealing !== undefined) this.#stealing.settings = settings;
    else if (preset.stealing)
      this.#stealing = new Stealing(this.#config.self, this.#env, settings, this.#parts(), this.#memory);
    if (findsWork(preset)) this.#finder ??= new WorkFinder(this.#env, this.#parts());
    this.#finder?.welcomed(before !== from);
  }

  #beat(now: Millis): void {
    this.#noticeGap(now);
    // While central is silent there are no matches: schedulers are to know who is idle.
    this.#finder?.lookAround(now);
    if (this.#membership.isSilent(now)) return this.#registerAnew(now);
    if (this.#membership.central === NOBODY || this.#membership.isCutOff) return this.#register(now, true);
    this.#startHealth?.tell();
    const { busyCount: busy } = this.#slots();
    this.#env.send(this.#membership.central, { type: 'heartbeat', busy, queued: this.#queue().length });
    if (this.#draining && this.isIdle) this.#env.send(this.#membership.central, { type: 'drained' });
    this.#beatAgain(now);
  }

  #acknowledged(from: Address, { version, matching }: MessageOf<'heartbeatAck'>, now: Millis): void {
    if (from !== this.#membership.central) return;
    this.#membership.heard(now);
    if (version !== this.#membership.version) this.#env.send(from, { type: 'resync' });
    if (this.#membership.isRelieved !== matching) return;
    this.#membership.isRelieved = !matching;
    this.#finder?.freed(now);
  }

  #peersChanged(from: Address, message: MessageOf<'peers'>, now: Millis): void {
    if (from !== this.#membership.central) return;
    this.#membership.heard(now);
    if (!this.#membership.apply(message)) return this.#env.send(from, { type: 'resync' });
    this.#stealing?.setVictims(this.#membership.general, now);
    for (const owner of message.ownersLost) this.#ownerLost(owner, now);
    // What runs of theirs goes on, and its results are held.
    for (const owner of message.ownersAway) this.#dropWaiting(owner, now);
    if (message.ownersAway.length > 0) this.#serveOrFind(now);
    this.#finder?.lookAround(now);
  }

  /** What a lost scheduler owned ends here. It is told so, in case that it was only silent. */
  #ownerLost(owner: Address, now: Millis): void {
    this.#dropWaiting(owner, now);
    this.#reports.dropOwner(owner);
    orphanTasksOf(owner, this.#slots(), (slot) => this.#env.kill(slot, 'shutdown'));
    this.#serveOrFind(now);
    this.#sayIfDrained();
  }

  /** Nobody is there to say what a probe stands for. */
  #dropWaiting(owner: Address, now: Millis): void {
    this.#giveBack().all(this.#queue().removeOwner(owner));
    this.#finder?.ownerLost(owner, now);
    this.#questions().dropOwner(owner);
  }

  /** An owner that was started again wants what its earlier incarnations have here. */
  #resumed(owner: Address, { formers, census }: MessageOf<'resume'>, now: Millis): void {
    if (this.#superseded === NOBODY_SUPERSEDED && formers.length > 0) this.#superseded = new Set();
    for (const former of formers) {
      if (former === owner) continue;
      this.#superseded.add(former);
      this.#dropWaiting(former, now);
    }
    this.#serveOrFind(now);
    // Central keeps account of what it has placed by its owner.
    if (readdress(owner, formers, this.#slots(), this.#reports, now)) this.#register(now);
    handOver(owner, census, this.#slots(), this.#reports, this.#env, now);
  }

  // ---- safety nets

  /** Something waits for an answer: look at it after a while. */
  #armSweep(now: Millis): void {
    if (this.#sweepArmed || this.#timings.retryMs === 0) return;
    this.#sweepArmed = true;
    this.#env.setTimer('sweep', 0, now + this.#timings.retryMs);
  }

  #sweep(now: Millis): void {
    this.#sweepArmed = false;
    const { retryMs, retriesMax } = this.#timings;
    if (retryMs === 0) return;
    const hasFreed = this.#questions().sweep(retryMs, retriesMax, now);
    this.#reports.resend(retryMs, now, (to, message) => this.#env.send(to, message));
    this.#stealing?.sweep(retryMs, now);
    this.#finder?.sweep(retryMs, retriesMax, now);
    if (hasFreed) this.#serveOrFind(now);
    else this.#serve(now);
    const isWaiting = this.#stealing?.inRound || this.#finder?.isWaiting || this.#reports.size > 0;
    if (isWaiting || this.#slots().isAsking) this.#armSweep(now);
    this.#sayIfDrained();
  }
}

/** Of those that were never told of one. */
const NOBODY_SUPERSEDED = new Set<Address>();
