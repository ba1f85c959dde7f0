import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { KillReason } from '@goshawk/core';
import { compiledFile } from './compiled.js';
import { failed, type Outcome, type RunSink } from './contract.js';
import { type Frame, FrameReader, FrameWriter } from './framing.js';
import type { Isolation } from './isolation.js';
import { endRecorded } from './leftovers.js';
import { CLOSE_MARGIN_MS, LOGIN_OPEN_FILES } from './limits.js';
import { createRecord, RECORD_VARIABLE, recordFile } from './process-groups.js';
import { isSuspended, processIdentity } from './process-identity.js';
import { RunClock } from './run-clock.js';
import {
  FrameKind,
  killBody,
  LINK_DESCRIPTOR,
  MALLOC_ENVIRONMENT,
  type Report,
  readEndedBody,
  readOutputBody,
  readUsedBody,
  type SpawnerSettings,
  type SpawnOrder,
  startBody,
} from './spawner-protocol.js';

/**
 * Flags that keep V8's heap small and release memory after a burst, because forks of a large process are
 * slow. Without them and MALLOC_ENVIRONMENT, a flood of output cost 60 MB and a third of the speed.
 */
const SPAWNER_FLAGS = [
  '--optimize-for-size',
  '--max-semi-space-size=1',
  '--v8-pool-size=0',
  '--max-old-space-size=512',
];

/** Interval between checks that nothing has suspended the spawner. */
const PATROL_MS = 1_000;

export interface SpawnerOptions {
  readonly dataFolder: string;
  readonly graceMs: number;
  /** The environment that the spawner and its commands inherit. */
  readonly environment: Readonly<Record<string, string>>;
  readonly warn: (message: string) => void;
  /** See `ExecutorOptions`. */
  readonly cgroup?: string | undefined;
  readonly folder?: string | undefined;
  readonly openFiles?: number | undefined;
  readonly isolation?: Isolation | undefined;
}

/** Returns the outcome of an ended run, which may depend on the report of its command. */
export type Settle = (outcome: Outcome, report: Report | undefined) => Outcome;

/** A run that has not been sent to a spawner. */
export interface WaitingRun {
  readonly order: SpawnOrder;
  readonly stdin: Uint8Array | undefined;
  readonly sink: RunSink;
  readonly settle: Settle;
  isPaused: boolean;
}

interface SentRun {
  readonly sink: RunSink;
  readonly settle: Settle;
  /** Starts when the spawner reports the start. */
  readonly clock: RunClock;
}

interface SpawnerEvents {
  /** The spawner is ready, or a run has started or ended. */
  readonly advanced: () => void;
  /** The spawner has died, or did not start; not called after `close`. */
  readonly lost: (spawner: SpawnerLink) => void;
}

/** A spawner process, and the runs that it has been sent. If it dies, they fail (`spawner-lost`). */
export class SpawnerLink {
  readonly #options: SpawnerOptions;
  readonly #events: SpawnerEvents;
  readonly #process: ChildProcess | undefined;
  readonly #stream: Socket | undefined;
  readonly #writer: FrameWriter | undefined;
  /** Undefined if the process or its record could not be created. */
  readonly #recordFile: string | undefined;
  #state: 'starting' | 'ready' | 'ended' = 'starting';
  #problem: string | undefined;
  #cleaned: Promise<unknown> = Promise.resolve();
  // Each run is in one of the two maps below, by its number.
  readonly #unanswered = new Map<number, SentRun>();
  readonly #started = new Map<number, SentRun>();

