export { METRICS, METRICS_USERS_MAX, type MetricName, type MetricSpec } from './catalogue.js';
export { centralReadings } from './central.js';
export { exposition, type Readings } from './exposition.js';
export { type CommonSources, commonReadings, descriptorReadings, processReadings } from './process.js';
export { journalReadings, schedulerReadings } from './scheduler.js';
export { combineReadings, counted } from './together.js';
export { userReadings } from './users.js';
export { RunTallies, workerReadings } from './worker.js';
