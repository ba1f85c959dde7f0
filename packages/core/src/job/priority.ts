/** Classes of importance that a job may be given. */
export const PRIORITIES = ['low', 'normal', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Factor of a job's slack, the time from its arrival to its due time; where jobs share by weight, its weight is divided by it. */
export const SLACK: Readonly<Record<Priority, number>> = { low: 8, normal: 1, high: 1 / 8 };