  /** Starts the process. */
  constructor(options: SpawnerOptions, events: SpawnerEvents) {
    this.#options = options;
    this.#events = events;
    const recordId = `${process.pid}-${randomBytes(6).toString('hex')}`;
    const file = recordFile(options.dataFolder, recordId);
    try {
      const child = spawnProcess(options, recordId, file);
      this.#process = child;
      child.on('error', (error) => this.#cannotStart(error));
      if (child.pid === undefined) return;
      createRecord(file, ownIdentity(process.pid), ownIdentity(child.pid));
      this.#recordFile = file;
      this.#stream = child.stdio[LINK_DESCRIPTOR] as Socket;
      this.#writer = new FrameWriter(this.#stream);
      this.#listen(child, this.#stream);
    } catch (error) {
      queueMicrotask(() => this.#cannotStart(error as Error));
    }
  }

  get isReady(): boolean {
    return this.#state === 'ready';
  }

  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** Why it died before it was ready; undefined for any other end. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Number of runs that have been sent and have not started. */
  get unansweredCount(): number {
    return this.#unanswered.size;
  }

  /** Resolves once everything that a dead spawner has started is gone, and its runs have failed. */
  get cleaned(): Promise<unknown> {
    return this.#cleaned;
  }

  send(run: number, { order, stdin, sink, settle, isPaused }: WaitingRun): void {
    this.#unanswered.set(run, { sink, settle, clock: new RunClock() });
    this.#writer!.send(FrameKind.Start, run, ...startBody(order, stdin));
    if (isPaused) this.setPaused(run, true);
  }

  /** Does nothing for a run of another spawner. */
  kill(run: number, reason: KillReason): void {
    if (this.#unanswered.has(run) || this.#started.has(run))
      this.#writer!.send(FrameKind.Kill, run, killBody(reason));
  }

  /** Does nothing for a run of another spawner. */
  setPaused(run: number, isPaused: boolean): void {
    const clock = (this.#unanswered.get(run) ?? this.#started.get(run))?.clock;
    if (clock === undefined || !(isPaused ? clock.pause() : clock.resume())) return;
    this.#writer!.send(isPaused ? FrameKind.Pause : FrameKind.Resume, run);
  }

  /** Ends the spawner. Killed runs that have not ended are then abandoned. */
  async close(): Promise<void> {
    if (this.#state !== 'ended') {
      this.#state = 'ended';
      await this.#end();
    }
    await this.#cleaned;
    endRuns(this.#takeRuns(), { kind: 'killed', reason: 'shutdown' });
  }

  #listen(child: ChildProcess, stream: Socket): void {
    const reader = new FrameReader((frame) => this.#onFrame(frame));
    const patrol = setInterval(() => this.#resumeIfSuspended(), PATROL_MS).unref();
    // The process may exit before its last messages are read, so only the end of the stream counts.
    const lost = (): void => {
      clearInterval(patrol);
      this.#lost('a spawner process exited before it was ready');
    };
    stream.on('data', (bytes: Buffer) => reader.push(bytes));
    stream.on('error', lost);
    stream.on('close', lost);
    // An idle spawner does not keep the worker's process alive; runs do (see executors.ts).
    child.unref();
    stream.unref();
  }

  /** A command may suspend the spawner, which is its parent: nothing would start or end there anymore. */
  #resumeIfSuspended(): void {
    const { pid } = this.#process!;
    if (this.#unanswered.size + this.#started.size === 0 || !isSuspended(pid!)) return;
    process.kill(pid!, 'SIGCONT');
    this.#options.warn('a command suspended a spawner process, which continues');
  }

  #onFrame({ kind, run, body }: Frame): void {
    if (this.#state === 'starting' && kind === FrameKind.Ready) {
      this.#state = 'ready';
      return this.#events.advanced();
    }
    if (kind === FrameKind.Used) {
      for (const [each, usage] of readUsedBody(body)) this.#started.get(each)?.sink.used?.(usage);
      return;
    }
    const sent = this.#unanswered.get(run) ?? this.#started.get(run);
    if (sent === undefined) return;
    const { sink, settle } = sent;
    switch (kind) {
      case FrameKind.Started:
        this.#unanswered.delete(run);
        this.#started.set(run, sent);
        sent.clock.start();
        sink.started?.();
        break;
      case FrameKind.Output:
        sink.output(readOutputBody(body));
        return;
      case FrameKind.Ended: {
        const { outcome, runMs, measured, report } = readEndedBody(body);
        this.#unanswered.delete(run);
        this.#started.delete(run);
        sink.ended(settle(outcome, report), runMs, measured);
        break;
      }
    }
    this.#events.advanced();
  }

  #cannotStart({ message }: Error): void {
    this.#lost(`cannot start commands: ${message}`);
  }

  /**
   * Handles the death of the spawner or of its stream. Commands are killed before their runs are reported as
   * failed, because the report may restart them.
   */
  #lost(problem: string): void {
    if (this.#state === 'ended') return;
    if (this.#state === 'starting') this.#problem = problem;
    this.#state = 'ended';
    this.#process?.kill('SIGKILL');
    this.#stream?.destroy();
    const runs = this.#takeRuns();
    this.#cleaned = this.#clean().then(() =>
      endRuns(runs, failed('spawner-lost', 'the spawner process died together with this command')),
    );
    this.#events.lost(this);
    this.#options.warn(this.#problem ?? `a spawner process died with ${runs.length} running commands`);
  }

  /** Kills what a dead spawner left running. Its runs end even if its record cannot be removed. */
  async #clean(): Promise<void> {
    if (this.#recordFile === undefined) return;
    await endRecorded(this.#recordFile).catch(({ message }: Error) =>
      this.#options.warn(`cannot remove the record of a dead spawner process: ${message}`),
    );
  }

  /** Removes the runs of the spawner, so that its later messages are ignored. */
  #takeRuns(): SentRun[] {
    const runs = [...this.#unanswered.values(), ...this.#started.values()];
    this.#unanswered.clear();
    this.#started.clear();
    return runs;
  }

  /** Closes the link, which makes the spawner kill its commands and exit. Kills a spawner that does not respond. */
  async #end(): Promise<void> {
    const child = this.#process;
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MARGIN_MS);
        child.ref();
        child.once('exit', () => {
          clearTimeout(timer);
          resolve();
        });
        this.#stream?.end();
      });
    }
    await this.#clean();
  }
}

/** Starts a spawner process. @throws Error of the system; some reach the process's `error` event instead */
function spawnProcess(options: SpawnerOptions, recordId: string, file: string): ChildProcess {
  const { graceMs, cgroup, folder, openFiles: given, isolation, environment } = options;
  const openFiles = isolation === undefined ? given : Math.min(given ?? LOGIN_OPEN_FILES, LOGIN_OPEN_FILES);
  const settings: SpawnerSettings = {
    recordFile: file,
    recordId,
    graceMs,
    folder: folder ?? process.cwd(),
    ...(openFiles === undefined ? {} : { openFiles }),
    ...(cgroup === undefined ? {} : { cgroup }),
  };
  const [program, ...args] = [...(isolation?.launcher ?? []), process.execPath];
  return spawn(
    program!,
    [...args, ...SPAWNER_FLAGS, compiledFile('./spawner.js', import.meta.url), JSON.stringify(settings)],
    {
      env: { ...MALLOC_ENVIRONMENT, ...environment, [RECORD_VARIABLE]: recordId },
      cwd: '/',
      detached: true, // Ctrl-C on the worker's terminal must not reach the spawner
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    },
  );
}

function endRuns(runs: readonly SentRun[], outcome: Outcome): void {
  for (const { sink, clock } of runs) sink.ended(outcome, clock.runMs);
}

function ownIdentity(pid: number): { pid: number; start: number } {
  return processIdentity(pid) ?? { pid, start: 0 };
}
