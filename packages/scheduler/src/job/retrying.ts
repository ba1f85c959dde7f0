import { type JobSpec, LIMITS, type Millis, type Outcome, Random, type TaskIndex } from '@goshawk/core';

/** By POSIX, as far as commands end by them. */
const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
};

/** Whether the job wants what failed like this to be tried again. */
export function isWorthARetry({ retryOn }: JobSpec, { exitCode, signal }: Outcome): boolean {
  if (retryOn === undefined) return true;
  const code = signal === undefined ? exitCode : 128 + (SIGNALS[signal] ?? 0);
  return code !== undefined && retryOn.includes(code);
}

/**
 * How long a task rests that has failed so often: exponential, between half and all of it. It follows from the job and
 * the task, so that it is the same for an owner that is started again.
 */
export function restMs(
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
