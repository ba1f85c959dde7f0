import { setTimeout as pause } from 'node:timers/promises';
import {
  type GoneOutput,
  type JobNumber,
  type OutputStore,
  type StoredOutput,
  type StoredOutputPage,
  setLatest,
} from '@goshawk/core';
import { decodeChunks, encodeChunk } from '../output/chunk-codec.js';
import { OUTPUT_LIMITS, type OutputLimits, overLimit, PENDING_BYTES_MAX } from '../output/output-folder.js';
import { int8Array } from './arrays.js';
import { Link } from './link.js';
import { parseJournalUrl } from './url.js';

/** Output in one statement. Bytes. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Blocks of one page. A block has at most the output that arrived while the previous one was written. */
const PAGE_BLOCKS = 8;
const PAGES_CACHED_MAX = 16;
const CLOSE_MS = 1_000;
/** Statements between two checks of the limits. */
const CHECK_EVERY = 64;

interface BlockRow {
  readonly number: string;
  readonly body: Buffer;
  readonly reason: string | null;
}

interface Pending {
  readonly job: JobNumber;
  readonly chunk: StoredOutput;
}

/**
 * Task output of one journal in PostgreSQL, where the scheduler that takes the journal over finds it. It uses a separate
 * connection, opened for the first output, so that it does not delay the journal. Pages are fetched on demand.
 */
export class OutputTable implements OutputStore {
  /** The table is as old as the journals. */
  readonly since = 0;
  settled = 0;
  onSettled: () => void = () => {};
  /** Called when output is given up. */
  problem: (problem: string) => void = () => {};
  readonly #url: string;
  readonly #tag: string;
  readonly #limits: OutputLimits;
  readonly #jobs: Set<JobNumber>;
  readonly #restored = new Set<JobNumber>();
  readonly #pages = new Map<string, StoredOutputPage>();
  readonly #fetching = new Set<string>();
  readonly #deleted = new Set<JobNumber>();
  #pending: Pending[] = [];
  #pendingBytes = 0;
  #link: Link | undefined;
  #writing: Promise<void> | undefined;
  #batches = 0;
  #isClosed = false;

  /** @param jobs those with output in the table */
  constructor(url: string, tag: string, jobs: Iterable<JobNumber>, limits: Partial<OutputLimits> = {}) {
    this.#url = url;
    this.#tag = tag;
    this.#jobs = new Set(jobs);
    this.#limits = { ...OUTPUT_LIMITS, ...limits };
  }

  has(job: JobNumber): boolean {
    return this.#jobs.has(job);
  }

  append(job: JobNumber, _user: string | undefined, chunk: StoredOutput): void {
    this.#jobs.add(job);
    this.#restored.add(job);
    // While the database is away, the oldest waiting output is still in memory of the scheduler.
    if (this.#pendingBytes > PENDING_BYTES_MAX) {
      this.settled++;
      return;
    }
    this.#pending.push({ job, chunk });
    this.#pendingBytes += chunk.bytes.length;
    this.#forget(job);
    this.#write();
  }

  restored(job: JobNumber): void {
    this.#restored.add(job);
  }

