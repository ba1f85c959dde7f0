import fs from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  formatBytes,
  type GoneOutput,
  type JobNumber,
  makeFolder,
  type OutputStore,
  type StoredOutput,
  type StoredOutputPage,
  sumOf,
} from '@goshawk/core';
import { type FreeBytes, freeBytesOf, ROOM_LIMITS } from '../room.js';
import { decodeChunks, encodeChunk, encodedBytes } from './chunk-codec.js';

const MIB = 1024 * 1024;

export interface OutputLimits {
  /** Output of all jobs. Bytes. */
  readonly bytesMax: number;
  /** Output of one job. Bytes. */
  readonly jobBytesMax: number;
  /** Free disk space that output leaves to the journal, which needs less before it refuses jobs. Bytes. */
  readonly keepFree: number;
}

export const OUTPUT_LIMITS: OutputLimits = {
  bytesMax: 1024 * MIB,
  jobBytesMax: 128 * MIB,
  keepFree: ROOM_LIMITS.fullBelow + 4 * ROOM_LIMITS.reserve,
};

/** Part of a job's limit after which its next file begins: files are deleted whole. */
const FILES_PER_JOB = 8;
/** Size of a page; the first chunk of a page may be larger. Bytes. */
const PAGE_BYTES = 512 * 1024;
/** The longest chunk and its header fit into this. Bytes. */
const WINDOW_BYTES = 3 * MIB;
/** Distance between remembered positions in a file. Bytes. */
const INDEX_BYTES = 256 * 1024;
/** Fraction of a limit to which output shrinks when it exceeds it. */
const EVICTION_TARGET = 0.95;
/** Output that may wait for the disk or the database. Bytes. */
export const PENDING_BYTES_MAX = 64 * MIB;
/** Files written at the same time. */
const CONCURRENT_WRITES = 4;

/** Reasons for which output is deleted before its job, as the names of empty files say. */
const REASONS = ['limit', 'job-limit', 'disk-full', 'failed'] as const;
type Reason = (typeof REASONS)[number];

/** One file with consecutive output of a job. */
interface Segment {
  /** Number of its first chunk; part of its name. */
  readonly first: number;
  bytes: number;
  writtenMs: number;
  /** Positions of some chunks, in order. */
  readonly index: { readonly number: number; readonly at: number }[];
}

interface JobOutput {
  readonly job: JobNumber;
  user: string | undefined;
  readonly segments: Segment[];
  /** Output that is not written yet, in order. */
  pending: StoredOutput[];
  /** Number after the last chunk, or at least after the first one of the last file of an earlier process. */
  nextNumber: number;
  gone: { readonly before: number; readonly reason: Reason } | undefined;
  isRestored: boolean;
  isDeleted: boolean;
}

interface FolderOptions {
  readonly limits?: Partial<OutputLimits>;
  readonly freeBytes?: FreeBytes;
  /** Called when output starts to be given up, for another reason than before; undefined: it is stored again. */
  readonly problem?: (problem: string | undefined) => void;
}

/**
 * Task output in a folder: files of up to an eighth of a job's limit, named by job and first chunk. Writes do not wait for the
 * disk to sync, so they survive the end of the process, but not always that of the machine. Above a limit, and if the
 * disk is full, the oldest files of the users with the most output are deleted. An empty file says so.
 */
export class OutputFolder implements OutputStore {
  readonly since: number;
  settled = 0;
  onSettled: () => void = () => {};
  readonly #folder: string;
  readonly #limits: OutputLimits;
  readonly #freeBytes: FreeBytes;
  readonly #options: FolderOptions;
  readonly #jobs = new Map<JobNumber, JobOutput>();
  #unwritten = new Set<JobOutput>();
  /** Files that this process began. The end of an older file may be torn, so it is not continued. */
  readonly #isCurrent = new WeakSet<Segment>();
  #bytes = 0;
  #pendingBytes = 0;
  #writing: Promise<void> | undefined;
  #problem: string | undefined;

