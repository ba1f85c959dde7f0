import {
  type Address,
  type ClientKey,
  Deque,
  type Histogram,
  InvariantError,
  type Machine,
  type Millis,
  Random,
  type Role,
} from '@goshawk/core';
import { type AddressNames, Codec, type Logger, ThrottledLog, type WorkerClaims } from '@goshawk/transport';
import type { Audit } from '../audit/audit.js';
import type { Alarm } from './alarm.js';
import type { BuildMachine, Enter, Hosted, PartyOptions, Post } from './contract.js';
import { describeInput, type EntryPoint, type Input, type Losable, mayBeLost } from './input.js';
import { type MachineCounters, MessageCounters } from './message-counters.js';
import { Party } from './party.js';
import { TimerQueue } from './timers.js';

export interface HostOptions {
  /**
   * Schedules a callback after all messages that arrived together were delivered; default: after the microtasks of a
   * frame.
   */
  readonly endOfTurn?: ((settle: () => void) => void) | undefined;
  readonly mailbox: Post;
  readonly names: AddressNames;
  /** Seed of all random numbers of this process's machines, together with their names. */
  readonly seed: number | string;
  readonly logger: Logger;
  /**
   * Called once, after the log line, when a machine breaks an invariant. Nothing runs in this host afterwards; exit
   * with a nonzero code.
   */
  readonly onFatal: (error: InvariantError) => void;
  /** Returns the role of a party, if known. Messages that the role may not send or receive are refused. */
  readonly roleOf?: (party: Address) => Role | undefined;
  /** Returns whether the key of a worker or a scheduler permits the name under which it joins; default: any. */
  readonly permitsName?: ((party: Address, name: string) => boolean) | undefined;
  /** Returns why the key of a worker does not permit what it says about itself; undefined: it does. */
  readonly claimsProblem?: ((party: Address, claims: WorkerClaims) => string | undefined) | undefined;
  /** Returns the individual key of a client; default: none. */
  readonly clientKeyOf?: ((party: Address) => ClientKey | undefined) | undefined;
  /** Observes client requests and their answers. */
  readonly audit?: Audit | undefined;
  /** Monotonic, ms. */
  readonly clock?: () => Millis;
  /** Alarm on that clock; default: Node's timers. */
  readonly alarm?: Alarm;
}

/** Minimum interval between log lines about invalid messages of one peer. */
const COMPLAINT_INTERVAL_MS = 10_000;

/**
 * The real-time driver: machines of one process with mailbox, clock and timers, as the simulator provides them. Each
 * message, timer and task event is one synchronous call; events during a call wait.
 *
 * A machine that throws on a message and keeps its invariants continues: any message may be lost. A broken invariant,
 * or a throw on a timer or a task's end, ends the process: leases expire, and other processes take over.
 */
