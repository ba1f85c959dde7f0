export type { Alarm } from './alarm.js';
export type { BuildMachine, Enter, Hosted, PartyOptions, Post } from './contract.js';
export { Host, type HostOptions } from './host.js';
export type { MachineCounters, MessageCounts } from './message-counters.js';
export { addWorker, type RunEnded, type WorkerEntries, type WorkerOptions } from './worker-port.js';
