export { Codec, DecodeError, EncodeError, wireFormat } from './codec/index.js';
export * from './daemons/index.js';
export type { MessageHandled, MessageSent, SleepEnded, TimerFired } from './diagnostics/channels.js';
export {
  type Alarm,
  addWorker,
  type Enter,
  Host,
  type HostOptions,
  type Logger,
  type Post,
  SILENT_LOGGER,
} from './driver/index.js';
export {
  type Executor,
  type Outcome as RunOutcome,
  type Run,
  type RunOrder,
  type RunSink,
  SleepExecutor,
} from './executors/index.js';
export {
  type ClusterKeys,
  checkOwner,
  generateKeys,
  type KeyFile,
  type KeyRing,
  type KeySource,
  keyFileName,
  keyRing,
  keysIn,
  type RotationStep,
  readKeyFolder,
  readKeys,
  rotate,
  writeKeyFolder,
} from './keys/index.js';
export * from './mailbox/index.js';
export { METRICS, type MetricName, type MetricSpec } from './metrics/index.js';
export { loadSolver, type Solver } from './solver/highs.js';
export { type SolverReply, ThreadedSolver } from './solver/threaded.js';
