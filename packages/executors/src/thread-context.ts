import { readFileSync } from 'node:fs';
import type { AttemptNumber, KillReason, TaskContext } from '@goshawk/core';

/** Interval (ms) between progress lines. */
const PROGRESS_MS = 1_000;

/** Context of a task, the second argument of a module's function. */
export class ThreadContext implements TaskContext<AbortSignal> {
  readonly job: string;
  readonly index: number;
  readonly attempt: AttemptNumber;
  readonly gpus: readonly string[];
  readonly #inputs: string | undefined;
  readonly #listens: () => void;
  readonly #abort = new AbortController();
  #isListening = false;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** @param listens reports that the run observes its signal, so that its thread ends only after the grace period */
  constructor(env: Readonly<Record<string, string>>, listens: () => void) {
    const { GOSHAWK_JOB = '', GOSHAWK_TASK = '0', GOSHAWK_ATTEMPT = '1', GOSHAWK_GPUS = '' } = env;
    this.job = GOSHAWK_JOB;
    this.index = Number(GOSHAWK_TASK);
    this.attempt = Number(GOSHAWK_ATTEMPT);
    this.gpus = GOSHAWK_GPUS === '' ? [] : GOSHAWK_GPUS.split(',');
    this.#inputs = env.GOSHAWK_INPUTS;
    this.#listens = listens;
  }

  results(stage: string): readonly unknown[] {
    const text = this.#inputs === undefined ? '' : readFileSync(this.#inputs, 'utf8');
    const lines = text.split('\n').filter((line) => line !== '');
    const inputs = lines.map((line) => JSON.parse(line) as { stage: string; value: unknown });
    const values = inputs.filter((input) => input.stage === stage).map(({ value }) => value);
    if (values.length > 0) return values;
    throw new Error(`no results of "${stage}": the stage of this task does not list it in "inputs"`);
  }

  get signal(): AbortSignal {
    if (!this.#isListening) this.#listens();
    this.#isListening = true;
    return this.#abort.signal;
  }

  readonly log = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };

  readonly progress = (done: number, total: number): void => {
    const now = performance.now();
    if (done < total && now - this.#reportedAt < PROGRESS_MS) return;
    this.#reportedAt = now;
    process.stderr.write(`${done} of ${total} (${total > 0 ? Math.floor((100 * done) / total) : 100}%)\n`);
  };

  kill(reason: KillReason): void {
    this.#abort.abort(new Error(`the task was stopped: ${reason}`));
  }
}
