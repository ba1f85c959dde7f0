import type { Address, MessageType, Millis } from '@goshawk/core';
import type { MeasuredProfile } from './profile.js';

/** Delays of the network and of the processes at its ends. Plain data, which can be passed to threads. */
export type NetworkModel = ConstantNetwork | NormalNetwork | MeasuredNetwork;

/** Every message takes the same, as in the simulators of Sparrow and Hawk (0.5 ms; Hawk §4.1). */
interface ConstantNetwork {
  readonly kind: 'constant';
  /** One way. */
  readonly delayMs: Millis;
}

/** A normal distribution without what lies below `leastMs`, of which no draw can come. */
export interface NormalNetwork {
  readonly kind: 'normal';
  readonly meanMs: Millis;
  readonly deviationMs: Millis;
  /** No more than the mean. */
  readonly leastMs: Millis;
}

/** Delays measured in a live cluster. */
interface MeasuredNetwork {
  readonly kind: 'measured';
  readonly profile: MeasuredProfile;
}

/** The random times of one simulation. */
export interface Delays {
  /** When a message arrives that is sent now: no earlier than what its sender sent its receiver before. */
  arrivalAt(from: Address, to: Address, type: MessageType, now: Millis): Millis;
  /** How late a task ends that sleeps until then. */
  sleepLateMs(until: Millis): Millis;
  /** How late a machine's timers fire that are set for a time: all of them alike, so that they stay in order. */
  timerLateMs(of: Address, at: Millis): Millis;
  /** Delay from a client's call until the job reaches its owner. */
  submissionMs(now: Millis): Millis;
  /** Delay from the end of a job at its owner until the client knows. */
  newsMs(now: Millis): Millis;
}

/** Facts about the simulated cluster that measured delays depend on. */
export interface ClusterOutline {
  /** Address of the first worker; the others follow it. */
  readonly firstWorker: number;
  readonly workers: number;
  /** The times of a profile's phases count from here. */
  readonly beginsAt: Millis;
}
