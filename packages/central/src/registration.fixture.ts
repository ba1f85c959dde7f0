import type { MessageOf } from '@goshawk/core';

/** The registration of a worker with one slot and no tasks. */
export function registration(name: string, more: Partial<MessageOf<'register'>> = {}): MessageOf<'register'> {
  return {
    type: 'register',
    name,
    slots: 1,
    capacity: {},
    draining: false,
    runs: [],
    attributes: [],
    places: undefined,
    drainDeadlineMs: undefined,
    http: undefined,
    ...more,
  };
}
