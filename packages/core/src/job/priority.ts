/** Priorities of jobs. */
export const PRIORITIES = ['low', 'normal', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

/**
 * Factor of a job's slack, the time from its arrival to its due time. Policies that share by weight divide
 * the weight by it.
 */
export const SLACK: Readonly<Record<Priority, number>> = { low: 8, normal: 1, high: 1 / 8 };
