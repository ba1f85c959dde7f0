import type { Address, Millis } from './ids.js';
import type { Message } from './messages/table.js';
import type { ClientKey } from './rights.js';

/**
 * The effects that a machine may have: a sink whose methods return nothing, and the random numbers it was
 * given. Real time, virtual time and tests implement it; a machine cannot tell them apart.
 */
export interface Environment<Timer extends string = string> {
  /** The next number of a seeded stream, uniform in [0, 1). Machines of one driver may share a stream. */
  random(): number;
  /** Hands a message to the network. It may arrive late, twice, or never; order holds per receiver. */
  send(to: Address, message: Message): void;
  /**
   * Wakes the machine at `at` (ms, same clock as `now`) with `wake(timer, key)`. A timer is named by
   * (timer, key); setting it again moves it. Machines treat an early or a doubled wake-up as harmless.
   */
  setTimer(timer: Timer, key: number, at: Millis): void;
  clearTimer(timer: Timer, key: number): void;
  /**
   * Whether earlier messages to the party still wait here for a connection, so that the machine need not send them
   * again. Absent where the driver does not know.
   */
  holdsBack?(to: Address): boolean;
  /** The key that a client has shown; undefined for who may ask for everything. A driver without keys has none. */
  clientKeyOf?(address: Address): ClientKey | undefined;
  /** The full name behind an address, for the lines people read. */
  nameOf(address: Address): string;
  /**
   * Counters that the driver keeps for this machine, in groups by name: part of its answer to `readCounters`.
   */
  counted?(): Readonly<Record<string, unknown>>;
}

/** The entries of every machine: synchronous, values only, run to completion. */
export interface Machine<Timer extends string = string> {
  /** Called once, before anything else. */
  start(now: Millis): void;
  receive(from: Address, message: Message, now: Millis): void;
  wake(timer: Timer, key: number, now: Millis): void;
  /**
   * Called when all inputs of a moment were delivered, so that deferred work is done now. A driver calls it
   * after each turn of its loop with input, and in virtual time once per instant.
   */
  settle?(now: Millis): void;
  /**
   * The connection to a party broke. Its process or only the connection may have ended, and earlier messages
   * may still arrive; so this is a reason to do without the party until it responds, not to declare it lost.
   * Notices may be missing (the machine may have lost power) or spurious: machines treat duplicates and
   * notices about unrelated parties as harmless.
   */
  disconnected?(from: Address, now: Millis): void;
  /** Throws `InvariantError` when the machine contradicts itself. Called by tests after every step. */
  checkInvariants(): void;
}
