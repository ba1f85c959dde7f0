import { InputError, JOB_STATES, type JobState } from '@goshawk/core';

/**
 * Parses the value of `--state`, such as `running,waiting`.
 *
 * @throws InputError
 */
export function statesIn(text: string): JobState[] {
  return text.split(',').map((part) => {
    const state = JOB_STATES.find((known) => known === part.trim());
    if (state === undefined)
      throw new InputError('bad-option', `--state: "${part}" is not one of ${JOB_STATES.join(', ')}`);
    return state;
  });
}
