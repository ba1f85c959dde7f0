import type { Address, Machine, Message, Millis, Outcome, Role } from '@goshawk/core';
import { addWorker, type Enter, Host } from '@goshawk/runtime';
import { type Logger, SILENT_LOGGER } from '@goshawk/transport';
import type {
  Build,
  Driver,
  DriverOptions,
  SentMessage,
  SteppingDriver,
  TaskEnvironment,
  TaskMachine,
} from '../stepped/driver.js';
import { watched, watchedWorker } from '../stepped/watched.js';
import { MailNetwork, type ProcessMailbox } from './mail-network.js';
import { FakeWorld, type World } from './world.js';

interface Process {
  readonly role: Role;
  readonly mailbox: ProcessMailbox;
  readonly host: Host;
  enter: Enter<Machine>;
}

/** Every process has one machine. */
const INDEX = 0;

/**
 * Real-time hosts controlled by the test: one process per machine, with separate addresses for all others, so that
 * every message is encoded to bytes and decoded.
 */
export class RealTimeDriver implements Driver {
  readonly #options: DriverOptions;
  readonly #world: World;
  readonly #network: MailNetwork;
  readonly #processes = new Map<Address, Process>();
  /** Errors that hosts have reported. */
  readonly #wrong: unknown[] = [];
  #nextAddress = 1;

  constructor(options: DriverOptions, world: World) {
    this.#options = options;
    this.#world = world;
    const byPost = (from: Address, to: Address, message: Message) => {
      const arrive = () => this.arrive({ from, to, message });
      if (from === to) world.loopBack(arrive);
      else world.travel(arrive);
    };
    this.#network = new MailNetwork(options.carry ?? byPost);
  }

  get now(): Millis {
    return this.#world.clock();
  }

  add(name: string, role: Role, build: Build<Machine>): Address {
    const [address, process] = this.#open(name, role);
    this.turn(() =>
      process.host.add({ index: INDEX, name, role }, (environment, enter) => {
        process.enter = enter;
        const machine = build(environment, process.mailbox.handleOf(address), address);
        return watched(machine);
      }),
    );
    return address;
  }

  addWorker(name: string, _slots: number, build: Build<TaskMachine, TaskEnvironment>): Address {
    const [address, process] = this.#open(name, 'worker');
    const options = { index: INDEX, name, executor: this.#world.executor, onDrained: () => {} };
    this.turn(() => {
      const { enter } = addWorker(process.host, options, (environment) => {
        const machine = build(environment, process.mailbox.handleOf(address), address);
        return watchedWorker(machine);
      });
      process.enter = enter as Enter<Machine>;
    });
    return address;
  }

  handleOf(party: Address, by: Address): Address {
    return this.#processes.get(by)!.mailbox.handleOf(party);
  }

  partyOf(handle: Address, by: Address): Address {
    return this.#processes.get(by)!.mailbox.partyOf(handle);
  }

  enter(party: Address, entry: (now: Millis) => void): void {
    const { enter } = this.#processes.get(party)!;
    this.turn(() =>
      enter('a custom entry', (machine, now) => {
        entry(now);
        machine.checkInvariants();
      }),
    );
  }

  kill(party: Address): void {
    this.#processes.get(party)!.host.close();
  }

  run(forMs: Millis): void {
    this.#world.run(forMs);
    this.complain();
  }

  close(): void {
    for (const { host } of this.#processes.values()) host.close();
    this.#world.close();
  }

  protected arrive({ from, to, message }: SentMessage): void {
    this.#processes.get(to)?.mailbox.arrive(from, message);
  }

  /** Something that happens in a turn of the event loop. */
  protected turn(happen: () => void): void {
    this.#world.turn(happen);
    this.complain();
  }

  /** A message was refused, or a machine violated an invariant. */
  protected complain(): void {
    const [wrong] = this.#wrong;
    if (wrong === undefined) return;
    throw wrong instanceof Error ? wrong : new Error(JSON.stringify(wrong));
  }

  #open(name: string, role: Role): [Address, Process] {
    const address = this.#nextAddress++ as Address;
    const mailbox = this.#network.open(address, name);
    const logger: Logger = { ...SILENT_LOGGER, warn: (...line) => this.#wrong.push(line) };
    const alarm = this.#world.alarm();
    const host = new Host({
      endOfTurn: (settle) => settle(),
      mailbox,
      names: mailbox.directory,
      seed: this.#options.seed,
      logger,
      onFatal: (error) => this.#wrong.push(error),
      roleOf: (handle) => this.#processes.get(mailbox.partyOf(handle))?.role,
      clock: () => this.now,
      ...(alarm === undefined ? {} : { alarm }),
    });
    const process: Process = { role, mailbox, host, enter: () => {} };
    this.#processes.set(address, process);
    return [address, process];
  }
}

/** A real-time driver on a clock that a test advances from event to event. */
export class SteppingRealTimeDriver extends RealTimeDriver implements SteppingDriver {
  readonly #world: FakeWorld;

  constructor(options: DriverOptions) {
    const world = new FakeWorld();
    super(options, world);
    this.#world = world;
  }

  override addWorker(name: string, slots: number, build: Build<TaskMachine, TaskEnvironment>): Address {
    const { executor } = this.#world;
    return super.addWorker(name, slots, (given, self, address) => {
      const execute: TaskEnvironment['execute'] = (slot, order) =>
        executor.inSlot(address, slot, () => given.execute(slot, order));
      return build({ ...given, execute }, self, address);
    });
  }

  endTask(worker: Address, slot: number, outcome: Outcome): boolean {
    return this.#world.executor.endNow(worker, slot, outcome);
  }

  nextEventAt(): Millis {
    return this.#world.time.nextAt;
  }

  happenNext(): void {
    this.#world.time.happenNext();
    this.complain();
  }

  passTo(time: Millis): void {
    this.#world.time.passTo(time);
  }

  deliver(messages: readonly SentMessage[]): void {
    this.turn(() => {
      for (const message of messages) this.arrive(message);
    });
  }
}
