import type { Millis } from '@goshawk/core';

/** Limits of bytes that clients may leave unread: of one client, and of all. One connection of each client may exceed it. */
export interface UnreadLimits {
  readonly unreadBytesPerClientMax: number;
  readonly unreadBytesMax: number;
}

/** A connection whose client reads what this process sends. */
export interface ReadConnection {
  readonly client: string;
  /** Bytes that the client has read, and that wait for it. */
  readonly readBytes: number;
  readonly queuedBytes: number;
  /** Bytes that this process and its system may hold for the client. */
  readonly heldBytes: number;
  /** When it began to wait for its client, if that is known better than from its bytes. */
  readonly quietSince?: Millis | undefined;
  /** When the check first saw these bytes, after `read` bytes. */
  unread: { readonly since: Millis; readonly read: number; readonly bytes: number } | undefined;
  /** Closes it with a reset: otherwise the kernel keeps unread bytes. */
  destroy(): void;
}

const READ_MS: Millis = 15_000;
const READ_BYTES_PER_MS = 64;

/** Returns the time in which a client must read these bytes: a fixed one, plus what they take at the lowest rate. */
export function readTimeMs(bytes: number): Millis {
  return READ_MS + bytes / READ_BYTES_PER_MS;
}

/** Closes connections whose client does not read, and those of clients that leave too many bytes unread. */
export function closeUnread(connections: Iterable<ReadConnection>, limits: UnreadLimits, now: Millis): void {
  const byClient = new Map<string, { bytes: number; readonly connections: ReadConnection[] }>();
  let bytes = 0;
  for (const connection of connections) {
    if (isStuck(connection, now)) {
      connection.destroy();
      continue;
    }
    const { client, heldBytes } = connection;
    if (heldBytes === 0) continue;
    const own = byClient.get(client) ?? { bytes: 0, connections: [] };
    byClient.set(client, own);
    own.bytes += heldBytes;
    own.connections.push(connection);
    bytes += heldBytes;
  }
  for (const own of [...byClient.values()].sort((a, b) => b.bytes - a.bytes)) {
    const excess = Math.max(own.bytes - limits.unreadBytesPerClientMax, bytes - limits.unreadBytesMax);
    if (excess > 0) bytes -= shed(own.connections, excess);
  }
}

/** Closes all but the newest of a client's connections, the longest waiting first. @returns the bytes freed */
function shed(connections: readonly ReadConnection[], excess: number): number {
  const waiting = connections.toSorted((a, b) => waitingSince(a) - waitingSince(b));
  let freed = 0;
  for (const connection of waiting.slice(0, -1)) {
    if (freed >= excess) break;
    freed += connection.heldBytes;
    connection.destroy();
  }
  return freed;
}

function waitingSince({ quietSince, unread }: ReadConnection): Millis {
  return quietSince ?? unread?.since ?? Number.POSITIVE_INFINITY;
}

function isStuck(connection: ReadConnection, now: Millis): boolean {
  const { queuedBytes: bytes, readBytes: read, unread } = connection;
  if (bytes === 0) connection.unread = undefined;
  else if (unread === undefined || read >= unread.read + unread.bytes)
    connection.unread = { since: now, read, bytes };
  else return now - unread.since >= readTimeMs(unread.bytes);
  return false;
}
