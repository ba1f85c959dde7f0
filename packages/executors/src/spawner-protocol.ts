import type { KillReason } from '@goshawk/core';
import type { TaskLimits } from './cgroup.js';
import type { Measured, Outcome, OutputStream, Usage } from './contract.js';
import type { OutputPaths } from './output-files.js';

/**
 * Frames between the worker and its spawner (see framing.ts). Small parts are JSON; bytes of a task
 * (stdin, output) are raw.
 *
 * | frame   | from    | body                                              | when                                  |
 * |---------|---------|---------------------------------------------------|---------------------------------------|
 * | Ready   | spawner |                                                   | once, when it can take starts         |
 * | Start   | worker  | u32 length of JSON, JSON of SpawnOrder, stdin     | a run is to begin                     |
 * | Kill    | worker  | reason                                            | at any time, also before Started      |
 * | Pause   | worker  |                                                   | as Kill; no effect on a paused run    |
 * | Resume  | worker  |                                                   | as Kill; no effect unless it is paused |
 * | Started | spawner |                                                   | the process exists and is recorded    |
 * | Output  | spawner | u8 stream (1 stdout, 2 stderr), bytes             | between Started and Ended             |
 * | Ended   | spawner | JSON of EndReport                                 | once for each Start                   |
 * | Used    | spawner | JSON of [run, CPUs, bytes] for each running run   | about once a second; its run is 0     |
 *
 * No frame is acknowledged. If the stream breaks, one of the two processes is dead, and the other process ends
 * the commands.
 */
export const FrameKind = {
  Ready: 1,
  Start: 2,
  Kill: 3,
  Started: 4,
  Output: 5,
  Ended: 6,
  Used: 7,
  Pause: 8,
  Resume: 9,
} as const;

export interface SpawnOrder {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables added to the environment of the spawner, which contains only variables that tasks may see. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly outputBytesMax: number;
  /** Files that receive the output instead of the frames below. */
  readonly files?: OutputPaths;
  /** Limits of the command, if the spawner has cgroups. */
  readonly limits?: TaskLimits;
  /** Container of the command; the command is then the client of a container engine. */
  readonly container?: ContainerOrder;
  /** The account that runs the command, if not that of the spawner. */
  readonly account?: AccountIds;
  /**
   * Maximum size of the report that the command may write to descriptor 3. The report arrives with the end.
   */
  readonly reportBytesMax?: number;
  /** What the command reads from a descriptor when it starts, in Base64: number 3, or 4 if it reports. */
  readonly early?: string;
  /** Whether the command has an input. Otherwise its stdin is /dev/null, which saves a file. */
  readonly hasStdin: boolean;
}

/** An account without supplementary groups. */
export interface AccountIds {
  readonly uid: number;
  readonly gid: number;
}

interface ContainerOrder {
  /** The client of the engine, by absolute path. */
  readonly program: string;
  /** Variables by which the client finds the engine. */
  readonly settings: Readonly<Record<string, string>>;
  readonly image: string;
  /** The command that runs in the container. */
  readonly command: string;
}

interface EndReport {
  readonly outcome: Outcome;
  readonly runMs: number;
  readonly measured?: Measured | undefined;
  readonly report?: Report | undefined;
}

/** Bytes that a command wrote to descriptor 3. */
export interface Report {
  readonly size: number;
  /** In Base64; undefined if it is longer than the order permits. */
  readonly content?: string | undefined;
}

/** Settings of the spawner, passed as JSON in its only argument. */
export interface SpawnerSettings {
  readonly recordFile: string;
  readonly recordId: string;
  readonly graceMs: number;
  /** Default folder of commands, while it exists. */
  readonly folder: string;
  /** Soft limit of open files of commands. */
  readonly openFiles?: number;
  /** Parent cgroup of the commands' cgroups. */
  readonly cgroup?: string;
}

/** The descriptor on which the spawner finds its end of the stream. */
export const LINK_DESCRIPTOR = 3;

/**
 * Makes glibc's allocator return large freed blocks to the system. The variables apply to the spawner and are
 * removed for commands.
 */
export const MALLOC_ENVIRONMENT: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '65536',
};

const NO_BYTES = new Uint8Array(0);

export function startBody(order: SpawnOrder, stdin: Uint8Array | undefined): Uint8Array[] {
  const json = Buffer.from(JSON.stringify(order));
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32LE(json.length);
  return [length, json, stdin ?? NO_BYTES];
}

export function readStartBody(body: Buffer): { order: SpawnOrder; stdin: Buffer } {
  const jsonEnd = 4 + body.readUInt32LE(0);
  const order = JSON.parse(body.toString('utf8', 4, jsonEnd)) as SpawnOrder;
  return { order, stdin: body.subarray(jsonEnd) };
}

export function killBody(reason: KillReason): Uint8Array {
  return Buffer.from(reason);
}

export function readKillBody(body: Buffer): KillReason {
  return body.toString('utf8') as KillReason;
}

const STREAM_NUMBER = { stdout: Uint8Array.of(1), stderr: Uint8Array.of(2) } as const;

export function outputBody(stream: OutputStream, bytes: Uint8Array): Uint8Array[] {
  return [STREAM_NUMBER[stream], bytes];
}

/** Decodes output. `bytes` is a copy, because a view would keep the whole receive buffer, often 64 KiB. */
export function readOutputBody(body: Buffer): { stream: OutputStream; bytes: Uint8Array } {
  return { stream: body[0] === 1 ? 'stdout' : 'stderr', bytes: new Uint8Array(body.subarray(1)) };
}

export function endedBody(report: EndReport): Uint8Array {
  return Buffer.from(JSON.stringify(report));
}

export function readEndedBody(body: Buffer): EndReport {
  return JSON.parse(body.toString('utf8')) as EndReport;
}

export function usedBody(usage: ReadonlyMap<number, Usage>): Uint8Array {
  return Buffer.from(JSON.stringify(Array.from(usage, ([run, { cpu, memory }]) => [run, cpu, memory])));
}

export function readUsedBody(body: Buffer): Map<number, Usage> {
  const rows = JSON.parse(body.toString('utf8')) as readonly (readonly [number, number, number])[];
  return new Map(rows.map(([run, cpu, memory]) => [run, { cpu, memory }]));
}
