import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { recordingLogger } from '../connection/testing.fixture.js';
import { newCounters } from '../counters.js';
import { RejectedConnections } from './rejected-connections.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('refused connections are counted each time, logged immediately, and then once per interval', () => {
  const counters = newCounters();
  const logger = recordingLogger();
  const rejected = new RejectedConnections(counters, logger, 60_000);
  const logged = () => logger.lines.map(({ fields }) => fields);
  rejected.refused('noKey');
  expect(logged()).toStrictEqual([{ attempts: 1, noKey: 1, addresses: [] }]);
  for (let i = 0; i < 1_000; i++) rejected.refused('unknownKey', `10.0.0.${i % 256}`);
  rejected.refused('malformed');
  vi.advanceTimersByTime(59_000);
  expect(logged()).toHaveLength(1);
  vi.advanceTimersByTime(1_000);
  expect(logged()).toHaveLength(2);
  expect(logged()[1]).toMatchObject({ attempts: 1_001, unknownKey: 1_000, malformed: 1 });
  expect(logged()[1]!.addresses).toHaveLength(8);
  vi.advanceTimersByTime(600_000);
  expect(logged()).toHaveLength(2);
  expect(counters.rejections).toMatchObject({ noKey: 1, unknownKey: 1_000, malformed: 1 });
});

test('connections that ended before the handshake are logged as such, not as rejections', () => {
  const logger = recordingLogger();
  const onReported = vi.fn();
  const rejected = new RejectedConnections(newCounters(), logger, 60_000, onReported);
  rejected.refused('incomplete');
  expect(logger.lines).toMatchObject([{ message: expect.stringMatching(/^connections ended before/) }]);
  expect(onReported).not.toHaveBeenCalled();
  rejected.refused('incomplete');
  rejected.refused('malformed');
  vi.advanceTimersByTime(60_000);
  expect(logger.lines[1]).toMatchObject({
    fields: { incomplete: 1, malformed: 1 },
    message: 'rejected connections from outside this cluster',
  });
  expect(onReported).toHaveBeenCalledOnce();
});

test('a closed mailbox does not log them', () => {
  const logger = recordingLogger();
  const rejected = new RejectedConnections(newCounters(), logger, 60_000);
  rejected.refused('noKey');
  rejected.refused('noKey');
  rejected.close();
  vi.advanceTimersByTime(600_000);
  expect(logger.lines).toHaveLength(1);
});
