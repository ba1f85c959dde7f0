import { InputError, MESSAGE_TYPES, type MessageType, type Millis } from '@goshawk/core';

/**
 * Measured delays of messages, sleeps and timers in a live cluster, as `bench/fidelity --save-delays` writes them:
 *
 *     { "schema": "goshawk.delays/1",
 *       "workersPerProcess": 25,
 *       "phases": [
 *         { "fromMs": 0,
 *           "messages": [ { "type": "steal", "sameProcess": true, "ms": [0.004, 0.006, …] }, … ],
 *           "sleepLateMs": [0.1, 0.4, …],
 *           "timerLateMs": [0.2, 0.7, …],
 *           "submissionMs": [0.5, 0.6, …],
 *           "newsMs": [0.2, 0.3, …] }, … ] }
 *
 * Each list is a distribution: values in ascending order, all equally likely, so that the k-th of n stands for the
 * quantiles from (k−1)/n to k/n. Means over slices of equal count preserve the measured mean. The delay of a message
 * lasts from the start of the step that sends it to the start of the step that handles it, so it includes the sender's
 * work before sending. The lists contain only messages with no other message in flight on their connection. Queueing
 * is not measured, because the simulation reproduces it: messages sent together between two processes arrive together
 * and in order.
 */
export interface MeasuredProfile {
  readonly schema: typeof PROFILE_SCHEMA;
  /** Number of workers that share a process, and so its one thread: consecutive numbers. */
  readonly workersPerProcess: number;
  /** One phase if delays are stable; more if they change with the load, or while a cluster warms up. */
  readonly phases: readonly MeasuredPhase[];
}

/** Missing or empty lists of a phase are replaced by those of all phases. */
export interface MeasuredPhase {
  /** Relative to the start of the workload; the first is 0, the last phase has no end. */
  readonly fromMs: Millis;
  /** Types without data in any phase are drawn from all messages. */
  readonly messages: readonly MeasuredMessage[];
  /** How late sleep tasks end, relative to the start of the step in which their worker received them. */
  readonly sleepLateMs: readonly Millis[];
  /** How late timers fire. */
  readonly timerLateMs: readonly Millis[];
  /** Delay from a client's call until the job reaches its owner. */
  readonly submissionMs: readonly Millis[];
  /** Delay from the step in which the owner ends a job until the client receives the event. */
  readonly newsMs: readonly Millis[];
}

export interface MeasuredMessage {
  readonly type: MessageType;
  /** Whether both workers are in one process, without a socket between them. */
  readonly sameProcess: boolean;
  readonly ms: readonly Millis[];
}

export const PROFILE_SCHEMA = 'goshawk.delays/1';

const VALUES_MAX = 100_000;

/**
 * Validates the contents of a file.
 *
 * @param what names the file in errors
 * @throws InputError with one line that describes the error and its location
 */
export function checkProfile(value: unknown, what: string): MeasuredProfile {
  const refuse = (problem: string): never => {
    throw new InputError('bad-delays', `${what}: ${problem}`, `expected measured delays, ${PROFILE_SCHEMA}`);
  };
  const profile = recordOf(value) ?? refuse('not an object');
  if (profile.schema !== PROFILE_SCHEMA) {
    refuse(`schema is ${JSON.stringify(profile.schema) ?? 'missing'}, not "${PROFILE_SCHEMA}"`);
  }
  const { workersPerProcess, phases } = profile;
  if (!Number.isSafeInteger(workersPerProcess) || (workersPerProcess as number) < 1) {
    refuse('workersPerProcess is not a whole number above 0');
  }
  if (!Array.isArray(phases) || phases.length === 0) return refuse('phases is not a list of phases');
  let before = Number.NEGATIVE_INFINITY;
  phases.forEach((phase: unknown, i) => {
    const problem = problemOfPhase(phase, before);
    if (problem !== undefined) refuse(`phases[${i}]${problem}`);
    before = (phase as MeasuredPhase).fromMs;
  });
  const checked = profile as unknown as MeasuredProfile;
  if (checked.phases[0]!.fromMs !== 0) refuse(`phases[0].fromMs is ${checked.phases[0]!.fromMs}, not 0`);
  if (checked.phases.every(({ messages }) => messages.length === 0)) refuse('no phase has messages');
  return checked;
}

function problemOfPhase(value: unknown, before: Millis): string | undefined {
  const phase = recordOf(value);
  if (phase === undefined) return ' is not an object';
  const { fromMs, messages } = phase;
  if (typeof fromMs !== 'number' || !Number.isFinite(fromMs)) return '.fromMs is not a time';
  if (fromMs <= before) return `.fromMs, ${fromMs}, is not after that of the phase before`;
  if (!Array.isArray(messages)) return '.messages is not a list';
  for (const [i, message] of messages.entries()) {
    const problem = problemOfMessage(message);
    if (problem !== undefined) return `.messages[${i}]${problem}`;
  }
  for (const name of ['sleepLateMs', 'timerLateMs', 'submissionMs', 'newsMs']) {
    const problem = problemOfDistribution(phase[name]);
    if (problem !== undefined) return `.${name} ${problem}`;
  }
  return undefined;
}

function problemOfMessage(value: unknown): string | undefined {
  const message = recordOf(value);
  if (message === undefined) return ' is not an object';
  const { type, sameProcess, ms } = message;
  if (!MESSAGE_TYPES.includes(type as MessageType))
    return `.type: no message is called ${JSON.stringify(type)}`;
  if (typeof sameProcess !== 'boolean') return '.sameProcess is neither true nor false';
  const problem = problemOfDistribution(ms);
  if (problem !== undefined) return `.ms ${problem}`;
  return (ms as unknown[]).length === 0 ? '.ms is empty' : undefined;
}

function problemOfDistribution(values: unknown): string | undefined {
  if (!Array.isArray(values)) return 'is not a list of numbers';
  if (values.length > VALUES_MAX) return `holds ${values.length} values; at most ${VALUES_MAX} are read`;
  let before = 0;
  for (const value of values as unknown[]) {
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
      return `holds ${JSON.stringify(value)}, which is not a time`;
    }
    if (value < before) return `is not in ascending order: ${value} after ${before}`;
    before = value;
  }
  return undefined;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}