  /** @throws errors of the file system if the folder cannot be created or listed */
  constructor(folder: string, options: FolderOptions = {}) {
    this.#folder = folder;
    this.#options = options;
    this.#limits = { ...OUTPUT_LIMITS, ...options.limits };
    this.#freeBytes = options.freeBytes ?? freeBytesOf;
    makeFolder(fs, folder, 0o700);
    this.since = this.#sinceOf();
    for (const name of fs.readdirSync(folder)) this.#found(name);
    for (const { segments } of this.#jobs.values()) segments.sort((one, other) => one.first - other.first);
  }

  /** Output that was stored by an earlier incarnation or by this one, also if it is gone. */
  has(job: JobNumber): boolean {
    return this.#jobs.has(job);
  }

  /** Bytes in the files. */
  get bytes(): number {
    return this.#bytes;
  }

  append(job: JobNumber, user: string | undefined, chunk: StoredOutput): void {
    const of = this.#jobs.get(job) ?? this.#newJob(job, user);
    of.user = user;
    of.isRestored = true;
    of.nextNumber = chunk.number + 1;
    if (this.#pendingBytes > PENDING_BYTES_MAX) {
      this.#setProblem(`the disk of ${this.#folder} does not keep up with the output of tasks`);
      this.#setGone(of, 'failed');
      this.settled++;
      return;
    }
    this.#pendingBytes += chunk.bytes.length;
    of.pending.push(chunk);
    this.#unwritten.add(of);
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  restored(job: JobNumber, user: string | undefined): void {
    const of = this.#jobs.get(job);
    if (of === undefined) return;
    of.user = user;
    of.isRestored = true;
  }

  allRestored(): void {
    for (const { job, isRestored } of [...this.#jobs.values()]) if (!isRestored) this.delete(job);
  }

  delete(job: JobNumber): void {
    const of = this.#jobs.get(job);
    if (of === undefined) return;
    this.#jobs.delete(job);
    of.isDeleted = true;
    for (const segment of of.segments.splice(0)) {
      this.#bytes -= segment.bytes;
      fs.rmSync(this.#pathOf(of, segment), { force: true });
    }
    if (of.gone !== undefined) fs.rmSync(this.#markOf(of), { force: true });
  }

  read(job: JobNumber, from: number): StoredOutputPage {
    const of = this.#jobs.get(job);
    if (of === undefined) return { chunks: [], next: undefined, gone: undefined };
    const gone = of.gone && this.#describe(of.gone);
    const { segments, pending } = of;
    const at = Math.max(
      0,
      segments.findLastIndex(({ first }) => first <= from),
    );
    for (let index = at; index < segments.length; index++) {
      const { chunks, isWhole } = this.#readSegment(of, segments[index]!, from);
      const after = segments[index + 1]?.first ?? pending[0]?.number;
      if (chunks.length > 0) return { chunks, next: isWhole ? after : chunks.at(-1)!.number + 1, gone };
    }
    const chunks: StoredOutput[] = [];
    let bytes = 0;
    for (const chunk of pending) {
      if (chunk.number < from) continue;
      if (chunks.length > 0 && bytes + chunk.bytes.length > PAGE_BYTES)
        return { chunks, next: chunk.number, gone };
      chunks.push(chunk);
      bytes += chunk.bytes.length;
    }
    return { chunks, next: undefined, gone };
  }

  /** Writes what is pending. */
  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #sinceOf(): number {
    const path = join(this.#folder, 'since');
    const known = Number(fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : Number.NaN);
    if (Number.isFinite(known) && known > 0) return known;
    const now = Date.now();
    try {
      fs.writeFileSync(path, String(now), { mode: 0o600 });
    } catch {
      // The next start then says that output may be missing, which is true on a full disk.
    }
    return now;
  }

  #found(name: string): void {
    const match = /^(\d+)-(\d+)\.([a-z-]+)$/.exec(name);
    if (match === null) return;
    const [job, number, kind] = [Number(match[1]), Number(match[2]), match[3]!];
    const of = this.#jobs.get(job) ?? this.#newJob(job, undefined);
    if (kind === 'out') {
      const { size, mtimeMs } = fs.statSync(join(this.#folder, name));
      of.segments.push({ first: number, bytes: size, writtenMs: mtimeMs, index: [] });
      this.#bytes += size;
      of.nextNumber = Math.max(of.nextNumber, number + 1);
    } else if (REASONS.some((reason) => reason === kind)) {
      // The process may have ended between the creation of a mark and the deletion of the previous one.
      if (of.gone === undefined || of.gone.before < number)
        of.gone = { before: number, reason: kind as Reason };
      of.nextNumber = Math.max(of.nextNumber, number);
    }
  }

  #newJob(job: JobNumber, user: string | undefined): JobOutput {
    const of: JobOutput = {
      ...{ job, user, segments: [], pending: [], nextNumber: 0, gone: undefined },
      ...{ isRestored: false, isDeleted: false },
    };
    this.#jobs.set(job, of);
    return of;
  }

  #pathOf({ job }: JobOutput, { first }: Segment): string {
    return join(this.#folder, `${job}-${first}.out`);
  }

  #markOf({ job, gone }: JobOutput): string {
    return join(this.#folder, `${job}-${gone!.before}.${gone!.reason}`);
  }

  #describe({ before, reason }: NonNullable<JobOutput['gone']>): GoneOutput {
    switch (reason) {
      case 'limit':
      case 'job-limit':
        return { before, why: overLimit(this.#limits, reason) };
      case 'disk-full':
        return { before, why: `the disk of ${this.#folder} was full, so the oldest output was deleted` };
      case 'failed':
        return { before, why: `it could not be written to ${this.#folder}` };
    }
  }

  /** @returns chunks from this number on, and whether they include the last one of the file */
  #readSegment(of: JobOutput, segment: Segment, from: number): { chunks: StoredOutput[]; isWhole: boolean } {
    const chunks: StoredOutput[] = [];
    let at = segment.index.findLast(({ number }) => number <= from)?.at ?? 0;
    let bytes = 0;
    let file: number | undefined;
    try {
      file = fs.openSync(this.#pathOf(of, segment), 'r');
      for (const window = Buffer.allocUnsafe(WINDOW_BYTES); ; ) {
        // The rest of the file may be in the middle of a write.
        const length = fs.readSync(file, window, 0, Math.min(WINDOW_BYTES, segment.bytes - at), at);
        let end = 0;
        for (const { from: inWindow, chunk } of decodeChunks(window.subarray(0, length))) {
          end = inWindow + encodedBytes(chunk);
          if (at + inWindow - (segment.index.at(-1)?.at ?? 0) >= INDEX_BYTES)
            segment.index.push({ number: chunk.number, at: at + inWindow });
          if (chunk.number < from) continue;
          if (chunks.length > 0 && bytes + chunk.bytes.length > PAGE_BYTES) return { chunks, isWhole: false };
          chunks.push(chunk);
          bytes += chunk.bytes.length;
        }
        if (end === 0) return { chunks, isWhole: true };
        at += end;
      }
    } catch (error) {
      this.#setProblem(`cannot read output: ${(error as Error).message}`);
      return { chunks, isWhole: true };
    } finally {
      if (file !== undefined) fs.closeSync(file);
    }
  }

  async #writeAll(): Promise<void> {
    // Chunks that arrive in this turn are written together.
    await new Promise(setImmediate);
    while (this.#unwritten.size > 0) {
      const jobs = [...this.#unwritten];
      this.#unwritten = new Set();
      for (let first = 0; first < jobs.length; first += CONCURRENT_WRITES)
        await Promise.all(jobs.slice(first, first + CONCURRENT_WRITES).map((of) => this.#writeJob(of)));
    }
  }

  async #writeJob(of: JobOutput): Promise<void> {
    const chunks = [...of.pending];
    if (!of.isDeleted && chunks.length > 0) {
      const data = Buffer.concat(chunks.map(encodeChunk));
      const segment = this.#segmentFor(of, chunks[0]!.number);
      const problem = this.#makeRoom(data.length) ?? (await this.#write(of, segment, data));
      if (problem === undefined) this.#written(of, segment, data.length);
      else if (!of.isDeleted) this.#setGone(of, problem, chunks.at(-1)!.number + 1);
    }
    of.pending = of.pending.slice(chunks.length);
    for (const { bytes } of chunks) this.#pendingBytes -= bytes.length;
    this.settled += chunks.length;
    this.onSettled();
  }

  /** @returns why it was not written */
  async #write(of: JobOutput, segment: Segment, data: Buffer): Promise<Reason | undefined> {
    for (;;) {
      try {
        await appendFile(this.#pathOf(of, segment), data, { mode: 0o600 });
        return undefined;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        this.#truncate(this.#pathOf(of, segment), segment.bytes);
        if (code === 'ENOENT') {
          makeFolderAgain(this.#folder);
          if (fs.existsSync(this.#folder)) continue;
        }
        if (code === 'ENOSPC' || code === 'EDQUOT') {
          if (this.#dropOldest('disk-full', data.length, segment)) continue;
          this.#setProblem(`the disk of ${this.#folder} is full`);
          return 'disk-full';
        }
        this.#setProblem(`cannot write to ${this.#folder}: ${message}`);
        return 'failed';
      }
    }
  }

  #written(of: JobOutput, segment: Segment, bytes: number): void {
    this.#setProblem(undefined);
    if (of.isDeleted || !this.#isCurrent.has(segment)) {
      fs.rmSync(this.#pathOf(of, segment), { force: true });
      if (!of.isDeleted) this.#setGone(of, 'limit');
      return;
    }
    if (segment.bytes === 0) of.segments.push(segment);
    segment.bytes += bytes;
    segment.writtenMs = Date.now();
    this.#bytes += bytes;
    const { bytesMax, jobBytesMax } = this.#limits;
    while (of.segments.length > 1 && sumOf(of.segments, ({ bytes }) => bytes) > jobBytesMax)
      this.#drop(of, of.segments[0]!, 'job-limit');
    if (this.#bytes > bytesMax) this.#dropOldest('limit', this.#bytes - EVICTION_TARGET * bytesMax);
  }

  #segmentFor({ segments }: JobOutput, first: number): Segment {
    const last = segments.at(-1);
    const isFull = last === undefined || last.bytes >= this.#limits.jobBytesMax / FILES_PER_JOB;
    return isFull || !this.#isCurrent.has(last) ? this.#newSegment(first) : last;
  }

  #newSegment(first: number): Segment {
    const segment = { first, bytes: 0, writtenMs: 0, index: [] };
    this.#isCurrent.add(segment);
    return segment;
  }

  /** Deletes output until the disk has room. @returns the reason if it has none */
  #makeRoom(bytes: number): Reason | undefined {
    try {
      for (;;) {
        const missing = this.#limits.keepFree + bytes - this.#freeBytes(this.#folder);
        if (missing <= 0) return undefined;
        if (this.#dropOldest('disk-full', missing)) continue;
        this.#setProblem(`the disk of ${this.#folder} is full`);
        return 'disk-full';
      }
    } catch {
      // The write reports the problem.
      return undefined;
    }
  }

  /** Deletes files until this is freed, each the oldest one of the user with the most output. @returns whether any was */
  #dropOldest(reason: Reason, bytes: number, except?: Segment): boolean {
    const byUser = new Map<
      string | undefined,
      { bytes: number; files: { of: JobOutput; segment: Segment }[] }
    >();
    for (const of of this.#jobs.values()) {
      const user = byUser.get(of.user) ?? { bytes: 0, files: [] };
      byUser.set(of.user, user);
      for (const segment of of.segments) {
        if (segment === except) continue;
        user.bytes += segment.bytes;
        user.files.push({ of, segment });
      }
    }
    const users = [...byUser.values()];
    // The last is the oldest. Within a millisecond, jobs and the files of a job come in the order of their numbers.
    for (const { files } of users)
      files.sort(
        ({ of: job, segment: one }, { of: otherJob, segment: other }) =>
          other.writtenMs - one.writtenMs || otherJob.job - job.job || other.first - one.first,
      );
    let freed = 0;
    while (freed < bytes) {
      const largest = users.reduce((one, other) => (other.bytes > one.bytes ? other : one));
      const file = largest.files.pop();
      if (file === undefined) break;
      freed += file.segment.bytes;
      largest.bytes -= file.segment.bytes;
      this.#drop(file.of, file.segment, reason);
    }
    return freed > 0;
  }

  #drop(of: JobOutput, segment: Segment, reason: Reason): void {
    of.segments.splice(of.segments.indexOf(segment), 1);
    this.#isCurrent.delete(segment);
    this.#bytes -= segment.bytes;
    const path = this.#pathOf(of, segment);
    // Frees space, which the mark may need.
    this.#truncate(path, 0);
    this.#setGone(of, reason, of.segments[0]?.first ?? of.pending[0]?.number);
    fs.rmSync(path, { force: true });
  }

  #truncate(path: string, bytes: number): void {
    try {
      fs.truncateSync(path, bytes);
    } catch {
      // It does not exist.
    }
  }

  #setGone(of: JobOutput, reason: Reason, before = of.nextNumber): void {
    const former = of.gone === undefined ? undefined : this.#markOf(of);
    of.gone = { before: Math.max(before, of.gone?.before ?? 0), reason };
    const mark = this.#markOf(of);
    try {
      fs.writeFileSync(mark, '', { mode: 0o600 });
      if (former !== undefined && former !== mark) fs.rmSync(former, { force: true });
    } catch {
      // Known only until the end of this process.
    }
  }

  #setProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.problem?.(problem);
  }
}

/** Explains why output was deleted. */
export function overLimit({ bytesMax, jobBytesMax }: OutputLimits, reason: 'limit' | 'job-limit'): string {
  const kept =
    reason === 'limit'
      ? `${formatBytes(bytesMax)} of output`
      : `${formatBytes(jobBytesMax)} of output per job`;
  return `its scheduler stores ${kept}, and deleted the oldest`;
}

/** Creates the folder, but not those around it: a removed journal must not look as if it were there. */
function makeFolderAgain(folder: string): void {
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch {
    // The write reports the problem.
  }
}
