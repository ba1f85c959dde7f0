import {
  exitCodeOfSignal,
  type JobSpec,
  LIMITS,
  type Millis,
  type Outcome,
  Random,
  type TaskIndex,
} from '@goshawk/core';

/** Whether the job retries attempts that fail with this exit code or signal. */
export function isRetryable({ retryOn }: JobSpec, { exitCode, signal }: Outcome): boolean {
  if (retryOn === undefined) return true;
  const code = signal === undefined ? exitCode : exitCodeOfSignal(signal);
  return code !== undefined && retryOn.includes(code);
}

/**
 * Back-off after this many failures: exponential, with jitter between half and the full duration. It depends only on
 * the job and the task, so it is the same after a restart of the owner.
 */
export function backoffMs(
  { retryBackoffMs, seed }: JobSpec,
  job: string,
  task: TaskIndex,
  failures: number,
): Millis {
  if (retryBackoffMs === undefined) return 0;
  const maxMs = Math.max(retryBackoffMs, LIMITS.retryBackoffMaxMs);
  const fullMs = Math.min(maxMs, retryBackoffMs * 2 ** (failures - 1));
  return fullMs * (0.5 + 0.5 * Random.seeded(`${seed ?? job} retry ${task} ${failures}`).next());
}
