export {
  DROP_REASONS,
  type DropReason,
  type MailboxCounters,
  REFUSAL_REASONS,
  type RefusalReason,
  type Traffic,
} from './counters.js';
export { Directory } from './directory.js';
export type { Handler } from './door.js';
export { resolveEndpoint } from './endpoint.js';
export * from './errors.js';
export { FrameWriter, openFrame } from './frame.js';
export { DEFAULT_LIMITS, type MailboxLimits, PARTY_INDEX_MAX } from './limits.js';
export type { Logger } from './log.js';
export { Mailbox, type MailboxOptions, type SendResult } from './mailbox.js';
export { ANY_INCARNATION, type PartyName, parsePartyName, partyName, processName } from './party-name.js';
