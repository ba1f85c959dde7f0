import type { Address, Environment, Machine, Millis, Role } from '@goshawk/core';
import type { Body } from '@goshawk/transport';

/** The part of a mailbox that a host uses. */
export interface Post {
  /** Calls back with everything that arrives for the party of this index. */
  register(index: number, deliver: (from: Address, body: unknown) => void): void;
  /** Nothing is delivered to this index any more. */
  unregister(index: number): void;
  /**
   * Never waits, and never throws for what the network does; order holds between two parties.
   *
   * @param mayWait it may leave a moment later, with what is sent there next
   */
  send(fromIndex: number, to: Address, body: Body, mayWait?: boolean): void;
  /** Reports whether earlier messages to the party wait for a connection. */
  holdsBack?(to: Address): boolean;
}

export interface PartyOptions {
  /** Its index in this process, and with that its address. */
  readonly index: number;
  /** In logs and counters, and for its random numbers. */
  readonly name: string;
  readonly role: Role;
}

/** Lets something happen to a machine through an entry that only its kind has. `event` is for the log. */
export type Enter<M> = (event: string, entry: (machine: M, now: Millis) => void) => void;

/** Makes a machine; `enter` may be used as soon as it is made. */
export type BuildMachine<M extends Machine<never>> = (environment: Environment, enter: Enter<M>) => M;

/** A machine of this process, and the way to its other entries. */
export interface Hosted<M> {
  readonly machine: M;
  readonly enter: Enter<M>;
  /** Nothing reaches the machine any more. */
  remove(): void;
}
