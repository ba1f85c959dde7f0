import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import type { KillReason } from '@goshawk/core';
import { nameOfRealTimeSignal } from '@goshawk/core/system';
import { CgroupError, type TaskCgroup, type TaskLimits } from './cgroup.js';
import type { CommandStreams, Pipe } from './command-streams.js';
import { failed, type Measured, type Outcome, type OutputStream } from './contract.js';
import { abandonContainer, ContainerPause, endContainer } from './end-container.js';
import type { GroupUsage } from './group-usage.js';
import type { GroupWatch } from './group-watch.js';
import { BYTES_AFTER_EXIT_MAX, GROUP_POLL_MS } from './limits.js';
import { type OutputFiles, type OutputPaths, openOutputFiles, withFullDisk } from './output-files.js';
import { OutputLimit } from './output-limit.js';
import { type Exiting, exiting, signal } from './process-identity.js';
import { RunClock } from './run-clock.js';
import { spawnFailure } from './spawn-failure.js';
import type { AccountIds, Report, SpawnOrder } from './spawner-protocol.js';
import { StoppedCommand } from './stopped-command.js';

/** Cgroup and limits of a command. */
interface LimitedPlace {
  readonly cgroup: TaskCgroup;
  readonly limits: TaskLimits;
  /** The cgroup of this process. */
  readonly home: string;
}

/** Container of a command. The spawned process is only the client of the container engine. */
interface Container {
  readonly program: string;
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly image: string;
  readonly command: string;
}

/** Cgroup and container of a command, if it has them. */
interface RunLimits {
  readonly place: LimitedPlace | undefined;
  readonly engine: Container | undefined;
}

/** Parts of the spawner that all its runs share. */
interface Shared {
  readonly watch: GroupWatch;
  readonly usage: GroupUsage;
  readonly streams: CommandStreams;
}

interface SpawnedRunSink {
  started(pid: number): void;
  output(stream: OutputStream, bytes: Uint8Array): void;
  ended(outcome: Outcome, runMs: number, measured?: Measured, report?: Report): void;
}

/**
 * Number of event loop turns without a byte after which an open pipe counts as drained. The first may be the
 * rest of the turn in which the process ended. Each further turn polls every pipe.
 */
const QUIET_TURNS = 3;

/**
 * One command inside the spawner. The run ends with the main process of the command: its group is killed, and
 * pipes that are still open in other processes are drained once and closed.
 *
 *     starting ──▶ running ──process ends──▶ [killed: its group may use the grace time] ──▶ draining ──▶ ended
 */
export class SpawnedRun {
  readonly #sink: SpawnedRunSink;
  readonly #limit: OutputLimit;
  readonly #graceMs: number;
  readonly #watch: GroupWatch;
  readonly #usage: GroupUsage;
  readonly #streams: CommandStreams;
  readonly #place: LimitedPlace | undefined;
  readonly #container: Container | undefined;
  readonly #clock = new RunClock();
  /** The stopped processes of a paused command. */
  #stopped: StoppedCommand | undefined;
  readonly #containerPause: ContainerPause | undefined;
  #files: OutputFiles | undefined;
  #stdin: Writable | undefined;
  #stdout: Readable | undefined;
  #stderr: Readable | undefined;
  /** Receives the report, or shows only when the command has ended. */
  #extra: Readable | undefined;
  #openPipes = 0;
  #pid = 0;
  #killReason: KillReason | undefined;
  #killedAt = 0;
  #graceTimer: NodeJS.Timeout | undefined;
  #graceOver = false;
  /** The state of the process that the kernel shows until it is reaped. */
  #exiting: Exiting | undefined;
  #exit: { code: number | null; signal: NodeJS.Signals | null; runMs: number } | undefined;
  #bytesRead = 0;
  readonly #reportBytesMax: number;
  readonly #report: Buffer[] = [];
  #reportBytes = 0;
  #ended = false;

  constructor(
    order: SpawnOrder,
    graceMs: number,
    { watch, usage, streams }: Shared,
    { place, engine }: RunLimits,
    sink: SpawnedRunSink,
  ) {
    this.#place = place;
    this.#container = engine;
    this.#containerPause = engine && new ContainerPause(engine);
    this.#sink = sink;
    this.#limit = new OutputLimit(order.outputBytesMax);
    this.#reportBytesMax = order.reportBytesMax ?? 0;
    this.#graceMs = graceMs;
    this.#watch = watch;
    this.#usage = usage;
    this.#streams = streams;
  }

  /**
   * Forks the command, which blocks for about a millisecond.
   *
   * @param environment the whole environment of the command
   */
  start(order: SpawnOrder, input: Buffer, environment: Record<string, string | undefined>): void {
    if (order.files === undefined) this.#spawn(order, input, environment, {});
    else void this.#startWithFiles(order.files, order, input, environment);
  }

