import type { StageView } from '@goshawk/policies';

export type Needs = Pick<StageView, 'demand' | 'requires'>;

/** Tasks that wait: alike, and arrived together. */
export interface Group {
  /** Place in the order of arrival. Tasks keep it when they come back: refused, or lost with their server. */
  readonly sequence: number;
  /** Units of each task, 1 at least. */
  readonly size: number;
  /** Which virtual queues it is in, where servers differ. */
  readonly family: number;
  readonly needs: Needs;
  /** Tasks that wait. The packer counts them down. */
  count: number;
}
