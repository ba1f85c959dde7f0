import type { Address, MessageType, Millis } from '@goshawk/core';
import type { MeasuredProfile } from './profile.js';

/** What the network, and the processes at its ends, do to time. Plain data: a thread can be handed it. */
export type NetworkModel = ConstantNetwork | NormalNetwork | MeasuredNetwork;

/** Every message takes the same, as in the simulators of Sparrow and Hawk (0.5 ms; Hawk §4.1). */
export interface ConstantNetwork {
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

/** What a live cluster was seen to take. */
export interface MeasuredNetwork {
  readonly kind: 'measured';
  readonly profile: MeasuredProfile;
}

/** The random times of one simulation. */
export interface Delays {
  /** What a message takes, one way. */
  messageMs(from: Address, to: Address, type: MessageType): Millis;
  /** How late a task that sleeps ends. */
  sleepLateMs(): Millis;
  /** How late a machine's timers fire that are set for a time: all of them alike, so that they stay in order. */
  timerLateMs(of: Address, at: Millis): Millis;
  /** From a client's call to the job's being at its owner. */
  submissionMs(): Millis;
  /** From the end of a job at its owner to the client's knowing of it. */
  newsMs(): Millis;
}

/** The addresses of a cluster's workers, which follow each other. */
export interface WorkerRange {
  readonly first: number;
  readonly count: number;
}
