/** The time of one run, without its pauses. A run that is paused before it begins stays paused when it begins. */
export class RunClock {
  #startedAt: number | undefined;
  #pausedAt: number | undefined;
  #pausedMs = 0;

  get hasStarted(): boolean {
    return this.#startedAt !== undefined;
  }

  get isPaused(): boolean {
    return this.#pausedAt !== undefined;
  }

  start(): void {
    if (this.#startedAt !== undefined) return;
    this.#startedAt = performance.now();
    if (this.#pausedAt !== undefined) this.#pausedAt = this.#startedAt;
  }

  /** Returns false if it was paused already. */
  pause(): boolean {
    if (this.#pausedAt !== undefined) return false;
    this.#pausedAt = performance.now();
    return true;
  }

  /** Returns false if it was not paused. */
  resume(): boolean {
    if (this.#pausedAt === undefined) return false;
    if (this.#startedAt !== undefined) this.#pausedMs += performance.now() - this.#pausedAt;
    this.#pausedAt = undefined;
    return true;
  }

  /** Total of the pauses so far, in ms. */
  get pausedMs(): number {
    const current =
      this.#startedAt === undefined || this.#pausedAt === undefined ? 0 : performance.now() - this.#pausedAt;
    return this.#pausedMs + current;
  }

  /** Time since the start without pauses, in ms; 0 before the start. */
  get runMs(): number {
    return this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt - this.pausedMs;
  }
}
