/** What a modelled figure of packing runs: each of its variants is a policy. */
export interface PackingSetUp {
  readonly servers: number;
  /** J of the partition. */
  readonly j: number;
  /** What the places of the axis are: times of one run, or loads, or what arrival times are divided by. */
  readonly places: 'slots' | 'load' | 'speed';
  /** Shares of a server; undefined: the trace says. */
  readonly sizes?:
    | { readonly kind: 'uniform'; readonly low: number; readonly high: number }
    | { readonly kind: 'values'; readonly values: readonly number[]; readonly weights: readonly number[] };
  /** Tasks a slot, where the places are times. */
  readonly rate?: number;
  /** Mean service, in slots. */
  readonly slots?: number;
  readonly service?: 'geometric' | 'fixed';
  /** Length of each run, in slots. */
  readonly until?: number;
  /** The mean queue is taken from here on. */
  readonly from?: number;
}
