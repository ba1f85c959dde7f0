import { execFile } from 'node:child_process';
import { InputError, shellWord, UnreachableError } from '@goshawk/core';
import type { Member, Pool } from './scaler.js';

interface AllocationsOptions {
  /** Name of the Slurm jobs, and prefix of their workers' names. */
  readonly name: string;
  /** CPUs per allocation. */
  readonly cpus: number;
  /** Command line of a worker, `goshawk worker …`, without name and CPUs. */
  readonly worker: readonly string[];
  /** Further arguments of `sbatch`. */
  readonly sbatch: readonly string[];
  /** Environment of Slurm commands, which `sbatch` passes to the workers. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface Allocation extends Member {
  readonly job: string;
}

/** Timeout of a Slurm command, in ms. */
const COMMAND_TIMEOUT_MS = 60_000;
/**
 * How long before the end of an allocation Slurm sends SIGTERM to its worker, in seconds. The worker then drains; tasks
 * that have not ended 30 s before the end of the allocation restart on other workers.
 */
const WARNING_SECONDS = 300;

/** Pool of Slurm allocations, each a batch job that runs one worker. */
export class AllocationPool implements Pool {
  readonly name: string;
  readonly lastLeavesFirst = false;
  readonly #options: AllocationsOptions;
  #known: readonly Allocation[] = [];

  constructor(options: AllocationsOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async members(signal: AbortSignal): Promise<readonly Member[]> {
    const listed = await this.#run(
      'squeue',
      ['--me', '--noheader', '--name', this.name, '--format', '%i %T'],
      signal,
    );
    this.#known = listed
      .split('\n')
      .map((line) => line.trim().split(' '))
      // A job in state COMPLETING has ended.
      .filter(([job, state = '']) => job && /^(PENDING|CONFIGURING|RUNNING|SUSPENDED|REQUEUED)$/.test(state))
      .map(([job = '', state]) => this.#allocation(job, state === 'PENDING'));
    return this.#known;
  }

  async start(count: number, signal: AbortSignal): Promise<readonly Member[]> {
    const started: Member[] = [];
    try {
      for (let i = 0; i < count; i++) {
        const printed = await this.#run('sbatch', this.#arguments(), signal, this.script());
        started.push(this.#allocation(printed.trim().split(';')[0]!, true));
      }
    } catch (error) {
      // Slurm may limit the number of jobs of a user. The next check asks for the rest, and reports the problem.
      if (started.length === 0) throw error;
    }
    return started;
  }

  async end(members: readonly Member[], signal: AbortSignal): Promise<void> {
    const jobs = (endsUnjoined: boolean) =>
      this.#known
        .filter(({ name }) =>
          members.some((member) => member.name === name && member.endsUnjoined === endsUnjoined),
        )
        .map(({ job }) => job);
    const [pending, drained] = [jobs(true), jobs(false)];
    // An allocation that starts at this very moment is not cancelled; it is drained later.
    if (pending.length > 0) await this.#run('scancel', ['--state=PENDING', ...pending], signal);
    // The batch process is the worker: after SIGTERM it leaves the cluster and exits.
    if (drained.length > 0) await this.#run('scancel', ['--batch', '--signal=TERM', ...drained], signal);
  }

  /** Returns the batch script of an allocation. */
  script(): string {
    const { worker, cpus, name } = this.#options;
    const memory = `\${SLURM_MEM_PER_NODE:+--resources memory=\${SLURM_MEM_PER_NODE}MiB}`;
    const timeout = `--drain-timeout ${WARNING_SECONDS - 30}s`;
    return `#!/bin/sh\nexec ${worker.map(shellWord).join(' ')} --name ${name}-$SLURM_JOB_ID --cpus ${cpus} ${timeout} ${memory}\n`;
  }

  /**
   * Runs a Slurm command.
   *
   * @returns the stdout of the command
   * @throws InputError if the command is not installed
   */
  #run(command: string, args: readonly string[], signal: AbortSignal, input = ''): Promise<string> {
    // Variables of these commands are defaults for options; SQUEUE_STATES, for example, would hide pending allocations.
    const env = Object.fromEntries(
      Object.entries(this.#options.environment).filter(([name]) => !/^(SQUEUE|SCANCEL)_/.test(name)),
    );
    return new Promise((resolve, reject) => {
      const child = execFile(
        command,
        args,
        { env, signal, timeout: COMMAND_TIMEOUT_MS },
        (error, stdout, stderr) => {
          if (error === null) return resolve(stdout);
          if (signal.aborted) return reject(signal.reason);
          if (error.code === ('ENOENT' as unknown)) {
            const hint = 'run this on a machine with the Slurm commands, such as a login node';
            return reject(
              new InputError('no-slurm', `${command} is not installed on this machine`, hint, {
                cause: error,
              }),
            );
          }
          const reported = stderr
            .split('\n')
            .map((line) => line.replace(/^\w+: (error: )?/, '').trim())
            .filter((line) => line !== '')
            .join(', ');
          const why = error.killed
            ? `no response for ${COMMAND_TIMEOUT_MS / 1_000} s`
            : reported || error.message;
          reject(new UnreachableError('slurm', `${command} failed: ${why}`, '', { cause: error }));
        },
      );
      // The process may exit before it reads its stdin.
      child.stdin?.on('error', () => {});
      child.stdin?.end(input);
    });
  }

  #arguments(): string[] {
    const { name, cpus, sbatch } = this.#options;
    return [
      '--parsable',
      `--job-name=${name}`,
      '--nodes=1',
      '--ntasks=1',
      `--cpus-per-task=${cpus}`,
      '--no-requeue',
      `--signal=B:TERM@${WARNING_SECONDS}`,
      `--output=${name}-%j.log`,
      ...sbatch,
    ];
  }

  #allocation(job: string, endsUnjoined: boolean): Allocation {
    return { job, name: `${this.name}-${job}`, endsUnjoined };
  }
}
