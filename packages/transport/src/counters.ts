/** Reasons why a message was not sent or delivered. The comments describe that message. */
export const DROP_REASONS = [
  /** The peer's queue is full. */
  'overflow',
  /** It exceeds the size of a frame. */
  'tooLarge',
  /** It contains a value that cannot be serialized. */
  'unencodable',
  /** The address is unknown. */
  'unknownAddress',
  /** Its recipient was superseded by another incarnation. */
  'superseded',
  /** The peer cannot be connected to, now or later. */
  'unreachable',
  /** The mailbox was closed. */
  'closed',
  /** It arrived, but the process has no such party. */
  'noSuchParty',
] as const;

export type DropReason = (typeof DROP_REASONS)[number];

/** Reasons why a received frame was not decoded or not delivered. The comments describe that frame. */
export const REFUSAL_REASONS = [
  /** Its sender does not name its process, or cannot prove its identity. */
  'unknownSender',
  /** It exceeds the maximum size. */
  'tooLarge',
  /** It is not a frame. */
  'malformed',
  /** Its sender speaks another version of the protocol. */
  'otherVersion',
  /** It is addressed to another incarnation. */
  'wrongTarget',
  /** It is from a superseded incarnation. */
  'oldSender',
  /** Its sender claims the address of this process. */
  'sameAddress',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Reasons why a connection was rejected during the handshake. The comments describe the peer. */
export const REJECTION_REASONS = [
  /** It offers no key. */
  'noKey',
  /** Its key does not belong to this cluster, or its role may not connect here. */
  'unknownKey',
  /** It expects another public key of this process. */
  'wrongServerKey',
  /** It does not speak version 3 of ZeroMQ's protocol. */
  'malformed',
  /** It disconnected during the handshake, or took too long. This is no sign of an attack: busy members do so, too. */
  'incomplete',
] as const;

export type RejectionReason = (typeof REJECTION_REASONS)[number];

export interface Traffic {
  messages: number;
  frames: number;
  bytes: number;
}

/** Counters of a mailbox; all but the two gauges only increase. */
export interface MailboxCounters {
  readonly sent: Traffic;
  readonly received: Traffic;
  /** Traffic between parties of the same process, not included above. */
  readonly local: Traffic;
  readonly dropped: Record<DropReason, number>;
  readonly refused: Record<RefusalReason, number>;
  readonly rejections: Record<RejectionReason, number>;
  /** How often all inbound connections were closed because one of them used too much memory. */
  cuts: number;
  /** Messages whose handler threw. */
  handlerErrors: number;
  /** Gauge: connections that this process has made. */
  outboundConnections: number;
  /** Gauge: connections that others have made to this process. */
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

/** Counts one frame. */
export function count(traffic: Traffic, frame: { messages: number; bytes: number }): void {
  traffic.messages += frame.messages;
  traffic.frames++;
  traffic.bytes += frame.bytes;
}

function zeroes<Key extends string>(keys: readonly Key[]): Record<Key, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
}
