import type { Address, MessageType, Millis } from '@goshawk/core';
import type { MeasuredProfile } from './profile.js';

/** Delays of the network and of the processes at its ends. Plain data, which can be passed to threads. */
export type NetworkModel = ConstantNetwork | NormalNetwork | MeasuredNetwork;

/** Every message takes the same time, as in the simulators of Sparrow and Hawk (0.5 ms; Hawk §4.1). */
interface ConstantNetwork {
  readonly kind: 'constant';
  /** Delay of one direction. */
  readonly delayMs: Millis;
}

/** A normal distribution truncated at `leastMs`. */
export interface NormalNetwork {
  readonly kind: 'normal';
  readonly meanMs: Millis;
  readonly deviationMs: Millis;
  /** At most the mean. */
  readonly leastMs: Millis;
}

/** Delays measured in a live cluster. */
interface MeasuredNetwork {
  readonly kind: 'measured';
  readonly profile: MeasuredProfile;
}

/** The random times of one simulation. */
export interface Delays {
  /** Arrival of a message sent now: no earlier than previous messages from the same sender to the same receiver. */
  arrivalAt(from: Address, to: Address, type: MessageType, now: Millis): Millis;
  /** Returns how much later than `until` a sleep task ends. */
  sleepLateMs(until: Millis): Millis;
  /**
   * Returns how much later than `at` the timers of a machine fire. All timers set for one time get one delay, so
   * that they stay in order.
   */
  timerLateMs(of: Address, at: Millis): Millis;
  /** Delay from a client's call until the job reaches its owner. */
  submissionMs(now: Millis): Millis;
  /** Delay from the end of a job at its owner until the client receives the event. */
  newsMs(now: Millis): Millis;
}

/** Facts about the simulated cluster that measured delays depend on. */
export interface ClusterOutline {
  /** Address of the first worker; the others follow it. */
  readonly firstWorker: number;
  readonly workers: number;
  /** Virtual time at which the phases of a profile begin. */
  readonly beginsAt: Millis;
}
