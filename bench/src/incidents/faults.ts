import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { PROTOCOL_VERSION } from '@goshawk/core';
import { freePort } from '@goshawk/journal/testing';
import type { How, IncidentCluster } from './site.js';

/** A connection through a path: the client's socket and the one to the endpoint. */
interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  cut: boolean;
}

/** A network path to an endpoint. While it is cut, connections stay open but transfer nothing. */
export class TcpProxy {
  readonly url: string;
  /** The port behind it. */
  readonly port: number;
  readonly #pairs = new Set<Pair>();
  #isCut: (near: Socket) => boolean = () => false;

  private constructor(url: string, port: number) {
    this.url = url;
    this.port = port;
  }

  /** Options of a process that is reachable through this path only. */
  get options(): string[] {
    return ['--bind', `tcp://127.0.0.1:${this.port}`, '--advertise', this.url];
  }

  static async lay(site: IncidentCluster): Promise<TcpProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const cable = new TcpProxy(`tcp://127.0.0.1:${port}`, await freePort());
    server.on('connection', (near) => cable.#join(near));
    site.finally(() => {
      server.close();
      cable.#drop();
    });
    return cable;
  }

  #join(near: Socket): void {
    const pair: Pair = { near, far: dial(this.port, '127.0.0.1'), cut: false };
    this.#pairs.add(pair);
    for (const [from, to] of [[near, pair.far] as const, [pair.far, near] as const]) {
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => {});
      from.on('close', () => {
        if (!pair.cut) to.destroy();
      });
    }
    this.#apply(pair);
  }

  #apply(pair: Pair): void {
    pair.cut = this.#isCut(pair.near);
    if (pair.cut) for (const socket of [pair.near, pair.far]) socket.pause();
  }

  /** @param from process whose connections are cut; default: all */
  cut(from?: number): void {
    this.#isCut = (near) => from === undefined || isFrom(from, near);
    for (const pair of this.#pairs) this.#apply(pair);
  }

  /** Lets new connections through, and ends those that were cut. */
  mend(): void {
    this.#isCut = () => false;
    this.#drop();
  }

  #drop(): void {
    for (const { near, far } of this.#pairs) for (const socket of [near, far]) socket.destroy();
    this.#pairs.clear();
  }
}

/** Whether a process has the other end of a connection on loopback. Linux only. */
function isFrom(pid: number, { remotePort }: Socket): boolean {
  const local = `0100007F:${(remotePort ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .find((each) => each.trim().split(/\s+/)[1] === local);
  const inode = line?.trim().split(/\s+/)[9];
  const folder = `/proc/${pid}/fd`;
  // A process that has ended has no connection.
  if (!existsSync(folder)) return false;
  return readdirSync(folder).some((fd) => {
    try {
      return readlinkSync(join(folder, fd)) === `socket:[${inode}]`;
    } catch {
      return false;
    }
  });
}

/** Mounts a small file system in the site's folder. */
export function mountDisk(site: IncidentCluster, mebibytes: number): string {
  const disk = join(site.folder, 'disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', disk]);
  site.finally(() => execFileSync('umount', ['-l', disk], { stdio: 'ignore' }));
  return disk;
}

/** Leaves this much free space on a disk. @returns the file that fills it */
export function fillDisk(disk: string, mebibytesFree: number): string {
  const file = join(disk, 'filler');
  const { bavail, bsize } = statfsSync(disk);
  appendFileSync(file, Buffer.alloc(Math.max(0, bavail * bsize - mebibytesFree * 1024 * 1024)));
  return file;
}

/** Limits the file size of a process, so that its next write to the journal fails. */
export function limitFiles(pid: number, journal: string): void {
  const { size } = statSync(journal);
  execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${size}:${size}`]);
}

/** Leaves a process this many more descriptors than it has open; the hard limit stays, so that it can be raised again. */
export function limitDescriptors(pid: number, free: number): void {
  const limit = readdirSync(`/proc/${pid}/fd`).length + free;
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${limit}:`]);
}

/** Delays each sync of a process by this time. @returns a function that stops it */
export async function slowDisk(
  site: IncidentCluster,
  pid: number,
  delayMs: number,
): Promise<() => Promise<void>> {
  const calls = 'fdatasync,fsync,msync';
  const strace = spawn(
    'strace',
    [
      ...['-f', '-qq', '-o', '/dev/null', '-p', `${pid}`],
      ...['-e', `trace=${calls}`, '-e', `inject=${calls}:delay_exit=${delayMs * 1_000}`],
    ],
    { stdio: 'ignore' },
  );
  const gone = once(strace, 'exit');
  const end = async (): Promise<void> => {
    strace.kill('SIGINT');
    await gone;
  };
  site.finally(end);
  return end;
}

/** Makes a daemon speak another protocol version, like one of another release. Cached code would stay as it is. */
export function otherProtocol(site: IncidentCluster): How {
  const file = join(site.folder, 'other-protocol.cjs');
  writeFileSync(
    file,
    `const Module = require('node:module');
const compile = Module.prototype._compile;
Module.prototype._compile = function (code, name, ...rest) {
  const changed = code
    .replace(/version !== ${PROTOCOL_VERSION}\\b/, 'version !== ${PROTOCOL_VERSION - 1}')
    .replace(/speaks version ${PROTOCOL_VERSION}\\b/, 'speaks version ${PROTOCOL_VERSION - 1}')
    .replace(/\\b${PROTOCOL_VERSION}(,\\s*target,\\s*sender)/, '${PROTOCOL_VERSION - 1}$1')
    .replace(/\\b${PROTOCOL_VERSION}(,\\s*"\\*",\\s*incarnation)/, '${PROTOCOL_VERSION - 1}$1');
  return compile.call(this, changed, name, ...rest);
};
`,
  );
  return { nodeArgs: ['--require', file], env: { NODE_COMPILE_CACHE: '' } };
}
