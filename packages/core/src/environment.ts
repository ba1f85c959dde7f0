import type { Address, Millis } from './ids.js';
import type { Message } from './messages/table.js';
import type { ClientKey } from './rights.js';

/**
 * Everything a machine can do to the outside: effects that return nothing, and random numbers. Real time,
 * virtual time and tests implement it, and a machine cannot tell them apart.
 */
export interface Environment<Timer extends string = string> {
  /** The next number of a seeded stream, uniform in [0, 1). Machines of one driver may share a stream. */
  random(): number;
  /** Sends a message. It may arrive late, twice or never; messages to one receiver arrive in order. */
  send(to: Address, message: Message): void;
  /**
   * Wakes the machine at `at` (ms, same clock as `now`) with `wake(timer, key)`. (timer, key) identifies a
   * timer; setting it again moves it. Early or duplicate wake-ups must be harmless.
   */
  setTimer(timer: Timer, key: number, at: Millis): void;
  clearTimer(timer: Timer, key: number): void;
  /**
   * Whether earlier messages to the party are queued here until it connects, so that a retry is unnecessary. Drivers
   * without this information omit the method.
   */
  holdsBack?(to: Address): boolean;
  /**
   * The key that a client authenticated with; undefined: the client has all rights. Drivers without keys omit
   * the method.
   */
  clientKeyOf?(address: Address): ClientKey | undefined;
  /** The full name of an address, for display. */
  nameOf(address: Address): string;
  /**
   * Counters that the driver keeps for this machine, in groups by name; part of the answer to `readCounters`.
   */
  counted?(): Readonly<Record<string, unknown>>;
}

/** The inputs of every machine: synchronous, plain values, run to completion. */
export interface Machine<Timer extends string = string> {
  /** Called once, before any other method. */
  start(now: Millis): void;
  receive(from: Address, message: Message, now: Millis): void;
  wake(timer: Timer, key: number, now: Millis): void;
  /**
   * Does deferred work once all inputs of an instant have been delivered. Drivers call it after each turn of
   * the event loop that delivered input, or once per instant of virtual time.
   */
  settle?(now: Millis): void;
  /**
   * The connection to a party broke. Earlier messages may still arrive, and only the connection may have
   * failed, so the machine avoids the party until it responds but does not declare it lost. Notices may be
   * missing (a power loss sends none), spurious, duplicate, or about unrelated parties.
   */
  disconnected?(from: Address, now: Millis): void;
  /** Throws `InvariantError` if the state is inconsistent. Tests call it after every step. */
  checkInvariants(): void;
}
