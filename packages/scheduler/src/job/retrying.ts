import {
  exitCodeOfSignal,
  type JobSpec,
  LIMITS,
  type Millis,
  type Outcome,
  Random,
  type TaskIndex,
} from '@goshawk/core';

/** Whether the job retries this kind of failure. */
export function isRetryable({ retryOn }: JobSpec, { exitCode, signal }: Outcome): boolean {
  if (retryOn === undefined) return true;
  const code = signal === undefined ? exitCode : exitCodeOfSignal(signal);
  return code !== undefined && retryOn.includes(code);
}

/**
 * Back-off after this many failures: exponential, with jitter between half and all of it. It is a function of the job
 * and the task, so it is the same after a restart of the owner.
 */
export function backoffMs(
  { retryBackoffMs, seed }: JobSpec,
  job: string,
  task: TaskIndex,
  failures: number,
): Millis {
  if (retryBackoffMs === undefined) return 0;
  const mostMs = Math.max(retryBackoffMs, LIMITS.retryBackoffMaxMs);
  const fullMs = Math.min(mostMs, retryBackoffMs * 2 ** (failures - 1));
  return fullMs * (0.5 + 0.5 * Random.seeded(`${seed ?? job} retry ${task} ${failures}`).next());
}
