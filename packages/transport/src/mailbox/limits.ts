/**
 * Every bound of the mailbox, in one place.
 *
 * Nothing here is tuned for one machine: each bound says what one bad peer may cost, and the relations
 * between them are checked when a mailbox is opened.
 */
export interface MailboxLimits {
  /** Largest frame, in bytes, that is sent or accepted. One message must fit into one frame. */
  readonly frameBytesMax: number;
  /** A frame that has gathered this many bytes is closed, and a new one begun. */
  readonly frameBytesTarget: number;
  /** Most values (numbers, strings, arrays, …) in one frame; a byte of a frame can cost 64 of memory. */
  readonly frameValuesMax: number;
  /** Deepest nesting of arrays and maps in a message body. */
  readonly nestingMax: number;
  /** Most bytes that wait for one peer, outside ZeroMQ; may be exceeded by at most one message. */
  readonly peerQueueBytesMax: number;
  /** Most messages that wait for one peer, outside ZeroMQ. */
  readonly peerQueueMessagesMax: number;
  /** The same for what waits for one client, and for all of them. A client asks again for what it misses. */
  readonly replyQueueBytesMax: number;
  readonly repliesBytesMax: number;
  /** Frames that ZeroMQ holds for one connection, on each side. */
  readonly highWaterMark: number;
  /** Those that it holds for a client: answers are long, and there are many clients, who may not read. */
  readonly replyHighWaterMark: number;
  /** Messages that are handled before other work of the event loop gets its turn. */
  readonly turnMessagesMax: number;
  /** A connection over which nothing was sent for so long is closed. */
  readonly idleMs: number;
  /** First and longest pause between two attempts to connect. */
  readonly reconnectIntervalMs: number;
  readonly reconnectIntervalMaxMs: number;
  /** Interval at which the system probes a quiet connection, and the timeout after which it gives up. */
  readonly keepaliveIntervalMs: number;
  readonly keepaliveTimeoutMs: number;
  /** A connection that has not said who it is within this time is closed. */
  readonly handshakeTimeoutMs: number;
  /** One line of log about connections that were refused in this time. */
  readonly rejectionsLogIntervalMs: number;
  /** How often the host name of a peer that cannot be reached is looked up again. */
  readonly redialIntervalMs: number;
  /** A reply that finds its client's connection full is tried again after so long. */
  readonly replyRetryMs: number;
  /** How long a superseded incarnation counts as dead, regardless of what still arrives from it. */
  readonly incarnationGraceMs: number;
  /** Longest time that closing waits for queued mail, and again for what ZeroMQ holds. */
  readonly closeFlushMs: number;
  /** One line of log for each peer and cause in this time. */
  readonly logIntervalMs: number;
  /** Most parties whose names are remembered. */
  readonly partiesMax: number;
  /** Most ZeroMQ sockets of this operating-system process. With keys a connection takes three: two watch it. */
  readonly socketsMax: number;
}

const KIBI = 1024;
const MEBI = 1024 * KIBI;

export const DEFAULT_LIMITS: MailboxLimits = {
  frameBytesMax: 16 * MEBI,
  frameBytesTarget: 64 * KIBI,
  frameValuesMax: 1_000_000,
  nestingMax: 32,
  peerQueueBytesMax: 64 * MEBI,
  peerQueueMessagesMax: 250_000,
  replyQueueBytesMax: 8 * MEBI,
  repliesBytesMax: 64 * MEBI,
  highWaterMark: 64,
  replyHighWaterMark: 4,
  turnMessagesMax: 1_000,
  idleMs: 60_000,
  reconnectIntervalMs: 100,
  reconnectIntervalMaxMs: 2_000,
  keepaliveIntervalMs: 5_000,
  keepaliveTimeoutMs: 15_000,
  handshakeTimeoutMs: 10_000,
  rejectionsLogIntervalMs: 60_000,
  redialIntervalMs: 5_000,
  replyRetryMs: 5,
  incarnationGraceMs: 30_000,
  closeFlushMs: 1_000,
  logIntervalMs: 10_000,
  partiesMax: 262_144,
  socketsMax: 65_535,
};

/** Largest index of a party in its process. */
export const PARTY_INDEX_MAX = 0xffff;

/** ZeroMQ carries the name of the sending process as routing id, which has at most 255 bytes. */
export const PROCESS_NAME_BYTES_MAX = 255;

/**
 * Fills in defaults.
 *
 * @throws RangeError that names the limit and what it must be.
 */
export function completeLimits(given: Partial<MailboxLimits> = {}): MailboxLimits {
  const limits: MailboxLimits = { ...DEFAULT_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`mailbox limit ${name} must be a whole number above 0, not ${value}`);
    }
  }
  const ordered: readonly (readonly [keyof MailboxLimits, keyof MailboxLimits])[] = [
    ['frameBytesTarget', 'frameBytesMax'],
    ['frameBytesMax', 'peerQueueBytesMax'],
    ['replyQueueBytesMax', 'repliesBytesMax'],
    ['reconnectIntervalMs', 'reconnectIntervalMaxMs'],
    ['keepaliveIntervalMs', 'keepaliveTimeoutMs'],
  ];
  for (const [smaller, larger] of ordered) {
    if (limits[smaller] > limits[larger]) {
      throw new RangeError(
        `mailbox limit ${smaller} (${limits[smaller]}) must not exceed ${larger} (${limits[larger]})`,
      );
    }
  }
  return limits;
}
