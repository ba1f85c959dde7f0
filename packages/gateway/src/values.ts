import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { appendFile, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '@goshawk/client';
import { GoshawkError, InputError } from '@goshawk/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Access, checkRole } from './access.js';
import { Refused } from './errors.js';
import { LIMITS } from './limits.js';

/** A program chooses the names: random, so that they are also the permission to read and write the group. */
const GROUP = /^[0-9a-f]{32,64}$/;
/** SHA-256 of the content. */
const NAME = /^[0-9a-f]{64}$/;
/** File of a group with the ids of its jobs, one on each line. */
const JOBS = 'jobs';
/** File of the folder by which a client recognizes that it sees the same folder. */
const IDENTITY = 'identity';
const GONE: ReadonlySet<string> = new Set(['unknown-job', 'forgotten-job']);

/**
 * The folder for large arguments and results of Python calls, which workers share. It contains a folder for each group of calls, with
 * files named by the SHA-256 of their content. A group is deleted once the cluster knows none of its jobs anymore.
 */
export class Values {
  readonly #folder: string | undefined;
  readonly #cluster: () => Promise<Cluster>;
  readonly #failed: (error: unknown) => void;
  readonly #identity = randomBytes(16).toString('hex');
  readonly #sweep: NodeJS.Timeout | undefined;

  constructor(
    folder: string | undefined,
    cluster: () => Promise<Cluster>,
    failed: (error: unknown) => void = () => {},
  ) {
    this.#folder = folder;
    this.#cluster = cluster;
    this.#failed = failed;
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#identity = identityIn(folder, this.#identity);
    this.#sweep = setInterval(() => void this.sweep().catch(this.#failed), LIMITS.valuesSweepMs).unref();
  }

  close(): void {
    clearInterval(this.#sweep);
  }

  addRoutes(app: FastifyInstance, access: Access): void {
    app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_, body, done) =>
      done(null, body),
    );
    const onRequest = (role: 'read' | 'submit') => async (request: FastifyRequest) =>
      checkRole(access.admit(request.method, request.headers), role);
    app.get('/v1/values', { onRequest: onRequest('submit') }, async () => this.#describe());
    app.post('/v1/values/:group', { onRequest: onRequest('submit') }, (request) => this.#addJob(request));
    app.post(
      '/v1/values/:group/:name',
      { onRequest: onRequest('submit'), bodyLimit: LIMITS.valuePartBytesMax },
      (request) => this.#write(request),
    );
    app.get('/v1/values/:group/:name', { onRequest: onRequest('read') }, (request, reply) =>
      this.#read(request, reply),
    );
  }

  /** Deletes groups whose jobs are gone, and those that no job has used for an hour. */
  async sweep(): Promise<void> {
    if (this.#folder === undefined) return;
    for (const group of await readdir(this.#folder)) {
      if (!GROUP.test(group)) continue;
      const folder = join(this.#folder, group);
      const jobs = await readFile(join(folder, JOBS), 'utf8').catch(() => '');
      const ids = [...new Set(jobs.split('\n').filter((id) => id !== ''))];
      const isNew = ids.length === 0 && Date.now() - (await stat(folder)).mtimeMs < LIMITS.valuesUnusedMs;
      if (isNew) continue;
      const cluster = await this.#cluster();
      if (await someExists(cluster, ids)) continue;
      await rm(folder, { recursive: true, force: true });
    }
  }

  #describe() {
    const folder = this.#folder;
    if (folder === undefined) return { schema: 'goshawk.values/1', folder: null };
    const { bavail, bsize } = statfsSync(folder);
    const partBytesMax = LIMITS.valuePartBytesMax;
    return {
      schema: 'goshawk.values/1',
      folder,
      identity: this.#identity,
      freeBytes: bavail * bsize,
      partBytesMax,
    };
  }

  async #addJob({ params, body }: FastifyRequest) {
    const { job } = (body ?? {}) as { readonly job?: unknown };
    if (typeof job !== 'string' || !/^[\w.:-]{1,512}$/.test(job))
      throw new InputError('bad-request', 'body: expected {"job": ID}');
    await appendFile(join(this.#group(params), JOBS), `${job}\n`, { mode: 0o600 });
    return { schema: 'goshawk.values-job/1', job };
  }

  /** Writes a part of a file. The last part completes it, if its content matches its name. */
  async #write({ params, query, body }: FastifyRequest) {
    const { at, size } = partOf(query);
    const path = join(this.#group(params), nameIn(params));
    const bytes = body as Buffer;
    if (existsSync(path)) return { schema: 'goshawk.value/1', complete: true };
    const { bavail, bsize } = statfsSync(this.#folder!);
    if (size - at > bavail * bsize)
      throw new InputError(
        'no-space',
        `the value takes ${size} bytes, and its disk has ${bavail * bsize} left`,
        'delete files, or use another --values folder',
      );
    const part = `${path}.${size}.part`;
    const file = await open(part, at === 0 ? 'w' : 'r+', 0o600).catch(() => {
      throw new Refused(
        409,
        'part-missing',
        'an earlier part of the value is missing',
        'send it from the start',
      );
    });
    try {
      for (let written = 0; written < bytes.length; )
        written += (await file.write(bytes, written, bytes.length - written, at + written)).bytesWritten;
    } finally {
      await file.close();
    }
    if (at + bytes.length < size) return { schema: 'goshawk.value/1', complete: false };
    if ((await digestOf(part)) !== nameIn(params)) {
      await rm(part, { force: true });
      throw new InputError('bad-value', 'the content of the value does not match its name', 'send it again');
    }
    await rename(part, path);
    return { schema: 'goshawk.value/1', complete: true };
  }

  async #read({ params, query }: FastifyRequest, reply: FastifyReply) {
    const { at } = partOf(query);
    const path = join(this.#group(params), nameIn(params));
    const file = await open(path, 'r').catch(() => {
      throw new Refused(404, 'unknown-value', 'there is no such value', 'it is deleted with its job');
    });
    try {
      const { size } = await file.stat();
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(LIMITS.valuePartBytesMax, size - at)));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, at);
      return await reply.type('application/octet-stream').send(bytes.subarray(0, bytesRead));
    } finally {
      await file.close();
    }
  }

  #group(params: unknown): string {
    const { group } = params as { readonly group: string };
    if (this.#folder === undefined)
      throw new Refused(404, 'no-values', 'this gateway has no folder for values', 'start it with --values');
    if (!GROUP.test(group))
      throw new InputError('bad-request', 'group: expected 32 to 64 hexadecimal digits');
    const folder = join(this.#folder, group);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  }
}

function identityIn(folder: string, made: string): string {
  const file = join(folder, IDENTITY);
  try {
    writeFileSync(file, made, { flag: 'wx', mode: 0o600 });
    return made;
  } catch {
    return readFileSync(file, 'utf8');
  }
}

function nameIn(params: unknown): string {
  const { name } = params as { readonly name: string };
  if (!NAME.test(name)) throw new InputError('bad-request', 'name: expected the SHA-256 of the content');
  return name;
}

function partOf(query: unknown): { readonly at: number; readonly size: number } {
  const { at = '0', size = '0' } = query as { readonly at?: string; readonly size?: string };
  const numbers = { at: Number(at), size: Number(size) };
  if (!Object.values(numbers).every((number) => Number.isSafeInteger(number) && number >= 0))
    throw new InputError('bad-request', 'query: at and size are numbers of bytes');
  return numbers;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer);
  return hash.digest('hex');
}

async function someExists(cluster: Cluster, jobs: readonly string[]): Promise<boolean> {
  for (const id of jobs) {
    try {
      await cluster.job(id).describe();
      return true;
    } catch (error) {
      // Without an answer, the job may exist.
      if (!(error instanceof GoshawkError && GONE.has(error.code))) return true;
    }
  }
  return false;
}