export class Host {
  readonly #options: HostOptions;
  readonly #codec: Codec;
  readonly #clock: () => Millis;
  readonly #random: Random;
  readonly #timers: TimerQueue;
  readonly #complaints: ThrottledLog;
  readonly #failures = new Failures();
  readonly #parties: Party[] = [];
  /** Totals of removed machines, since counters must not decrease. */
  #removed: MessageCounters | undefined;
  /** Inputs that arrived during another step. */
  readonly #waiting = new Deque<readonly [Party, Input]>();
  /** Parties that received something in this turn. */
  readonly #unsettled = new Set<Party>();
  readonly #endOfTurn: (settle: () => void) => void;
  #working = false;
  #ended = false;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#codec = new Codec(options.names);
    this.#endOfTurn = options.endOfTurn ?? queueMicrotask;
    this.#clock = options.clock ?? (() => performance.now());
    this.#random = Random.seeded(options.seed);
    this.#timers = new TimerQueue(this.#clock, options.alarm);
    this.#complaints = new ThrottledLog(options.logger, COMPLAINT_INTERVAL_MS);
  }

  now(): Millis {
    return this.#clock();
  }

  /**
   * Builds a machine, subscribes it to its index, and starts it.
   *
   * @param build receives the machine's environment, and access to entries that the host does not know
   */
  add<M extends Machine<never>>(options: PartyOptions, build: BuildMachine<M>): Hosted<M> {
    const enter: Enter<M> = (event, entry) =>
      this.#take(party, { kind: 'event', event, entry: entry as EntryPoint });
    const timers = this.#timers.forMachine((timer, key) => this.#take(party, { kind: 'timer', timer, key }));
    const party: Party = new Party(
      options,
      {
        codec: this.#codec,
        mailbox: this.#options.mailbox,
        nameOf: (address) => this.#nameOf(address),
        roleOf: this.#options.roleOf ?? (() => undefined),
        clientKeyOf: this.#options.clientKeyOf,
        permitsName: this.#options.permitsName,
        claimsProblem: this.#options.claimsProblem,
        audit: this.#options.audit,
        random: this.#random.fork(options.name),
        complaints: this.#complaints,
        timers,
      },
      (environment) => build(environment, enter) as Machine,
    );
    this.#parties.push(party);
    this.#options.mailbox.register(options.index, (from, body) => {
      const message = party.open(from, body);
      if (message !== undefined) this.#take(party, { kind: 'message', from, message });
    });
    this.#take(party, { kind: 'start' });
    const remove = (): void => {
      party.isRemoved = true;
      this.#parties.splice(this.#parties.indexOf(party), 1);
      this.#removed ??= new MessageCounters();
      this.#removed.add(party.counters.read());
      this.#options.mailbox.unregister(options.index);
      timers.close();
    };
    return { machine: party.machine as M & Machine, enter, remove };
  }

  /** Reports a broken connection to these parties. */
  disconnected(from: readonly Address[]): void {
    for (const address of from)
      for (const party of this.#parties) this.#take(party, { kind: 'disconnected', from: address });
  }

  /** Delay of fired timers. ms */
  get lateMs(): Histogram {
    return this.#timers.lateMs;
  }

  /** Counters by machine name; removed machines share one entry. */
  counters(): Record<string, MachineCounters> {
    return {
      ...Object.fromEntries(this.#parties.map((party) => [party.name, party.counters.read()])),
      ...(this.#removed && { removed: this.#removed.read() }),
    };
  }

  /** Stops all input to all machines. The owner closes the mailbox. */
  close(): void {
    this.#ended = true;
    this.#timers.close();
  }

  #take(party: Party, input: Input): void {
    if (this.#ended) return;
    if (this.#working) {
      this.#waiting.push([party, input]);
      return;
    }
    this.#working = true;
    this.#step(party, input);
    for (let next = this.#waiting.shift(); next !== undefined && !this.#ended; next = this.#waiting.shift()) {
      this.#step(...next);
    }
    this.#working = false;
    if (this.#unsettled.size > 0 && !this.#ended) this.#endOfTurn(() => this.#settle());
  }

  /** Called after all messages of a frame, or all timers of a time, were delivered. */
  #settle(): void {
    const unsettled = [...this.#unsettled];
    this.#unsettled.clear();
    for (const party of unsettled) this.#take(party, { kind: 'settle' });
  }

  #step(party: Party, input: Input): void {
    if (party.isRemoved) return;
    try {
      party.step(input, this.#clock());
      if (input.kind !== 'settle' && party.machine.settle !== undefined) this.#unsettled.add(party);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (mayBeLost(input) && party.isSound(error)) this.#refuse(party, input, error);
      else this.#fail(party, input, error);
    }
  }

  #refuse(party: Party, input: Losable, error: Error): void {
    party.counters.failed++;
    const type = input.kind === 'message' ? input.message.type : input.kind;
    const failure = this.#failures.numberOf(`${party.name} ${type} ${error.message}`);
    const described = describeInput(input, (address) => this.#nameOf(address));
    this.#complaints.error(
      `failure ${failure}`,
      'a state machine failed on this input, which is dropped: a bug in goshawk; the process continues',
      { failure, party: party.name, input: described, err: error },
    );
    if (input.kind === 'message') party.refuse(input.from, input.message, failure);
  }

  #fail(party: Party, input: Input, error: Error): void {
    this.close();
    const described = describeInput(input, (address) => this.#nameOf(address));
    this.#options.logger.fatal(
      { party: party.name, input: described, err: error },
      'a state machine violated an invariant: a bug in goshawk; this process exits',
    );
    this.#options.onFatal(
      new InvariantError(`${party.name}: ${described}: ${error.message}`, { cause: error }),
    );
  }

  #nameOf(address: Address): string {
    return this.#options.names.nameOf(address) ?? `forgotten party ${address}`;
  }
}

/** Maximum number of stored causes. */
const CAUSES_MAX = 1_000;

/** Numbers the causes of refused messages, so that a client's error leads to its line in the log. */
class Failures {
  readonly #numbers = new Map<string, number>();
  #last = 0;

  /** Returns the number of a cause: the same one until the cause is evicted. */
  numberOf(cause: string): number {
    const known = this.#numbers.get(cause);
    if (known !== undefined) return known;
    if (this.#numbers.size >= CAUSES_MAX) this.#numbers.delete(this.#numbers.keys().next().value!);
    this.#numbers.set(cause, ++this.#last);
    return this.#last;
  }
}
