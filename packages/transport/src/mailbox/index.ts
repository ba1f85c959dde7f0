export { movedTo } from './advertised-address.js';
export {
  DROP_REASONS,
  type DropReason,
  type MailboxCounters,
  newCounters,
  REFUSAL_REASONS,
  REJECTION_REASONS,
  type RefusalReason,
  type RejectionReason,
  type Traffic,
} from './counters.js';
export { Directory } from './directory.js';
export {
  endpointOn,
  endpointsBehind,
  isWildcard,
  parseEndpoint,
  resolveEndpoint,
} from './endpoint.js';
export * from './errors.js';
export { FrameWriter, openFrame } from './frame.js';
export type { Handler } from './frame-receiver.js';
export { type ProbeResult, probeEndpoint } from './greeting.js';
export { type DialOption, SignedIdentification } from './identification.js';
export { Incarnations } from './incarnations.js';
export { DEFAULT_LIMITS, type MailboxLimits, PARTY_INDEX_MAX } from './limits.js';
export { type MailLogger, ThrottledLog } from './log.js';
export { Mailbox, type MailboxOptions, type SendResult } from './mailbox.js';
export { type AuthFailure, describeAuthFailure } from './outbound-connection.js';
export {
  ANY_INCARNATION,
  anyIncarnationOf,
  clientEndpoint,
  incarnationOf,
  isAnyIncarnation,
  type PartyName,
  parsePartyName,
  parseProcessName,
  partyName,
  placeOf,
  processName,
} from './party-name.js';
