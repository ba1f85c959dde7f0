export type { MessageHandled, MessageSent } from './channels.js';
export * from './codec/index.js';
export type { Handler } from './connection/frame-receiver.js';
export { type ProbeResult, probeEndpoint } from './connection/greeting.js';
export { Mailbox, type MailboxOptions, type SendResult } from './connection/mailbox.js';
export { type AuthFailure, describeAuthFailure, isAboutKeys } from './connection/outbound-connection.js';
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
export { type HttpConnectionLimits, HttpConnections } from './defense/http-connections.js';
export { HttpTimes, NO_ROUTE, STATUS_CLASSES } from './defense/http-times.js';
export * from './errors.js';
export { FrameWriter, openFrame } from './frames/frame.js';
export { movedTo } from './identity/advertised-address.js';
export { Directory } from './identity/directory.js';
export {
  endpointOn,
  endpointsBehind,
  isWildcard,
  parseEndpoint,
  resolveEndpoint,
} from './identity/endpoint.js';
export { type DialOption, SignedIdentification } from './identity/identification.js';
export { Incarnations } from './identity/incarnations.js';
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
} from './identity/party-name.js';
export * from './keys/index.js';
export { DEFAULT_LIMITS, type MailboxLimits, PARTY_INDEX_MAX } from './limits.js';
export { type MailLogger, ThrottledLog } from './log.js';
export * from './logger.js';
export { randomName } from './random-name.js';
