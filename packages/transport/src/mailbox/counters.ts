/** Why mail was not sent, or did not reach its party; counted in messages. */
export const DROP_REASONS = [
  /** The peer's queue is full. */
  'overflow',
  /** It did not fit into a frame. */
  'tooLarge',
  /** It had no form on the wire. */
  'unencodable',
  /** Nobody has this address. */
  'unknownAddress',
  /** It was for an incarnation that was superseded. */
  'superseded',
  /** There is no connection to the peer, and there will be none. */
  'unreachable',
  /** The mailbox was closed. */
  'closed',
  /** It arrived, but the process has no such party. */
  'noSuchParty',
] as const;

export type DropReason = (typeof DROP_REASONS)[number];

/** Why something that arrived was not even opened, or not delivered; counted in frames. */
export const REFUSAL_REASONS = [
  /** The sender does not say which process it is, or cannot prove it. */
  'unknownSender',
  /** It is larger than a frame may be. */
  'tooLarge',
  /** It is not a frame of this version of the protocol. */
  'malformed',
  /** It is for another incarnation. */
  'wrongTarget',
  /** It is from an incarnation that was superseded. */
  'oldSender',
  /** Its sender says that it lives where this process does. */
  'sameAddress',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Why a connection was refused before anything was said over it; counted in attempts. */
export const REJECTION_REASONS = [
  /** It offers no key. */
  'noKey',
  /** Its key is none of this cluster's, or of a role that has no business here. */
  'unknownKey',
  /** It does not know this process's key. */
  'wrongServerKey',
  /** It does not speak version 3 of ZeroMQ's protocol, or broke off. */
  'malformed',
] as const;

export type RejectionReason = (typeof REJECTION_REASONS)[number];

export interface Traffic {
  messages: number;
  frames: number;
  bytes: number;
}

/** A mailbox's account of itself; everything but the two gauges only grows. */
export interface MailboxCounters {
  readonly sent: Traffic;
  readonly received: Traffic;
  /** Traffic between parties of the same process, not included above. */
  readonly local: Traffic;
  readonly dropped: Record<DropReason, number>;
  readonly refused: Record<RefusalReason, number>;
  readonly rejections: Record<RejectionReason, number>;
  /** How often all connections to this process were cut, since one of them took memory without end. */
  cuts: number;
  /** Messages whose handler threw. */
  handlerErrors: number;
  /** Gauge: processes that this one has an open connection to. */
  outboundConnections: number;
  /** Gauge: connections that others have to this process. */
  inboundConnections: number;
}

export function newCounters(): MailboxCounters {
  return {
    sent: { messages: 0, frames: 0, bytes: 0 },
    received: { messages: 0, frames: 0, bytes: 0 },
    local: { messages: 0, frames: 0, bytes: 0 },
    dropped: zeroes(DROP_REASONS),
    refused: zeroes(REFUSAL_REASONS),
    rejections: zeroes(REJECTION_REASONS),
    cuts: 0,
    handlerErrors: 0,
    outboundConnections: 0,
    inboundConnections: 0,
  };
}

export function count(traffic: Traffic, frame: { messages: number; bytes: number }): void {
  traffic.messages += frame.messages;
  traffic.frames++;
  traffic.bytes += frame.bytes;
}

function zeroes<Key extends string>(keys: readonly Key[]): Record<Key, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
}