  allRestored(): void {
    for (const job of [...this.#jobs]) if (!this.#restored.has(job)) this.delete(job);
  }

  delete(job: JobNumber): void {
    if (!this.#jobs.delete(job)) return;
    this.#deleted.add(job);
    this.#forget(job);
    this.#write();
  }

  read(job: JobNumber, from: number): StoredOutputPage | undefined {
    const key = `${job} ${from}`;
    const page = this.#pages.get(key);
    if (page !== undefined || !this.has(job)) return page ?? { chunks: [], next: undefined, gone: undefined };
    if (this.#fetching.has(key)) return undefined;
    this.#fetching.add(key);
    void this.#fetch(job, from)
      .then((fetched) => setLatest(this.#pages, key, fetched, PAGES_CACHED_MAX))
      // The link repeats queries until they succeed, so it was closed.
      .catch(() => {})
      .finally(() => this.#fetching.delete(key));
    return undefined;
  }

  /** Writes what is pending, if the database answers within a second. */
  async close(): Promise<void> {
    const done = new AbortController();
    await Promise.race([this.#writing, pause(CLOSE_MS, undefined, { signal: done.signal }).catch(() => {})]);
    done.abort();
    this.#isClosed = true;
    await this.#link?.close();
  }

  #forget(job: JobNumber): void {
    for (const key of [...this.#pages.keys()]) if (key.startsWith(`${job} `)) this.#pages.delete(key);
  }

  #connected(): Link {
    this.#link ??= new Link(parseJournalUrl(this.#url), `goshawk output ${this.#tag}`);
    return this.#link;
  }

  #write(): void {
    this.#writing ??= this.#writeAll()
      .catch((error: Error) => this.#giveUp(error))
      .finally(() => {
        this.#writing = undefined;
      });
  }

  /** The database answered that it does not accept the output, so repeating it is pointless. */
  #giveUp({ message }: Error): void {
    if (this.#isClosed) return;
    this.problem(message);
    this.settled += this.#pending.length;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.onSettled();
  }

  async #writeAll(): Promise<void> {
    // Chunks that arrive in this turn are written together.
    await new Promise(setImmediate);
    while (!this.#isClosed && this.#pending.length + this.#deleted.size > 0) {
      await this.#deleteJobs();
      await this.#writeBatch();
    }
  }

  async #deleteJobs(): Promise<void> {
    if (this.#deleted.size === 0) return;
    const jobs = [...this.#deleted];
    this.#deleted.clear();
    await this.#connected().ask('delete from goshawk.output where tag = $1 and job = any($2)', [
      this.#tag,
      int8Array(jobs),
    ]);
  }

  async #writeBatch(): Promise<void> {
    let bytes = 0;
    let count = 0;
    const blocks = new Map<JobNumber, StoredOutput[]>();
    for (const { job, chunk } of this.#pending) {
      if (count > 0 && bytes + chunk.bytes.length > BATCH_BYTES) break;
      bytes += chunk.bytes.length;
      count++;
      if (!this.#jobs.has(job)) continue;
      const of = blocks.get(job) ?? [];
      blocks.set(job, of);
      of.push(chunk);
    }
    if (count === 0) return;
    for (const [job, chunks] of blocks) {
      const body = Buffer.concat(chunks.map(encodeChunk));
      await this.#connected().ask(
        `insert into goshawk.output (tag, job, number, body, bytes) values ($1, $2, $3, $4, $5)
         on conflict do nothing`,
        [this.#tag, job, chunks[0]!.number, body, body.length],
        { name: 'output' },
      );
    }
    if (++this.#batches % CHECK_EVERY === 0) await this.#enforceLimits();
    this.#pending = this.#pending.slice(count);
    this.#pendingBytes -= bytes;
    for (const job of blocks.keys()) this.#forget(job);
    this.settled += count;
    this.onSettled();
  }

  /** Replaces the oldest blocks above a limit by a note. */
  async #enforceLimits(): Promise<void> {
    const { bytesMax, jobBytesMax } = this.#limits;
    await this.#connected().ask(
      `with sized as (
         select job, number,
           sum(bytes) over (order by at desc, number desc) as total,
           sum(bytes) over (partition by job order by number desc) as of_job
         from goshawk.output where tag = $1
       )
       update goshawk.output o set body = '', bytes = 0,
         reason = case when s.of_job > $3 then 'job-limit' else 'limit' end
       from sized s
       where o.tag = $1 and o.job = s.job and o.number = s.number and o.bytes > 0 and (s.total > $2 or s.of_job > $3)`,
      [this.#tag, bytesMax, jobBytesMax],
    );
    // One note per job is enough.
    await this.#connected().ask(
      `delete from goshawk.output o where tag = $1 and bytes = 0 and exists (
         select from goshawk.output later
         where later.tag = $1 and later.job = o.job and later.bytes = 0 and later.number > o.number)`,
      [this.#tag],
    );
  }

  async #fetch(job: JobNumber, from: number): Promise<StoredOutputPage> {
    const rows = await this.#connected().ask<BlockRow>(
      `select number, body, reason from goshawk.output where tag = $1 and job = $2 and bytes = 0
       union all (
         select number, body, null from goshawk.output where tag = $1 and job = $2 and bytes > 0 and number >= coalesce(
           (select max(number) from goshawk.output where tag = $1 and job = $2 and bytes > 0 and number <= $3), 0)
         order by number limit $4)`,
      [this.#tag, job, from, PAGE_BLOCKS + 1],
    );
    const note = rows.find(({ reason }) => reason !== null);
    const blocks = rows.filter(({ reason }) => reason === null);
    const shown = blocks.slice(0, PAGE_BLOCKS);
    const chunks = shown.flatMap(({ body }) => Array.from(decodeChunks(body), ({ chunk }) => chunk));
    const wanted = chunks.filter(({ number }) => number >= from);
    const waiting = this.#pending.filter((each) => each.job === job && each.chunk.number >= from);
    const next = blocks[PAGE_BLOCKS] === undefined ? undefined : Number(blocks[PAGE_BLOCKS].number);
    const stored = new Set(wanted.map(({ number }) => number));
    if (next === undefined)
      wanted.push(...waiting.flatMap(({ chunk }) => (stored.has(chunk.number) ? [] : [chunk])));
    return { chunks: wanted, next, gone: note && this.#goneAt(note) };
  }

  #goneAt({ number, reason }: BlockRow): GoneOutput {
    const why = overLimit(this.#limits, reason === 'job-limit' ? 'job-limit' : 'limit');
    return { before: Number(number) + 1, why };
  }
}
