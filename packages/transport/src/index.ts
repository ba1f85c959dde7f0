export type { MessageHandled, MessageSent } from './channels.js';
export * from './codec/index.js';
export * from './keys/index.js';
export * from './logger.js';
export * from './mailbox/index.js';
export { randomName } from './random-name.js';
