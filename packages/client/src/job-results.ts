import { badAnswer } from './errors.js';
import type { CallOptions } from './options.js';
import { askOwner, type Session } from './session.js';

/** What tasks have returned so far, by task; undefined where one has not, or nothing. */
export async function readValues(
  session: Session,
  id: string,
  tasks: number,
  options: CallOptions,
): Promise<unknown[]> {
  const values = new Array<unknown>(tasks).fill(undefined);
  for (let from: number | undefined = 0; from !== undefined; ) {
    const first: number = from;
    const answer = await askOwner(
      session,
      id,
      {
        what: 'for the results of a job',
        build: (request) => ({ type: 'readResults', request, id, from: first }),
      },
      options,
    );
    const page = answer.value;
    for (const { task, value } of page.values) values[task] = value;
    if (page.next !== undefined && page.next <= first) throw badAnswer(answer.whom, 'further results');
    from = page.next;
  }
  return values;
}
