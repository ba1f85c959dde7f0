import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { ExecPayload, KillReason } from '@goshawk/core';
import { compiledFile } from './compiled.js';
import type { Containers } from './containers.js';
import {
  type Executor,
  failed,
  type Outcome,
  type Run,
  type RunOrder,
  type RunSink,
  refused,
} from './contract.js';
import { spawnOrder } from './exec.js';
import { type Frame, FrameReader, FrameWriter } from './framing.js';
import type { Isolation } from './isolation.js';
import { endRecorded } from './leftovers.js';
import { CLOSE_MARGIN_MS, UNANSWERED_STARTS_MAX } from './limits.js';
import { type ModuleLimits, moduleOutcome, moduleProcess } from './module-process-protocol.js';
import { checkExec } from './payload.js';
import { createRecord, RECORD_VARIABLE, recordFile } from './process-groups.js';
import { isSuspended, processIdentity } from './process-identity.js';
import {
  FrameKind,
  killBody,
  LINK_DESCRIPTOR,
  MALLOC_ENVIRONMENT,
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

/** Soft limit of open files that Linux gives a login. */
const LOGIN_OPEN_FILES = 1_024;

interface ExecExecutorOptions {
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
  readonly containers?: Containers | undefined;
}

const NO_IMAGES_IN_ISOLATION = 'this worker isolates tasks (--run-as) and does not run images';
const NO_ENGINE = 'this worker has neither Docker nor Podman, or may not use them';

/** Calls `forget` if the engine did not start the container, for example because the image was removed. */
function withoutImage(sink: RunSink, forget: () => void): RunSink {
  return {
    started: () => sink.started?.(),
    output: (chunk) => sink.output(chunk),
    used: (usage) => sink.used?.(usage),
    ended: (outcome, ...measured) => {
      if (outcome.kind === 'failed' && outcome.error.code === 'container-failed') forget();
      sink.ended(outcome, ...measured);
    },
  };
}

/** Returns the outcome of an ended run, which may depend on the report of its command. */
type Settle = (outcome: Outcome, report: string | undefined) => Outcome;

const UNCHANGED_OUTCOME: Settle = (outcome) => outcome;

/** A run that has not been sent to the spawner. */
interface WaitingRun {
  readonly order: SpawnOrder;
  readonly stdin: Uint8Array | undefined;
  readonly sink: RunSink;
  readonly settle: Settle;
}

interface SpawnerRun {
  readonly sink: RunSink;
  readonly settle: Settle;
  /** Time of the start; undefined until the spawner reports the start. */
  readonly startedAt: number | undefined;
}

/** One spawner process. */
interface Spawner {
  readonly process: ChildProcess;
  readonly stream: Socket;
  readonly writer: FrameWriter;
  readonly recordFile: string;
  ready: boolean;
}

/**
 * Runs commands through a spawner process, which starts with the first run and restarts after a crash. Sent
 * runs of a crashed spawner fail (`spawner-lost`). The other runs go to the next spawner.
 */
export class ExecExecutor implements Executor {
  readonly #options: ExecExecutorOptions;
  // Each run is in one of the three maps below, by its number.
  /** Runs that have not been sent, in order. */
  readonly #waiting = new Map<number, WaitingRun>();
  /** Runs that have been sent and have not started. */
  readonly #sent = new Map<number, SpawnerRun>();
  readonly #started = new Map<number, SpawnerRun>();
  #nextRun = 1;
  #spawner: Spawner | undefined;
  #cleaning: Promise<unknown> = Promise.resolve();

  constructor(options: ExecExecutorOptions) {
    this.#options = options;
  }

  /** @throws BadPayload, which executors.ts turns into a failed run */
  start(order: RunOrder, sink: RunSink): Run {
    const payload = order.payload as ExecPayload;
    checkExec(payload);
    const stdin = typeof payload.stdin === 'string' ? Buffer.from(payload.stdin) : payload.stdin;
    const given = spawnOrder(order, payload);
    const { isolation, environment } = this.#options;
    if (payload.image !== undefined) return this.#startInImage(given, payload.image, order, stdin, sink);
    const started = isolation === undefined ? given : isolation.isolate(given, order, environment);
    if ('kind' in started) return refused(started, sink);
    return this.#queue(started, stdin, sink);
  }

  /** Runs a module in a process under isolation. @throws BadPayload */
  startModule(order: RunOrder, sink: RunSink, limits: ModuleLimits): Run {
    const { isolation, environment } = this.#options;
    const made = moduleProcess(order, limits);
    if ('kind' in made) return refused(made, sink);
    const started = isolation!.isolate(made.order, { ...order, ...made }, environment);
    if ('kind' in started) return refused(started, sink);
    return this.#queue(started, made.stdin, sink, (ended, report) => moduleOutcome(ended, report, limits));
  }

  #queue(order: SpawnOrder, stdin: Uint8Array | undefined, sink: RunSink, settle = UNCHANGED_OUTCOME): Run {
    const run = this.#nextRun;
    this.#nextRun = run === 0xffff_ffff ? 1 : run + 1;
    this.#waiting.set(run, { order, stdin, sink, settle });
    // The sink is called only after this call has returned.
    queueMicrotask(() => this.#advance());
    return { kill: (reason) => this.#kill(run, reason) };
  }

  /** Queues a run in a container, and pulls the image first if this machine lacks it. */
  #startInImage(
    order: SpawnOrder,
    image: string,
    { folder }: RunOrder,
    stdin: Uint8Array | undefined,
    sink: RunSink,
  ): Run {
    const { isolation, containers } = this.#options;
    if (isolation !== undefined) return refused(failed('not-allowed', NO_IMAGES_IN_ISOLATION), sink);
    if (containers === undefined) return refused(failed('image-unavailable', NO_ENGINE), sink);
    const contained = containers.contain(order, image, { folder });
    if ('kind' in contained) return refused(contained, sink);
    let queued: Run | undefined;
    let killed = false;
    void containers.prepare(image).then((problem) => {
      if (killed) return;
      if (problem === undefined)
        queued = this.#queue(
          contained,
          stdin,
          withoutImage(sink, () => containers.invalidate(image)),
        );
      else sink.ended(problem, 0);
    });
    return {
      kill: (reason) => {
        if (queued !== undefined) return queued.kill(reason);
        if (killed) return;
        killed = true;
        queueMicrotask(() => sink.ended({ kind: 'killed', reason }, 0));
      },
    };
  }

  #kill(run: number, reason: KillReason): void {
    const waiting = this.#waiting.get(run);
    if (waiting !== undefined) {
      this.#waiting.delete(run);
      queueMicrotask(() => waiting.sink.ended({ kind: 'killed', reason }, 0));
    } else if (this.#sent.has(run) || this.#started.has(run)) {
      this.#spawner?.writer.send(FrameKind.Kill, run, killBody(reason));
    }
  }

  /** Ends the spawner. Killed runs that have not ended are then abandoned. */
  async close(): Promise<void> {
    const spawner = this.#spawner;
    this.#spawner = undefined;
    if (spawner !== undefined) await endSpawner(spawner);
    await this.#cleaning;
    endAll(this.#takeSpawnerRuns(), { kind: 'killed', reason: 'shutdown' });
  }

  #advance(): void {
    if (this.#waiting.size === 0) return;
    if (this.#spawner === undefined && !this.#startSpawner()) return;
    const spawner = this.#spawner!;
    if (!spawner.ready) return;
    for (const [run, { order, stdin, sink, settle }] of this.#waiting) {
      if (this.#sent.size >= UNANSWERED_STARTS_MAX) return;
      this.#waiting.delete(run);
      this.#sent.set(run, { sink, settle, startedAt: undefined });
      spawner.writer.send(FrameKind.Start, run, ...startBody(order, stdin));
    }
  }

  #startSpawner(): boolean {
    const recordId = `${process.pid}-${randomBytes(6).toString('hex')}`;
    const file = recordFile(this.#options.dataFolder, recordId);
    const { graceMs, cgroup, folder, openFiles: given, isolation } = this.#options;
    const openFiles = isolation === undefined ? given : Math.min(given ?? LOGIN_OPEN_FILES, LOGIN_OPEN_FILES);
    const settings: SpawnerSettings = {
      recordFile: file,
      recordId,
      graceMs,
      folder: folder ?? process.cwd(),
      ...(openFiles === undefined ? {} : { openFiles }),
      ...(cgroup === undefined ? {} : { cgroup }),
    };
    let child: ChildProcess | undefined;
    try {
      const [program, ...args] = [...(isolation?.launcher ?? []), process.execPath];
      child = spawn(
        program!,
        [...args, ...SPAWNER_FLAGS, compiledFile('./spawner.js', import.meta.url), JSON.stringify(settings)],
        {
          env: { ...MALLOC_ENVIRONMENT, ...this.#options.environment, [RECORD_VARIABLE]: recordId },
          cwd: '/',
          detached: true, // Ctrl-C on the worker's terminal must not reach the spawner
          stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
        },
      );
      if (child.pid === undefined) {
        child.once('error', (error) => this.#cannotStart(error));
        return false;
      }
      createRecord(file, ownIdentity(process.pid), ownIdentity(child.pid));
      this.#spawner = this.#connect(child, file);
      return true;
    } catch (error) {
      child?.kill('SIGKILL');
      this.#cannotStart(error as Error);
      return false;
    }
  }

  #cannotStart({ message }: Error): void {
    endAll(this.#takeWaiting(), failed('spawner-failed', `cannot start commands: ${message}`));
  }

  #connect(child: ChildProcess, file: string): Spawner {
    const stream = child.stdio[LINK_DESCRIPTOR] as Socket;
    const spawner: Spawner = {
      process: child,
      stream,
      writer: new FrameWriter(stream),
      recordFile: file,
      ready: false,
    };
    const reader = new FrameReader((frame) => this.#onFrame(spawner, frame));
    const patrol = setInterval(() => this.#resumeIfSuspended(spawner), PATROL_MS).unref();
    const lost = (): void => {
      clearInterval(patrol);
      this.#lost(spawner);
    };
    stream.on('data', (bytes: Buffer) => reader.push(bytes));
    stream.on('error', lost);
    stream.on('close', lost);
    // The process may exit before its last messages are read, so only the end of the stream counts.
    child.on('error', lost);
    // An idle spawner does not keep the worker's process alive; runs do (see executors.ts).
    child.unref();
    stream.unref();
    return spawner;
  }

  /** A command may suspend the spawner, which is its parent: nothing would start or end at this worker anymore. */
  #resumeIfSuspended({ process: { pid } }: Spawner): void {
    if (this.#sent.size + this.#started.size === 0 || !isSuspended(pid!)) return;
    process.kill(pid!, 'SIGCONT');
    this.#options.warn('a command suspended the spawner process, which continues');
  }

  #onFrame(spawner: Spawner, { kind, run, body }: Frame): void {
    if (kind === FrameKind.Ready) {
      spawner.ready = true;
      this.#advance();
      return;
    }
    if (kind === FrameKind.Used) {
      for (const [each, usage] of readUsedBody(body)) this.#started.get(each)?.sink.used?.(usage);
      return;
    }
    const given = this.#sent.get(run) ?? this.#started.get(run);
    if (given === undefined) return;
    const { sink, settle } = given;
    switch (kind) {
      case FrameKind.Started:
        this.#sent.delete(run);
        this.#started.set(run, { ...given, startedAt: performance.now() });
        sink.started?.();
        break;
      case FrameKind.Output:
        sink.output(readOutputBody(body));
        return;
      case FrameKind.Ended: {
        const { outcome, runMs, maxRssBytes, report } = readEndedBody(body);
        this.#sent.delete(run);
        this.#started.delete(run);
        sink.ended(settle(outcome, report), runMs, maxRssBytes);
        break;
      }
    }
    this.#advance();
  }

  /**
   * Handles the death of the spawner or of its stream. Commands are killed before their runs are reported as
   * failed, because the report may restart them.
   */
  #lost(spawner: Spawner): void {
    if (this.#spawner !== spawner) return;
    this.#spawner = undefined;
    spawner.process.kill('SIGKILL');
    spawner.stream.destroy();
    const given = this.#takeSpawnerRuns();
    // Waiting runs go to the next spawner, unless this one failed before it was ready.
    const refused = spawner.ready ? [] : this.#takeWaiting();
    this.#options.warn(`the spawner process died with ${given.length} running commands`);
    this.#cleaning = endRecorded(spawner.recordFile).then(() => {
      endAll(given, failed('spawner-lost', 'the spawner process died together with this command'));
      endAll(refused, failed('spawner-failed', 'the spawner process exited before it was ready'));
      this.#advance();
    });
  }

  #takeWaiting(): SpawnerRun[] {
    const waiting = [...this.#waiting.values()].map((run) => ({ ...run, startedAt: undefined }));
    this.#waiting.clear();
    return waiting;
  }

  /** Removes the runs of the spawner, so that its later messages are ignored. */
  #takeSpawnerRuns(): SpawnerRun[] {
    const given = [...this.#sent.values(), ...this.#started.values()];
    this.#sent.clear();
    this.#started.clear();
    return given;
  }
}

function endAll(runs: readonly SpawnerRun[], outcome: Outcome): void {
  for (const { sink, startedAt } of runs)
    sink.ended(outcome, startedAt === undefined ? 0 : performance.now() - startedAt);
}

/** Closes the link, which makes the spawner kill its commands and exit. Kills a spawner that does not respond. */
async function endSpawner({ process: child, stream, recordFile: file }: Spawner): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MARGIN_MS);
      child.ref();
      child.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      stream.end();
    });
  }
  await endRecorded(file);
}

function ownIdentity(pid: number): { pid: number; start: number } {
  return processIdentity(pid) ?? { pid, start: 0 };
}