  async #startWithFiles(
    paths: OutputPaths,
    order: SpawnOrder,
    input: Buffer,
    environment: Record<string, string | undefined>,
  ): Promise<void> {
    const files = await openOutputFiles(paths, order.cwd);
    if ('error' in files) {
      this.#endUnstarted(files);
      return;
    }
    this.#files = files;
    if (this.#killReason !== undefined) this.#endUnstarted({ kind: 'killed', reason: this.#killReason });
    else this.#spawn(order, input, environment, files.descriptors);
    files.close();
  }

  #endUnstarted(outcome: Outcome): void {
    this.#ended = true;
    this.#place?.cgroup.remove();
    this.#sink.ended(outcome, 0);
  }

  #spawn(
    order: SpawnOrder,
    input: Buffer,
    environment: Record<string, string | undefined>,
    descriptors: OutputFiles['descriptors'],
  ): void {
    const fail = (error: NodeJS.ErrnoException): void => {
      this.#endUnstarted(
        spawnFailure(error, { ...order, env: environment, ownPath: order.env.PATH !== undefined }),
      );
    };
    this.#clock.start();
    const { account, cwd } = order;
    const hasExtraPipe =
      this.#reportBytesMax > 0 || (descriptors.stdout !== undefined && descriptors.stderr !== undefined);
    const stdin = order.hasStdin ? this.#streams.input(input) : undefined;
    const stdout = descriptors.stdout === undefined ? this.#streams.output() : undefined;
    const stderr = descriptors.stderr === undefined ? this.#streams.output() : undefined;
    const fork = (): ChildProcess =>
      spawn(order.command, order.args, {
        ...(cwd === undefined || account !== undefined ? {} : { cwd }),
        ...account,
        env: environment,
        detached: true, // a new session, and so a new process group
        stdio: [
          order.hasStdin ? (stdin ?? 'pipe') : 'ignore',
          descriptors.stdout ?? stdout?.command ?? 'pipe',
          descriptors.stderr ?? stderr?.command ?? 'pipe',
          ...(hasExtraPipe ? ['pipe' as const] : []),
          ...(order.early === undefined ? [] : ['pipe' as const]),
        ],
      });
    let child: ChildProcess | undefined;
    try {
      const place = this.#place;
      const forkHere = account === undefined ? fork : () => inFolderAs(account, cwd!, fork);
      child = place === undefined ? forkHere() : place.cgroup.forking(forkHere, place.limits, place.home);
    } catch (error) {
      // `spawn` throws some system errors (E2BIG). Others arrive as the `error` event below.
      if (error instanceof CgroupError) this.#endUnstarted(failed('process-limit', error.message));
      else if (error instanceof NoEntry) this.#endUnstarted(failed('no-such-folder', error.message));
      else fail(error as NodeJS.ErrnoException);
    }
    const isRunning = child?.pid !== undefined;
    if (stdin !== undefined) closeSync(stdin);
    for (const pipe of [stdout, stderr]) release(pipe, isRunning);
    if (child?.pid === undefined) {
      child?.once('error', fail);
      return;
    }
    this.#stdin = child.stdin ?? undefined;
    this.#stdout = reading(stdout) ?? child.stdout ?? undefined;
    this.#stderr = reading(stderr) ?? child.stderr ?? undefined;
    this.#extra = hasExtraPipe ? (child.stdio[3] as Readable) : undefined;
    if (order.early !== undefined) giveEarly(child.stdio[hasExtraPipe ? 4 : 3] as Writable, order.early);
    this.#pid = child.pid;
    if (this.#clock.isPaused) this.#stop();
    this.#sink.started(child.pid);
    // Leaves out containers, whose process is only the client. The kernel measures a cgroup, which avoids a
    // scan.
    const cgroup = this.#place?.cgroup;
    if (this.#container === undefined)
      this.#usage.add(child.pid, cgroup?.peakBytes === undefined ? undefined : () => cgroup.usage);
    this.#follow(child);
    // A command may ignore its input or end before reading all of it (EPIPE).
    this.#stdin?.on('error', () => {});
    this.#stdin?.end(input);
  }

  kill(reason: KillReason): void {
    if (this.#exit !== undefined || this.#killReason !== undefined || this.#ended) return;
    this.resume();
    this.#killReason = reason;
    if (this.#pid === 0) return; // its files are being opened
    this.#killedAt = performance.now();
    signal(-this.#pid, 'SIGTERM');
    signal(-this.#pid, 'SIGCONT'); // a stopped process acts on SIGTERM only after SIGCONT
    this.#graceTimer = setTimeout(() => {
      this.#graceOver = true;
      this.#endGroup();
    }, this.#graceMs);
  }

  pause(): void {
    if (this.#exit !== undefined || this.#killReason !== undefined || this.#ended) return;
    if (this.#clock.pause() && this.#pid !== 0) this.#stop();
  }

  resume(): void {
    if (this.#clock.resume()) this.#continue();
  }

  #stop(): void {
    if (this.#containerPause !== undefined) this.#containerPause.set(true);
    else if (this.#place?.cgroup.setPaused(true) !== true) this.#stopped = new StoppedCommand(this.#pid);
  }

  #continue(): void {
    this.#containerPause?.set(false);
    this.#place?.cgroup.setPaused(false);
    this.#stopped?.resume();
    this.#stopped = undefined;
  }

  /** Kills the group immediately, without a report, because the worker is gone. */
  abandon(): void {
    if (this.#pid !== 0) this.#endGroup();
    if (this.#container !== undefined) abandonContainer(this.#container);
  }

  pauseOutput(): void {
    if (this.#exit !== undefined) return;
    this.#stdout?.pause();
    this.#stderr?.pause();
  }

  resumeOutput(): void {
    this.#stdout?.resume();
    this.#stderr?.resume();
  }

  #follow(child: ChildProcess): void {
    this.#read('stdout', this.#stdout);
    this.#read('stderr', this.#stderr);
    // A pipe ends before its process is reaped. If output goes to files, a pipe exists only to detect this.
    for (const pipe of [this.#stdout, this.#stderr, this.#extra]) {
      if (pipe === undefined) continue;
      this.#openPipes++;
      pipe.once('close', () => {
        this.#openPipes--;
      });
      pipe.on('end', () => {
        if (this.#exit === undefined && !this.#exiting?.isFinal)
          this.#exiting = exiting(this.#pid) ?? this.#exiting;
      });
    }
    this.#extra?.on('data', (bytes: Buffer) => this.#keepReport(bytes)).on('error', () => {});
    child.on('error', () => {}); // only by child.kill(), which is not used
    child.once('exit', (code, signalName) => {
      this.#exit = { code, signal: signalName, runMs: this.#clock.runMs };
      this.#afterExit();
    });
  }

  #read(name: OutputStream, pipe: Readable | undefined): void {
    pipe?.on('data', (bytes: Buffer) => {
      this.#bytesRead += bytes.length;
      for (const chunk of this.#limit.keep(name, bytes)) this.#sink.output(chunk.stream, chunk.bytes);
    });
    pipe?.on('error', () => {});
  }

  #keepReport(bytes: Buffer): void {
    this.#bytesRead += bytes.length;
    this.#reportBytes += bytes.length;
    if (this.#reportBytes <= this.#reportBytesMax) this.#report.push(bytes);
  }

  /**
   * A killed group keeps its grace period after its leader has ended. A shell ends immediately, while its
   * child may still save data.
   */
  #afterExit(): void {
    if (
      this.#killReason !== undefined &&
      !this.#graceOver &&
      this.#watch.hasMembers(this.#pid, this.#killedAt)
    ) {
      setTimeout(() => this.#afterExit(), GROUP_POLL_MS);
      return;
    }
    clearTimeout(this.#graceTimer);
    this.#endGroup();
    this.resumeOutput();
    this.#drain(0, this.#bytesRead);
  }

  #drain(quietTurns: number, bytesAtExit: number): void {
    const readAfterExit = this.#bytesRead - bytesAtExit;
    if (this.#openPipes === 0 || quietTurns === QUIET_TURNS || readAfterExit > BYTES_AFTER_EXIT_MAX) {
      this.#end();
      return;
    }
    const bytesRead = this.#bytesRead;
    setImmediate(() => this.#drain(this.#bytesRead === bytesRead ? quietTurns + 1 : 0, bytesAtExit));
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const memoryExceeded = this.#memoryExceeded();
    const measured = this.#measured();
    this.#place?.cgroup.remove();
    this.#stdout?.destroy();
    this.#stderr?.destroy();
    this.#extra?.destroy();
    this.#stdin?.destroy();
    for (const { stream, bytes } of this.#limit.end()) this.#sink.output(stream, bytes);
    const { code, signal: signalName, runMs } = this.#exit!;
    const outcome = this.#outcome(code, signalName, memoryExceeded);
    const report = this.#reported();
    void this.#settled(outcome).then((settled) => this.#sink.ended(settled, runMs, measured, report));
  }

  #reported(): Report | undefined {
    const size = this.#reportBytes;
    if (size === 0) return undefined;
    return size > this.#reportBytesMax
      ? { size }
      : { size, content: Buffer.concat(this.#report).toString('base64') };
  }

  #measured(): Measured {
    const sampled = this.#usage.take(this.#pid);
    const cgroup = this.#place?.cgroup;
    const maxRssBytes = cgroup?.peakBytes ?? sampled?.peak;
    // A container is a child of its engine and not of the client that was spawned.
    if (this.#container !== undefined) return { maxRssBytes };
    const cpuMs = cgroup?.cpuMs ?? Math.max(this.#exiting?.cpuMs ?? 0, sampled?.cpuMs ?? 0);
    return { maxRssBytes, cpuMs: cpuMs > 0 ? cpuMs : undefined };
  }

  /** Ends the container, and looks for causes of a failure that the exit code does not show. */
  async #settled(outcome: Outcome): Promise<Outcome> {
    const settled = this.#container === undefined ? outcome : await inContainer(outcome, this.#container);
    if (settled.kind !== 'failed' || this.#files === undefined) return settled;
    return withFullDisk(settled, this.#files);
  }

  /** Returns the exceeded memory demand if that ended the command. */
  #memoryExceeded(): number | undefined {
    const { cgroup, limits } = this.#place ?? {};
    return cgroup?.ranOutOfMemory ? limits?.memory : undefined;
  }

  #outcome(
    code: number | null,
    signalName: NodeJS.Signals | null,
    memoryExceeded: number | undefined,
  ): Outcome {
    if (this.#killReason !== undefined) return { kind: 'killed', reason: this.#killReason };
    const { fatalSignal = 0 } = this.#exiting ?? {};
    // Node.js has no names for the signals above 31 and reports exit code 0 for them.
    if (fatalSignal > 31) return killedBy(nameOfRealTimeSignal(fatalSignal), fatalSignal);
    if (code === 0) return { kind: 'completed', exitCode: 0 };
    if (memoryExceeded !== undefined) return failed('out-of-memory', outOfMemoryMessage(memoryExceeded));
    if (code !== null) {
      return { ...failed('exit-code', `the command ended with exit code ${code}`), exitCode: code };
    }
    return killedBy(signalName!, constants.signals[signalName!]);
  }

  #endGroup(): void {
    signal(-this.#pid, 'SIGKILL');
    this.resume(); // of processes outside the group
    this.#place?.cgroup.kill();
  }
}

/** Closes the command's end, which the command has by now, and also the own end of a command that did not start. */
function release(pipe: Pipe | undefined, isRunning: boolean): void {
  if (pipe === undefined) return;
  closeSync(pipe.command);
  if (!isRunning) closeSync(pipe.own);
}

function reading(pipe: Pipe | undefined): Socket | undefined {
  return pipe && new Socket({ fd: pipe.own, writable: false });
}

function giveEarly(pipe: Writable, early: string): void {
  // The command may fail before it reads.
  pipe.on('error', () => {});
  pipe.end(Buffer.from(early, 'base64'));
}

class NoEntry extends Error {}

/**
 * Forks in a folder that only the account may be able to enter. Node.js would enter it with the rights of
 * this process. No asynchronous file operation may run meanwhile, because the ids of all threads change.
 *
 * @throws NoEntry
 */
function inFolderAs({ uid, gid }: AccountIds, folder: string, fork: () => ChildProcess): ChildProcess {
  const { setegid, seteuid, chdir } = process as Required<NodeJS.Process>;
  try {
    setegid(gid);
    seteuid(uid);
    chdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new NoEntry(`the folder "${folder}" cannot be entered by the account of the task: ${code}`);
  } finally {
    seteuid(0);
    setegid(0);
  }
  try {
    return fork();
  } finally {
    chdir('/');
  }
}

/** Removes the container, and explains the end of the engine's client by the state of the container. */
async function inContainer(outcome: Outcome, container: Container): Promise<Outcome> {
  const { program, image, command } = container;
  const state = await endContainer(container);
  if (outcome.kind !== 'failed') return outcome;
  // The engine did not answer. Its client exits with 125 if the engine caused the failure.
  if (state === undefined && outcome.exitCode !== 125) return outcome;
  if (state?.ranOutOfMemory)
    return failed('out-of-memory', 'the command was killed: it used more memory than the job requested');
  if (state?.hasRun) return outcome;
  if (state?.exitCode === 127)
    return failed('command-not-found', `the command "${command}" is not in the image "${image}"`);
  if (state?.exitCode === 126)
    return failed('permission-denied', `"${command}" in the image "${image}" is not executable`);
  return failed('container-failed', `${program} did not start the image "${image}"; stderr has the cause`);
}

function outOfMemoryMessage(bytes: number): string {
  const mebibytes = (bytes / (1024 * 1024)).toFixed(0);
  return `the command was killed: it used more memory than the ${mebibytes} MiB that the job requested`;
}

function killedBy(name: string, number: number): Outcome {
  const hint = name === 'SIGKILL' ? ', possibly by the kernel, because the machine ran out of memory' : '';
  return {
    ...failed('signal', `the command was killed by ${name} (signal ${number})${hint}`),
    signal: name,
  };
}
