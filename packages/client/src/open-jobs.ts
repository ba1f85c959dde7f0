import { createHash } from 'node:crypto';
import type { MessageOf } from '@goshawk/core';
import type { CallOptions } from './options.js';
import { askOwner, type Session } from './session.js';

/** Tasks for an open job. If empty, the reply only reports its state. */
export type Appending = Omit<MessageOf<'appendTasks'>, 'type' | 'request' | 'id'>;

/** State of an open job. */
export type Appended = MessageOf<'appended'>['value'];

/**
 * Appends tasks to an open job, or closes it. Idempotent.
 *
 * @throws InputError `not-open` for a closed job, `append-conflict` if it has other tasks at these indices, and for invalid tasks
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
      build: (request) => ({ type: 'appendTasks', request, id, ...tasks, digest: digestOf(tasks) }),
    },
    options,
  );
  return answer.value;
}

/** The given digest, or one of these tasks alone: otherwise other tasks at the same indices would pass for a repetition. */
function digestOf({ first, common, each, digest }: Appending): string {
  if (digest !== '' || !Array.isArray(each) || each.length === 0) return digest;
  return createHash('sha256')
    .update(JSON.stringify([first, common, each]))
    .digest('hex');
}
