import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IdleConnections, type Millis } from '@goshawk/core';
import type { Router } from 'zeromq';
import { claimedKey, isClientEndpoint, type ProcessName, parseProcessName } from '../identity/party-name.js';
import type { MailboxLimits } from '../limits.js';
import { type InboundSocket, RouterSocket, type SocketReader } from '../sockets/router-socket.js';
import { closeUnread, type ReadConnection } from './unread-connections.js';
import { sendQueues } from './unread-replies.js';
import { ZmtpFrames } from './zmtp-frames.js';

/**
 * Limits for unread data on a connection: the number of frames, and their total size as a multiple of the maximum
 * frame.
 */
const UNREAD_FRAMES_MAX = 64;
const UNREAD_LARGEST_MAX = 3;
/** Check interval. If nothing could be read in two intervals, the unread data is one multipart message. */
const CHECK_MS: Millis = 1_000;
/**
 * Maximum numbers of connections of clients: of one key (without one, of one address), and of all, those that have sent
 * nothing included. The one that was silent longest is closed first.
 */
const PER_CLIENT_MAX = 512;
const CLIENTS_MAX = 1_024;
/** The routing id, and a frame. */
const WHOLE_PARTS = 2;

/** Maximum length of the temporary folder's path: the system limits Unix socket paths to about 100 bytes. */
const PATH_BYTES_MAX = 80;

/** Whether Unix sockets are available. */
export const CAN_PROXY = process.platform !== 'win32';

/** Creates a private folder for the sockets behind the proxy; undefined if that is impossible. */
export function proxyFolder(): string | undefined {
  if (!CAN_PROXY || Buffer.byteLength(tmpdir()) > PATH_BYTES_MAX) return undefined;
  try {
    return mkdtempSync(join(tmpdir(), 'goshawk-'));
  } catch {
    return undefined;
  }
}

interface MultipartProxyOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: MailboxLimits;
  /** Private folder for the inner sockets; deleted with the proxy. */
  readonly folder: string;
  /** Opens a socket that does not listen. @throws if no more are available */
  readonly open: () => Router;
}

/**
 * Proxies connections once a peer has sent a multipart message, which ZeroMQ buffers without limit. It closes a
 * connection at the second part of a message. If encryption hides parts, it closes a connection when too much data has
 * passed that could not be read as messages. Each connection has its own socket, so that its reads can be counted.
 * It also closes connections whose client does not read, or whose client has too many of them.
 * Proxying takes a tenth of the CPU time of a cluster with tiny tasks, so it is used only after an attack.
 */
export class MultipartProxy implements InboundSocket {
  readonly #options: MultipartProxyOptions;
  readonly #server: Server;
  readonly #connections = new Set<ProxiedConnection>();
  /** Peers that have sent something, by routing id. */
  readonly #peers = new Map<string, ProxiedConnection>();
  /** Connections of clients, and those that have sent nothing. */
  readonly #silent = new IdleConnections<ProxiedConnection>(CLIENTS_MAX);
  readonly #silentOf = new Map<string, IdleConnections<ProxiedConnection>>();
  readonly #checkTimer: NodeJS.Timeout;
  #admitted = 0;
  readonly #reader: Promise<SocketReader>;
  #resolveReader: (reader: SocketReader) => void = () => {};
  #isClosed = false;

  /** @throws while another process has the endpoint */
  static async open(options: MultipartProxyOptions): Promise<MultipartProxy> {
    const proxy = new MultipartProxy(options);
    try {
      proxy.#server.listen(options.port, options.host);
      await once(proxy.#server, 'listening');
      return proxy;
    } catch (error) {
      proxy.#removeFolder();
      throw error;
    }
  }

  private constructor(options: MultipartProxyOptions) {
    this.#options = options;
    this.#checkTimer = setInterval(() => this.#check(), CHECK_MS).unref();
    this.#reader = new Promise((resolve) => {
      this.#resolveReader = resolve;
    });
    const keepAlive = { keepAlive: true, keepAliveInitialDelay: options.limits.keepaliveIntervalMs };
    this.#server = createServer({ noDelay: true, ...keepAlive }, (outer) => void this.#admit(outer));
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  async send(routingId: string, frame: Buffer): Promise<void> {
    const connection = this.#peers.get(routingId);
    if (connection === undefined)
      throw Object.assign(new Error('the peer is gone'), { code: 'EHOSTUNREACH' });
    await connection.socket.send(routingId, frame);
    connection.sent(frame.length);
  }

