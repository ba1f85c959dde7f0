export { Isolation, type RunAs } from '@goshawk/executors';
export * from './daemons/index.js';
export { type Alarm, addWorker, type Enter, Host, type HostOptions, type Post } from './driver/index.js';
export type { TimerFired } from './driver/timers.js';
export { openHealthPort } from './http/index.js';
export { METRICS, METRICS_USERS_MAX, type MetricName, type MetricSpec } from './metrics/index.js';
export { type Spanned, spanIdOf, type Tracing, traceIdOf } from './tracing/index.js';
export { VERSION } from './version.js';
