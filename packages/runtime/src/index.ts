export { Codec, DecodeError, EncodeError, wireFormat } from './codec/index.js';
export * from './daemons/index.js';
export type { MessageHandled, MessageSent, SleepEnded, TimerFired } from './diagnostics/channels.js';
export { Host, type HostOptions, type Logger, SILENT_LOGGER } from './driver/index.js';
export * from './mailbox/index.js';
