import { InputError } from '../errors.js';
import type { Millis } from '../ids.js';
import { parseDuration } from '../text/durations.js';
import { DEADLINE_FILTERS, type DeadlineFilter, JOB_STATES, type JobState } from './view.js';

/** A query for jobs. Texts are patterns with `*` and `?`. */
export interface JobQuery {
  readonly states?: readonly JobState[];
  readonly userLike?: string;
  readonly name?: string;
  /** Wall clock, ms since 1970. */
  readonly since?: Millis;
  readonly id?: string;
  readonly deadline?: DeadlineFilter;
  /** Wall clock, ms since 1970. */
  readonly until?: Millis;
  readonly worker?: string;
  readonly exit?: number;
}

export const JOB_QUERY_HINT =
  'for example `name:etl* user:ann state:failed since:2h until:1h worker:w1 exit:3 deadline:risk`; a word alone is part of a name';

/** Names for groups of states. */
const STATE_GROUPS: Readonly<Record<string, readonly JobState[]>> = {
  active: ['waiting', 'running'],
  ended: ['completed', 'failed', 'cancelled'],
};

/**
 * Parses `name:etl* user:ann state:failed,running since:2h until:1h worker:w1 exit:3`. `since` excludes jobs that ended
 * earlier, and `until` those that were submitted later.
 *
 * @param now wall clock, ms since 1970
 * @throws InputError
 */
export function parseJobQuery(text: string, now: Millis): JobQuery {
  const query: { -readonly [N in keyof JobQuery]: JobQuery[N] } = {};
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    const [, key, value] = /^([a-z]+):(.*)$/.exec(word) ?? [undefined, isId(word) ? 'id' : 'word', word];
    if (value === undefined || value === '') throw badQuery(`${key}: expected a value`);
    const field = key === 'word' ? 'name' : key === 'user' ? 'userLike' : key === 'state' ? 'states' : key;
    if (field !== undefined && Object.hasOwn(query, field)) throw badQuery(`${field}: given twice`);
    if (key === 'word') query.name = `*${value}*`;
    else if (key === 'name') query.name = value;
    else if (key === 'user') query.userLike = value;
    else if (key === 'id') query.id = value;
    else if (key === 'state') query.states = value.split(',').flatMap(statesNamed);
    else if (key === 'deadline') query.deadline = deadlineNamed(value);
    else if (key === 'worker') query.worker = value;
    else if (key === 'exit') query.exit = exitCodeNamed(value);
    else if (key === 'since' || key === 'until') query[key] = Math.max(0, now - parseDuration(value, key));
    else throw badQuery(`"${key}:" is not a filter of jobs`);
  }
  return query;
}

/** Whether a word looks like a job id, such as `a1-3`. */
function isId(word: string): boolean {
  return /^[a-z0-9]+-\d+$/.test(word);
}

function deadlineNamed(name: string): DeadlineFilter {
  const filter = DEADLINE_FILTERS.find((each) => each === name);
  if (filter === undefined) throw badQuery(`deadline: expected ${DEADLINE_FILTERS.join(', ')}, got ${name}`);
  return filter;
}

function exitCodeNamed(value: string): number {
  const code = Number(value);
  if (/^\d+$/.test(value) && code >= 1 && code <= 255) return code;
  throw badQuery(`exit: expected a code from 1 to 255, got ${value}`);
}

function statesNamed(name: string): readonly JobState[] {
  const state = JOB_STATES.find((each) => each === name);
  if (state !== undefined) return [state];
  if (Object.hasOwn(STATE_GROUPS, name)) return STATE_GROUPS[name]!;
  throw badQuery(`state: expected ${[...JOB_STATES, ...Object.keys(STATE_GROUPS)].join(', ')}, got ${name}`);
}

function badQuery(message: string): InputError {
  return new InputError('bad-query', message, JOB_QUERY_HINT);
}
