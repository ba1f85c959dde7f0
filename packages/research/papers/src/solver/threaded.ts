import { Worker } from 'node:worker_threads';
import { compiledFile } from '@goshawk/executors';
import type { Program, ProgramSolution } from '@goshawk/policies';

export type SolverReply = { readonly solution: ProgramSolution } | { readonly error: string };

/** Messages from the solver thread: one when it is loaded, and a reply per program. */
export type SolverMessage = 'loaded' | SolverReply;

/** Time for a thread to start and load the solver on a busy machine. */
const LOAD_MS = 30_000;

interface Task {
  readonly program: Program;
  readonly answer: (reply: SolverReply) => void;
}

/**
 * A solver in a separate thread, which solves one program at a time. A newer program replaces one that has
 * not started. A thread that fails or exceeds its time limit is replaced.
 */
export class ThreadedSolver {
  readonly #timeoutMs: number;
  #thread: Worker | undefined;
  #isLoaded = false;
  #running: Task | undefined;
  #next: Task | undefined;
  #guard: NodeJS.Timeout | undefined;

  /** @param timeoutMs wall time limit for one program, once the solver is loaded */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** @param answer called once, unless a later program replaces this one */
  solve(program: Program, answer: (reply: SolverReply) => void): void {
    this.#next = { program, answer };
    this.#begin();
  }

  /** Stops the thread; no further answers are given. */
  close(): void {
    this.#next = undefined;
    this.#running = undefined;
    this.#end();
  }

  #begin(): void {
    if (this.#running !== undefined || this.#next === undefined) return;
    this.#running = this.#next;
    this.#next = undefined;
    this.#thread ??= this.#newThread();
    this.#allow(this.#isLoaded ? this.#timeoutMs : LOAD_MS);
    this.#thread.postMessage(this.#running.program);
  }

  /** Sets the time limit of the running program from now on. */
  #allow(ms: number): void {
    clearTimeout(this.#guard);
    this.#guard = setTimeout(() => {
      this.#end();
      this.#reply({ error: `the solver took longer than ${ms} ms` });
    }, ms);
  }

  #loaded(): void {
    this.#isLoaded = true;
    if (this.#running !== undefined) this.#allow(this.#timeoutMs);
  }

  #newThread(): Worker {
    const thread = new Worker(compiledFile('./thread.js', import.meta.url));
    // An idle solver does not keep the process alive.
    thread.unref();
    this.#isLoaded = false;
    thread.on('message', (message: SolverMessage) => {
      if (thread !== this.#thread) return;
      if (message === 'loaded') this.#loaded();
      else this.#reply(message);
    });
    const failed = (error: string) => {
      if (thread !== this.#thread) return;
      this.#thread = undefined;
      this.#reply({ error });
    };
    thread.on('error', (error) => failed(error.message));
    thread.on('exit', (code) => failed(`the solver thread exited with ${code}`));
    return thread;
  }

  #end(): void {
    clearTimeout(this.#guard);
    const thread = this.#thread;
    this.#thread = undefined;
    void thread?.terminate();
  }

  #reply(reply: SolverReply): void {
    clearTimeout(this.#guard);
    const task = this.#running;
    this.#running = undefined;
    task?.answer(reply);
    this.#begin();
  }
}
