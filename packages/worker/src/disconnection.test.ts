import {
  type Address,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type MessageType,
  NO_RESOURCES,
  PRESETS,
} from '@goshawk/core';
import { expect, test } from 'vitest';
import { Worker } from './worker.js';

/** The configured address; CENTRAL is the actual process. */
const CONFIGURED = 50 as Address;
const [CENTRAL, SUCCESSOR, OWNER] = [1, 2, 3] as [Address, Address, Address];
const { heartbeatMs } = LIVE_TIMINGS;

/**
 * An idle worker that pulls; the test plays all other parties.
 *
 * @param holdsBack whether its driver has no connection to central
 */
function setUp(holdsBack = () => false) {
  let sent: { to: Address; type: MessageType }[] = [];
  const config = { name: 'w', self: 11 as Address, slots: 1, capacity: NO_RESOURCES };
  const worker = new Worker(
    { ...config, central: CONFIGURED, registerRetryMs: heartbeatMs },
    {
      random: () => 0.5,
      send: (to: Address, { type }: Message) => sent.push({ to, type }),
      setTimer() {},
      clearTimer() {},
      holdsBack,
      nameOf: String,
      execute() {},
      kill() {},
      pause() {},
      resume() {},
      drained() {},
    },
  );
  const policy = { ...DEFAULT_POLICY, preset: { ...PRESETS.goshawk } };
  const welcome: Message = { type: 'welcome', settings: { policy, timings: LIVE_TIMINGS } };
  worker.start(0);
  worker.receive(CENTRAL, welcome, 0);
  const noOthers = { joined: [], left: [], ownersLost: [], ownersAway: [] };
  worker.receive(CENTRAL, { type: 'peers', version: 1, since: 0, owners: [OWNER], ...noOthers }, 0);
  const take = () => {
    const taken = sent;
    sent = [];
    return taken;
  };
  take();
  return { worker, welcome, take };
}

test('a worker that loses its connection to central seeks immediately, and registers again', () => {
  const { worker, take } = setUp();
  worker.disconnected(CENTRAL, 1);
  expect(take()).toEqual([
    { to: CONFIGURED, type: 'register' },
    { to: OWNER, type: 'seek' },
  ]);
});

test('it repeats the registration with each heartbeat until it is welcomed', () => {
  const { worker, welcome, take } = setUp();
  worker.disconnected(CENTRAL, 1);
  take();
  // Central sent this before the connection broke.
  worker.receive(
    CENTRAL,
    { type: 'heartbeatAck', version: 1, ownersVersion: 0, matching: true, waiting: undefined },
    2,
  );
  worker.wake('heartbeat', 0, heartbeatMs);
  expect(take()).toEqual([{ to: CONFIGURED, type: 'register' }]);
  worker.receive(CENTRAL, welcome, heartbeatMs + 1);
  expect(take()).toEqual([{ to: CENTRAL, type: 'pull' }]);
  worker.wake('heartbeat', 0, 2 * heartbeatMs);
  expect(take()).toEqual([{ to: CENTRAL, type: 'heartbeat' }]);
});

test('it does not repeat the registration while the first one waits for a connection', () => {
  let isHeldBack = true;
  const { worker, take } = setUp(() => isHeldBack);
  worker.disconnected(CENTRAL, 1);
  expect(take()).toContainEqual({ to: CONFIGURED, type: 'register' });
  for (const heartbeat of [1, 2, 3, 4, 5, 6, 7, 8]) worker.wake('heartbeat', 0, heartbeat * heartbeatMs);
  expect(take()).toEqual([]);
  isHeldBack = false;
  worker.wake('heartbeat', 0, 9 * heartbeatMs);
  expect(take()).toEqual([{ to: CONFIGURED, type: 'register' }]);
});

test('a new central gets a full report, and a late notice about its predecessor changes nothing', () => {
  const { worker, welcome, take } = setUp();
  worker.disconnected(CENTRAL, 1);
  take();
  worker.receive(SUCCESSOR, welcome, 2);
  // Reports since the previous disconnection went to the current central.
  expect(take()).toEqual([{ to: SUCCESSOR, type: 'pull' }]);
  worker.disconnected(CENTRAL, 3);
  expect(take()).toEqual([]);
});

test('a repeated notice, a notice about another party, and one before joining change nothing', () => {
  const { worker, take } = setUp();
  worker.disconnected(OWNER, 1);
  expect(take()).toEqual([]);
  worker.disconnected(CENTRAL, 2);
  take();
  worker.disconnected(CENTRAL, 3);
  expect(take()).toEqual([]);
});
