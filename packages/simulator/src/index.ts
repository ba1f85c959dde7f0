export type { CounterReading } from './counter-log.js';
export { DealtSleeps, dealtByStart } from './dealt-sleeps.js';
export { estimatorFailed } from './estimator-failed.js';
export { Forecaster } from './forecast/forecaster.js';
export {
  checkProfile,
  type MeasuredMessage,
  type MeasuredPhase,
  type MeasuredProfile,
  type NetworkModel,
  PROFILE_SCHEMA,
  parseNetwork,
} from './network/index.js';
export { type SimulatedEnd, type SimulatedJob, Simulation, type SimulationOptions } from './simulation.js';
export type { Trouble } from './trouble.js';
export { type TaskMachine, VirtualCluster, type VirtualClusterOptions } from './virtual-cluster.js';