  close(lingerMs = 0): void {
    this.#isClosed = true;
    clearInterval(this.#checkTimer);
    this.#server.close();
    for (const { socket } of this.#connections) socket.close(lingerMs);
  }

  async serve(reader: SocketReader): Promise<void> {
    this.#resolveReader(reader);
    this.#server.on('error', ({ message }) => reader.log.warn('', 'guard', `cannot accept: ${message}`));
    await once(this.#server, 'close');
    await Promise.all([...this.#connections].map(({ freed }) => freed));
    this.#removeFolder();
  }

  #check(): void {
    const { limits, port } = this.#options;
    const queues = sendQueues(port);
    const byPort = new Map([...(queues ?? [])].map(([peer, bytes]) => [peer.slice(-4), bytes]));
    for (const connection of this.#connections) connection.kernelBytes = byPort.get(connection.peerPort) ?? 0;
    const { replyQueueBytesMax, repliesBytesMax } = limits;
    const unread = { unreadBytesPerClientMax: replyQueueBytesMax, unreadBytesMax: repliesBytesMax };
    const now = performance.now();
    closeUnread(this.#connections, unread, now);
    this.#silent.trim(now);
    for (const silent of this.#silentOf.values()) silent.trim(now);
  }

  /** Records a message of a client, or of a peer that is not identified yet. */
  #heard(connection: ProxiedConnection): void {
    const now = performance.now();
    const { client } = connection;
    const own = this.#silentOf.get(client) ?? new IdleConnections<ProxiedConnection>(PER_CLIENT_MAX);
    this.#silentOf.set(client, own);
    own.add(connection, now);
    this.#silent.add(connection, now);
  }

  #forget(connection: ProxiedConnection): void {
    const own = this.#silentOf.get(connection.client);
    own?.delete(connection);
    if (own?.size === 0) this.#silentOf.delete(connection.client);
    this.#silent.delete(connection);
  }

  #removeFolder(): void {
    try {
      rmSync(this.#options.folder, { recursive: true, force: true });
    } catch {
      // A disk that has become read-only keeps an empty folder.
    }
  }

  async #admit(outer: Socket): Promise<void> {
    const address = outer.remoteAddress ?? '';
    outer.on('error', () => {}).pause();
    const reader = await this.#reader;
    const { limits, open } = this.#options;
    let router: Router | undefined;
    try {
      router = open();
      const path = join(this.#options.folder, `${++this.#admitted}`);
      await router.bind(`ipc://${path}`);
      if (this.#isClosed || outer.destroyed) throw new Error('it has gone');
      const connection: ProxiedConnection = new ProxiedConnection(
        outer,
        { path, router, reader, limits },
        {
          onIdentified: (routingId) => this.#peers.set(routingId, connection),
          onHeard: (sender) => {
            const isClient = isClientEndpoint(sender.endpoint);
            const client = (isClient && claimedKey(sender)) || address;
            if (!isClient || client !== connection.client) this.#forget(connection);
            connection.client = client;
            if (isClient) this.#heard(connection);
          },
          onGone: (routingId) => {
            this.#connections.delete(connection);
            this.#forget(connection);
            if (this.#peers.get(routingId) === connection) this.#peers.delete(routingId);
          },
          onParts: () => {
            reader.counters.refused.malformed++;
            reader.log.warn(address, 'parts', `cut the connection of ${address}: a frame has one part`);
          },
          onForeign: () => reader.rejected.refused('malformed', address),
        },
      );
      this.#connections.add(connection);
      this.#silent.add(connection, performance.now());
    } catch (error) {
      reader.log.warn(address, 'guard', `cannot admit ${address}: ${(error as Error).message}`);
      router?.close();
      outer.destroy();
    }
  }
}

interface ConnectionListener {
  onIdentified(routingId: string): void;
  /** The peer has sent a valid frame. */
  onHeard(sender: ProcessName): void;
  /** @param routingId empty if the peer sent nothing */
  onGone(routingId: string): void;
  onParts(): void;
  onForeign(): void;
}

/** The ZeroMQ side of a proxied connection. */
interface InnerSocket {
  /** Path of the Unix socket on which the router listens. */
  readonly path: string;
  readonly router: Router;
  readonly reader: SocketReader;
  readonly limits: MailboxLimits;
}

/** One proxied connection: `outer` leads to the peer, `inner` to a dedicated ZeroMQ socket. */
class ProxiedConnection implements ReadConnection {
  /** Its key, or its address until that is known. */
  client: string;
  /** Port of the peer in the system's notation. */
  readonly peerPort: string;
  /** Bytes that the system has not delivered. */
  kernelBytes = 0;
  unread: ReadConnection['unread'];
  /** Bytes of replies that ZeroMQ has not forwarded. */
  #backlog = 0;
  readonly socket: RouterSocket;
  readonly freed: Promise<void>;
  readonly #outer: Socket;
  readonly #inner: Socket;
  readonly #limits: MailboxLimits;
  readonly #listener: ConnectionListener;
  readonly #frames = new ZmtpFrames();
  readonly #reading = { isIdle: false };
  #routingId = '';
  #reads = 0;
  #checkTimer: NodeJS.Timeout | undefined;
  #unreadTimer: NodeJS.Timeout | undefined;

  constructor(outer: Socket, { path, router, reader, limits }: InnerSocket, listener: ConnectionListener) {
    this.#outer = outer;
    this.client = outer.remoteAddress ?? '';
    this.peerPort = (outer.remotePort ?? 0).toString(16).toUpperCase().padStart(4, '0');
    this.#limits = limits;
    this.#listener = listener;
    this.socket = new RouterSocket(router);
    this.freed = this.socket.serve({
      ...reader,
      reading: this.#reading,
      receiver: (parts) => {
        this.#read(parts);
        const messages = reader.receiver(parts);
        if (messages > 0) this.#heard();
        return messages;
      },
    });
    this.#inner = dial(path);
    this.#inner.on('error', () => {});
    this.#join();
  }

  get queuedBytes(): number {
    return this.#backlog + this.#outer.writableLength + this.kernelBytes;
  }

  get heldBytes(): number {
    return this.queuedBytes;
  }

  get readBytes(): number {
    return this.#outer.bytesWritten - this.#outer.writableLength - this.kernelBytes;
  }

  sent(bytes: number): void {
    this.#backlog += bytes;
  }

  destroy(): void {
    this.#outer.resetAndDestroy();
    this.#end();
  }

  #heard(): void {
    const sender = parseProcessName(this.#routingId.split('#', 1)[0]!);
    if (sender !== undefined) this.#listener.onHeard(sender);
  }

  #join(): void {
    const [outer, inner] = [this.#outer, this.#inner];
    outer.on('data', (chunk) => this.#forward(chunk));
    inner.on('drain', () => this.#resume());
    inner.on('data', (chunk) => {
      this.#backlog = Math.max(0, this.#backlog - chunk.length);
      if (outer.write(chunk)) return;
      inner.pause();
      this.#unreadTimer = setTimeout(() => this.#end(), this.#limits.keepaliveTimeoutMs).unref();
    });
    outer.on('drain', () => {
      clearTimeout(this.#unreadTimer);
      inner.resume();
    });
    outer.on('close', () => {
      inner.end();
      // Leaves time to read the last messages.
      setTimeout(() => this.#end(), CHECK_MS).unref();
    });
    inner.on('close', () => {
      outer.destroySoon();
      outer.setTimeout(this.#limits.closeFlushMs, () => outer.destroy());
    });
    outer.resume();
  }

  #forward(chunk: Buffer): void {
    const verdict = this.#frames.take(chunk);
    if (verdict === 'passes') {
      if (!this.#inner.write(chunk) || this.#isFull) this.#outer.pause();
      if (this.#isFull) this.#checkLater(this.#reads, false);
      return;
    }
    if (verdict === 'has parts') this.#listener.onParts();
    else this.#listener.onForeign();
    this.#end();
  }

  get #isFull(): boolean {
    const { unread, unreadBytes } = this.#frames;
    return unread >= UNREAD_FRAMES_MAX || unreadBytes >= UNREAD_LARGEST_MAX * this.#limits.frameBytesMax;
  }

  #resume(): void {
    if (!this.#isFull && !this.#inner.writableNeedDrain) this.#outer.resume();
  }

  #read([routingId, ...rest]: readonly Buffer[]): void {
    if (this.#reads === 0 && routingId !== undefined) {
      this.#routingId = routingId.toString();
      this.#listener.onIdentified(this.#routingId);
    }
    this.#reads++;
    for (const _ of rest) this.#frames.read();
    if (rest.length >= WHOLE_PARTS) {
      this.#listener.onParts();
      this.#end();
    } else {
      this.#resume();
    }
  }

  #checkLater(reads: number, isSuspect: boolean): void {
    this.#checkTimer ??= setTimeout(() => {
      this.#checkTimer = undefined;
      if (!this.#isFull || this.#outer.destroyed) return;
      const isStuck = this.#reading.isIdle && this.#reads === reads;
      if (!isStuck || !isSuspect) return this.#checkLater(this.#reads, isStuck);
      this.#listener.onParts();
      this.#end();
    }, CHECK_MS).unref();
  }

  #end(): void {
    clearTimeout(this.#checkTimer);
    clearTimeout(this.#unreadTimer);
    this.#outer.destroy();
    this.#inner.destroy();
    this.socket.close();
    this.#listener.onGone(this.#routingId);
  }
}
