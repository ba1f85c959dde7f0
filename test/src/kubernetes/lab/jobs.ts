import { check, type Lab } from './lab.js';

export interface Job {
  readonly id: string;
  readonly state: string;
  readonly tasks: { readonly total: number; readonly running: number; readonly completed: number };
  readonly attemptCounts: { readonly total: number; readonly lost: number };
}

/** Runs a job from outside of the cluster, and checks its result. @returns its id */
export async function runOneJob(lab: Lab): Promise<string> {
  lab.transcript.heading('a job');
  await lab.goshawk(['workers']);
  const words = [
    '--tasks',
    '4',
    '--cwd',
    '/tmp',
    '--wait',
    '--logs',
    '--',
    'sh',
    '-c',
    'echo $GOSHAWK_TASK on $(hostname)',
  ];
  const { exitCode, stdout } = await lab.goshawk(['submit', ...words]);
  check(exitCode === 0, 'the job did not complete');
  check(/\b3 on \S+/.test(stdout), 'its output did not arrive');
  const { jobs } = await lab.ask<{ jobs: { id: string }[] }>(['jobs', '--all']);
  check(jobs.length === 1, `the cluster has ${jobs.length} jobs instead of 1`);
  return jobs[0]!.id;
}

interface Comparison {
  readonly runs: readonly {
    readonly wallSeconds: number;
    readonly jobs: { readonly submitted: number; readonly completed: number; readonly failed: number };
    readonly tasks: { readonly submitted: number; readonly completed: number; readonly attempts: number };
  }[];
}

interface ReplaySize {
  readonly jobs: number;
  readonly seconds: number;
}

/**
 * Runs an action while a replay submits jobs, and checks that all of them complete.
 *
 * @throws Error if a job is lost or fails, or if the replay ended before the action
 */
export async function duringReplay(
  lab: Lab,
  { jobs, seconds }: ReplaySize,
  act: () => Promise<void>,
): Promise<void> {
  const words = [
    'replay',
    `google-like:jobs=${jobs},seed=7`,
    '--jobs',
    String(jobs),
    '--load',
    '0.5',
    '--for',
    `${seconds}s`,
  ];
  lab.transcript.say(`goshawk ${words.join(' ')} &`);
  const calledAt = Date.now();
  let isOver = false;
  const replay = lab.goshawk([...words, '--json', '--progress', 'none'], { shown: '' }).finally(() => {
    isOver = true;
  });
  const begun = async (): Promise<boolean> => {
    if (isOver) return true;
    const { jobs: newest } = await lab.ask<{ jobs: { submittedAt: string }[] }>(['jobs']);
    return newest.some(({ submittedAt }) => Date.parse(submittedAt) > calledAt);
  };
  await lab.until('jobs of the replay', begun);
  await act();
  const wasOver = isOver;
  const { exitCode, stdout, stderr } = await replay;
  check(exitCode === 0, `the replay failed: ${stderr.trim()}`);
  check(!wasOver, 'the replay ended before the checks did: make it longer');
  const [run] = (JSON.parse(stdout) as Comparison).runs;
  const { submitted, completed, failed } = run!.jobs;
  const { attempts, submitted: tasks } = run!.tasks;
  lab.transcript.say(
    `the replay: ${submitted} jobs submitted, ${completed} completed, ${failed} failed; ${attempts} attempts at ${tasks} tasks; ${run!.wallSeconds.toFixed(0)} s`,
  );
  check(submitted === jobs && completed === jobs, 'a job was lost');
}
