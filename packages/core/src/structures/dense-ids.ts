/** Assigns small integers, starting at 0, for use as indices. The most recently released one is reused first. */
export class DenseIds {
  readonly #released: number[] = [];
  #end = 0;

  /** All ids are less than this. */
  get end(): number {
    return this.#end;
  }

  take(): number {
    return this.#released.pop() ?? this.#end++;
  }

  release(id: number): void {
    this.#released.push(id);
  }
}
