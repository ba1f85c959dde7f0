import { expect, test } from 'vitest';
import { MESSAGE_TYPES, MESSAGES } from './messages/table.js';
import { purposeOf, RIGHTS, type Right, rightsFor, scopeOf } from './rights.js';

const key = (...rights: Right[]) => ({ name: 'ci', rights });

test('every request but four needs a right, and other messages need none', () => {
  const free = new Set(['findSchedulers', 'describeCluster', 'listWorkers', 'unwatch']);
  for (const type of MESSAGE_TYPES) {
    const { from } = MESSAGES[type];
    const isRequest = from.some((role) => role === 'client') && !free.has(type);
    expect({ type, wants: rightsFor(type).length > 0 }).toEqual({ type, wants: isRequest });
    // Errors name what was asked, not the message.
    if (isRequest) expect(purposeOf(type)).toMatch(/^\w+ing\b/);
    expect(scopeOf(key(), type)).toBe(isRequest ? undefined : 'all');
    expect(scopeOf(key(...RIGHTS), type)).toBe('all');
  }
});

test.each([
  ['submit', 'submit', 'own'],
  ['cancelJob', 'submit', 'own'],
  ['cancelJob', 'operate', 'all'],
  ['describeJob', 'submit', undefined],
  ['describeJob', 'read-own', 'own'],
  ['listJobs', 'read-all', 'all'],
  ['drainWorker', 'submit', undefined],
  ['drainWorker', 'operate', 'all'],
  ['drainWorker', 'drain', 'all'],
  ['explainWaiting', 'drain', 'all'],
  ['explainWaiting', 'read-own', 'own'],
  ['explainLine', 'read-own', 'own'],
  ['planEnd', 'read-own', 'own'],
  ['planEnd', 'read-all', 'all'],
  ['takeOverFrom', 'drain', undefined],
  ['submit', 'drain', undefined],
  ['listJobs', 'drain', undefined],
  ['cancelJobs', 'drain', undefined],
  ['readCounters', 'read-own', undefined],
] as const)('%s with the right %s', (type, right, scope) => {
  expect(scopeOf(key(right), type)).toBe(scope);
});
