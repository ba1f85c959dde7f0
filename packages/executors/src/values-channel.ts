import { createHash, randomBytes } from 'node:crypto';
import { constants, type FileHandle, open, rename, rm, stat, statfs } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { VALUE_PART_BYTES, VALUE_REQUEST_BYTES_MAX, VALUES_FREE_BYTES_MIN } from './limits.js';

/**
 * Large values of a warm process that does not see their folder, because it runs under another account, in a sandbox or in an image. It
 * opens further connections to the socket of its calls. Each message is a u32 of its length (little endian) and JSON; content follows
 * it unframed.
 *
 * | request                           | answer                                                                    |
 * |-----------------------------------|---------------------------------------------------------------------------|
 * | {op: "space"}                     | {free}: bytes of the disk that values may take                            |
 * | {op: "read", group, name}         | {bytes} and the content                                                   |
 * | {op: "write", group, bytes}, then | {name}: the SHA-256 of the content, now a file of the group               |
 * | the content                       |                                                                           |
 *
 * An answer {error} replaces the others. The name of a group is a secret of its submitter, and the permission to use it.
 */
export async function serveValues(socket: Socket, folder: string): Promise<void> {
  const input = new Input(socket);
  try {
    for (;;) {
      const request = await input.message();
      if (request === undefined) return;
      await answer(request, input, socket, folder);
    }
  } catch {
    // The process has ended, or does not speak the protocol.
  } finally {
    socket.destroy();
  }
}

const GROUP = /^[0-9a-f]{32,64}$/;
const NAME = /^[0-9a-f]{64}$/;

type Request = Readonly<Record<string, unknown>>;

async function answer(request: Request, input: Input, socket: Socket, folder: string): Promise<void> {
  const { op, group, name, bytes } = request;
  if (op === 'space') return send(socket, { free: await freeBytes(folder) });
  if (typeof group !== 'string' || !GROUP.test(group)) throw new Error('no group');
  if (op === 'read' && typeof name === 'string' && NAME.test(name))
    return sendFile(socket, join(folder, group, name));
  if (op !== 'write' || !Number.isSafeInteger(bytes) || Number(bytes) < 0) throw new Error('no request');
  let stored: { readonly name: string } | { readonly error: string };
  const rest = input.content(Number(bytes));
  try {
    stored = { name: await store(rest, Number(bytes), folder, group) };
  } catch (error) {
    stored = { error: (error as Error).message };
    for await (const _ of rest);
  }
  return send(socket, stored);
}

/** Writes the content to a file of the group, which the submitter has created. Returns its name. */
async function store(content: AsyncIterable<Buffer>, bytes: number, root: string, group: string) {
  const folder = join(root, group);
  const isThere = await stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isThere) throw new Error('the calls of this job have ended, so it cannot keep large values');
  const free = await freeBytes(root);
  if (bytes > free)
    throw new Error(`a value takes ${bytes} bytes, and the disk of the worker's values has ${free} left`);
  const part = join(folder, `${randomBytes(16).toString('hex')}.new`);
  const file = await open(part, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    for await (const piece of content) {
      hash.update(piece);
      await file.writeFile(piece);
    }
    const name = hash.digest('hex');
    await rename(part, join(folder, name));
    return name;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function sendFile(socket: Socket, path: string): Promise<void> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch {
    return send(socket, { error: 'the file of the value is gone: the cluster has forgotten its job' });
  }
  try {
    const { size } = await file.stat();
    await send(socket, { bytes: size });
    for (let at = 0; at < size; ) {
      const { buffer, bytesRead } = await file.read(
        Buffer.allocUnsafe(VALUE_PART_BYTES),
        0,
        VALUE_PART_BYTES,
        at,
      );
      if (bytesRead === 0) throw new Error('the file has become shorter');
      at += bytesRead;
      await write(socket, buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return Math.max(0, bavail * bsize - VALUES_FREE_BYTES_MIN);
}

function send(socket: Socket, body: unknown): Promise<void> {
  const json = Buffer.from(JSON.stringify(body));
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32LE(json.length);
  return write(socket, Buffer.concat([length, json]));
}

/** Resolves once the process has read most of it, so that at most one part is in memory. */
function write(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) =>
    socket.write(bytes, (error) => (error == null ? resolve() : reject(error))),
  );
}

/** Reads messages and content from a socket. */
class Input {
  readonly #parts: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#parts = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Returns undefined at the end of the connection. */
  async message(): Promise<Request | undefined> {
    while (this.#held.length < 4) if (!(await this.#more())) return undefined;
    const length = this.#held.readUInt32LE(0);
    if (length > VALUE_REQUEST_BYTES_MAX) throw new Error('the request is too long');
    while (this.#held.length < 4 + length) if (!(await this.#more())) return undefined;
    const parsed = JSON.parse(this.#held.toString('utf8', 4, 4 + length)) as unknown;
    this.#held = this.#held.subarray(4 + length);
    if (typeof parsed !== 'object' || parsed === null) throw new Error('the request is no object');
    return parsed as Request;
  }

  /** Yields the next bytes. A second loop over it continues where the first has stopped. */
  content(bytes: number): AsyncIterable<Buffer> {
    let left = bytes;
    const next = async (): Promise<IteratorResult<Buffer>> => {
      if (left === 0) return { done: true, value: undefined };
      if (this.#held.length === 0 && !(await this.#more())) throw new Error('the connection has ended');
      const piece = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(piece.length);
      left -= piece.length;
      return { done: false, value: piece };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#parts.next();
    if (done === true) return false;
    this.#held = this.#held.length === 0 ? value : Buffer.concat([this.#held, value]);
    return true;
  }
}
