import type { Address, Environment, Machine, Millis, Role } from '@goshawk/core';
import type { Body } from '@goshawk/transport';

/** The part of a mailbox that a host uses. */
export interface Post {
  /** Delivers all messages for the party of this index. */
  register(index: number, deliver: (from: Address, body: unknown) => void): void;
  /** Stops deliveries to this index. */
  unregister(index: number): void;
  /**
   * Never blocks, and never throws for network failures. Messages between two parties stay in order.
   *
   * @param mayWait the message may be sent later, together with the next one
   */
  send(fromIndex: number, to: Address, body: Body, mayWait?: boolean): void;
  /** Returns whether earlier messages to the party wait for a connection. */
  holdsBack?(to: Address): boolean;
}

export interface PartyOptions {
  /** Index of the party in this process, which determines its address. */
  readonly index: number;
  /** Name for logs, counters and the seed of its random numbers. */
  readonly name: string;
  readonly role: Role;
}

/** Calls an entry of a machine that only its kind has. `event` is for the log. */
export type Enter<M> = (event: string, entry: (machine: M, now: Millis) => void) => void;

/** Builds a machine; `enter` may be used once it is built. */
export type BuildMachine<M extends Machine<never>> = (environment: Environment, enter: Enter<M>) => M;

/** A machine of this process, with access to its other entries. */
export interface Hosted<M> {
  readonly machine: M;
  readonly enter: Enter<M>;
  /** Stops all input to the machine. */
  remove(): void;
}
