import type { MessageOf } from '@goshawk/core';
import type { CallOptions } from './options.js';
import { askOwner, type Session } from './session.js';

/** Tasks for an open job. With none, the answer says what it has. */
export type Appending = Omit<MessageOf<'appendTasks'>, 'type' | 'request' | 'id'>;

/** State of an open job. */
export type Appended = MessageOf<'appended'>['value'];

/**
 * Appends tasks to an open job, or closes it. The same tasks a second time change nothing.
 *
 * @throws InputError `not-open` for a job that takes no more, `append-conflict` where it has other tasks there, and for tasks that are none
 */
export async function appendTasks(
  session: Session,
  id: string,
  tasks: Appending,
  options: CallOptions,
): Promise<Appended> {
  const answer = await askOwner(
    session,
    id,
    {
      what: 'to append tasks to a job',
      build: (request) => ({ type: 'appendTasks', request, id, ...tasks }),
    },
    options,
  );
  return answer.value;
}
