export type { Alarm } from './alarm.js';
export type { Enter, Hosted, Post } from './contract.js';
export { Host, type HostOptions } from './host.js';
export { addWorker } from './worker-port.js';
