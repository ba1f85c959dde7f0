import type { MeasuredProfile } from '@goshawk/simulator';
import type { Driver, DriverOptions, SteppingDriver } from '../stepped/driver.js';
import { VirtualDriver } from '../stepped/virtual-driver.js';
import { RealTimeDriver, SteppingRealTimeDriver } from './real-time-driver.js';
import { FakeWorld, NodeWorld } from './world.js';

/** Lateness of a busy process. */
const LATE: MeasuredProfile = {
  schema: 'goshawk.delays/1',
  workersPerProcess: 1,
  phases: [
    {
      fromMs: 0,
      messages: [{ type: 'steal', sameProcess: false, ms: [0.1, 0.4, 2] }],
      sleepLateMs: [0.1, 0.5, 1],
      timerLateMs: [0.1, 0.5, 1],
      submissionMs: [],
      newsMs: [],
    },
  ],
};

/** Drivers that can be moved from event to event. */
export const STEPPING_DRIVERS: Readonly<Record<string, (options: DriverOptions) => SteppingDriver>> = {
  'the simulator': (options) => new VirtualDriver(options),
  'the real-time driver': (options) => new SteppingRealTimeDriver(options),
};

/** All drivers, including those that only run in real time. */
export const DRIVERS: Readonly<Record<string, (options: DriverOptions) => Driver>> = {
  ...STEPPING_DRIVERS,
  'the simulator, with message delays of 0.5 ms': (options) =>
    new VirtualDriver({ ...options, network: { kind: 'constant', delayMs: 0.5 } }),
  'the simulator, with random message delays': (options) =>
    new VirtualDriver({
      ...options,
      network: { kind: 'normal', meanMs: 0.5, deviationMs: 0.4, leastMs: 0 },
    }),
  'the simulator, with measured lateness': (options) =>
    new VirtualDriver({ ...options, network: { kind: 'measured', profile: LATE } }),
  'the real-time driver, with tasks that start late': (options) =>
    new RealTimeDriver(options, new FakeWorld(2)),
  'the real-time driver, with timers of Node.js': (options) => new RealTimeDriver(options, new NodeWorld()),
};
