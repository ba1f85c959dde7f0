/**
 * All limits of the mailbox.
 *
 * Each limit bounds the cost of one bad peer, and none depends on the machine. `completeLimits` checks their relations.
 */
export interface MailboxLimits {
  /** Maximum size in bytes of a sent or accepted frame. One message must fit into one frame. */
  readonly frameBytesMax: number;
  /** Size at which a frame is finished; later messages go into the next one. */
  readonly frameBytesTarget: number;
  /** Maximum number of messages in a frame. They are handled without a pause, in which others would be served. */
  readonly frameMessagesMax: number;
  /**
   * Maximum number of values (numbers, strings, arrays, …) in a frame: a value of one byte can take 64 bytes of
   * memory.
   */
  readonly frameValuesMax: number;
  /** Maximum nesting of arrays and maps in a message body. */
  readonly nestingMax: number;
  /** Maximum size in bytes of the queue for one peer, excluding ZeroMQ's. The last message may exceed it. */
  readonly peerQueueBytesMax: number;
  /** Maximum length of the queue for one peer, excluding ZeroMQ's. */
  readonly peerQueueMessagesMax: number;
  /** Maximum size of the queue for one client, and for all clients. A client repeats a request whose reply is lost. */
  readonly replyQueueBytesMax: number;
  readonly repliesBytesMax: number;
  /** Frames that ZeroMQ queues for one connection, on each side. */
  readonly highWaterMark: number;
  /** `highWaterMark` of replies to a client: replies are large, and many clients may stop reading. */
  readonly replyHighWaterMark: number;
  /** Messages handled before other work of the event loop runs. */
  readonly turnMessagesMax: number;
  /** Idle timeout of outbound connections. */
  readonly idleMs: number;
  /** First and longest delay between two attempts to connect. */
  readonly reconnectIntervalMs: number;
  readonly reconnectIntervalMaxMs: number;
  /** TCP keepalive: the probe interval of an idle connection, and the timeout. */
  readonly keepaliveIntervalMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Timeout of the handshake. */
  readonly handshakeTimeoutMs: number;
  /** Minimum interval between log lines about rejected connections. */
  readonly rejectionsLogIntervalMs: number;
  /** Interval for resolving the host name of an unreachable peer again. */
  readonly redialIntervalMs: number;
  /** Retry delay of a reply when the client's connection is full. */
  readonly replyRetryMs: number;
  /** Time for which a superseded incarnation counts as dead, even if frames from it still arrive. */
  readonly incarnationGraceMs: number;
  /** Maximum time to send queued messages on close, and again to send ZeroMQ's queue. */
  readonly closeFlushMs: number;
  /** Minimum interval between log lines for one peer and cause. */
  readonly logIntervalMs: number;
  /** Maximum number of parties in the directory. */
  readonly partiesMax: number;
  /** Maximum number of ZeroMQ sockets in this process. With keys, a connection takes three; two of them monitor it. */
  readonly socketsMax: number;
}

const KIBI = 1024;
const MEBI = 1024 * KIBI;

export const DEFAULT_LIMITS: MailboxLimits = {
  frameBytesMax: 16 * MEBI,
  frameBytesTarget: 64 * KIBI,
  frameMessagesMax: 1_000,
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

/** Maximum size of a process name: it is the routing id, which ZeroMQ limits to 255 bytes. */
export const PROCESS_NAME_BYTES_MAX = 255;

/**
 * Fills in defaults.
 *
 * @throws RangeError that names the limit and its allowed values
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
    ['frameMessagesMax', 'turnMessagesMax'],
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
