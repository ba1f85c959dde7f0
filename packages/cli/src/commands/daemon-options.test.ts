import { LOG_LEVELS } from '@goshawk/runtime';
import { expect, it } from 'vitest';
import { DAEMON_OPTIONS } from './daemon-options.js';

it('the levels of logging are those of the runtime', () => {
  expect(DAEMON_OPTIONS.logLevel.choices).toEqual(LOG_LEVELS);
});
