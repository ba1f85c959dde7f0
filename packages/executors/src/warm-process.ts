import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecPayload, KillReason } from '@goshawk/core';
import {
  type Executor,
  failed,
  type Outcome,
  type OutputStream,
  type Run,
  type RunOrder,
  type RunSink,
  type Usage,
} from './contract.js';
import { tooLargeMessage } from './json-value.js';
import {
  ERROR_MESSAGE_LENGTH_MAX,
  VALUE_CHANNELS_MAX,
  WARM_ANSWER_BYTES_MAX,
  WARM_EXIT_MS,
  WARM_IDLE_CPU_MS,
} from './limits.js';
import { OutputLimit } from './output-limit.js';
import { serveValues } from './values-channel.js';

/**
 * Messages between the worker and a warm process, on a Unix socket at the path in `GOSHAWK_CALLS`. Each is a u32 of its length (little
 * endian) and JSON.
 *
 * | message                                  | from    | when                                                       |
 * |------------------------------------------|---------|------------------------------------------------------------|
 * | {mark, values?, served?}                 | worker  | once: bytes to write to stdout and stderr after each call, |
 * |                                          |         | and the folder for large values, or whether the worker     |
 * |                                          |         | serves them (values-channel.ts)                            |
 * | {id, stdin, env}                         | worker  | a call                                                     |
 * | {began: id}                              | process | before the code of the call runs                           |
 * | {stale: id}                              | process | instead: the code has changed, so a new process must run it|
 * | {ended: id, value?, error?, last, peak?} | process | after the call; `last`: the process takes no more calls    |
 *
 * The process exits when the socket ends.
 */
const CALLS_VARIABLE = 'GOSHAWK_CALLS';
/** Exit code of a process whose call has closed its socket or its output. */
const CLOSED_FILES_CODE = 96;
/** Messages that a process may send for a call: it has at most three to say. */
const MESSAGES_MAX = 8;
/** Variables that differ between the calls of one process. */
const OF_THE_CALL = ['GOSHAWK_JOB', 'GOSHAWK_TASK', 'GOSHAWK_ATTEMPT', 'GOSHAWK_RUN', 'TRACEPARENT'];

/** A call that waits for a process or runs in one. */
export interface WarmCall {
  readonly order: RunOrder;
  readonly sink: RunSink;
  /** Time at which it began; undefined: it has not. */
  startedAt: number | undefined;
  isPaused: boolean;
}

/** Folder for large values. `isServed`: the process does not see it. */
export interface ValuesFolder {
  readonly folder: string;
  readonly isServed: boolean;
}

/** Events of a process for its pool. */
interface WarmEvents {
  /** It can take another call. */
  readonly idle: (process: WarmProcess) => void;
  /** It takes no more calls, and has ended or soon will. */
  readonly spent: (process: WarmProcess) => void;
  /** It has ended. */
  readonly gone: (process: WarmProcess) => void;
  /** The call has not begun here, and needs another process. */
  readonly again: (call: WarmCall) => void;
}

interface Answer {
  readonly value?: unknown;
  readonly error?: unknown;
  readonly last?: unknown;
  readonly peak?: unknown;
}

/** A process that runs one call after the other, as a command of the executor of commands. */
export class WarmProcess {
  readonly key: string;
  /** When its last call ended, by `performance.now()`. */
  idleSince = 0;
  /** Whether it has used CPUs between calls, so that it must be stopped as soon as a call has ended. */
  isRestless = false;
  readonly #events: WarmEvents;
  readonly #folder: string;
  readonly #values: ValuesFolder | undefined;
  readonly #valueBytesMax: number;
  /** Connections for large values. */
  readonly #channels = new Set<Socket>();
  readonly #server: Server;
  readonly #run: Run;
  readonly #mark = Buffer.from(`\0goshawk ${randomBytes(12).toString('hex')}\0`);
  #socket: Socket | undefined;
  #call: WarmCall | undefined;
  #isSent = false;
  #began = false;
  #id = 0;
  /** Messages since the last call was sent. */
  #messages = 0;
  #answer: Answer | undefined;
  /** Length of the message with the answer. */
  #answerBytes = 0;
  /** Time in calls since the last report of its usage, and when that report and the present call began. */
  #busyMs = 0;
  #usedAt = performance.now();
  #busySince = 0;
  #limit: OutputLimit | undefined;
  readonly #output: Readonly<Record<OutputStream, MarkedStream>>;
  #killedFor: KillReason | undefined;
  #isSpent = false;
  #exitTimer: NodeJS.Timeout | undefined;
  #pausedAt: number | undefined;
  /** Duration of the ended pauses of the call. */
  #pausedMs = 0;

  /** @throws Error of the system if its socket cannot be created */
  constructor(
    key: string,
    call: WarmCall,
    exec: Executor,
    values: ValuesFolder | undefined,
    valueBytesMax: number,
    events: WarmEvents,
  ) {
    this.key = key;
    this.#values = values;
    this.#valueBytesMax = valueBytesMax;
    this.#events = events;
    this.#output = { stdout: new MarkedStream(this.#mark), stderr: new MarkedStream(this.#mark) };
    this.#folder = mkdtempSync(join(tmpdir(), 'goshawk-warm-'));
    const path = join(this.#folder, 'calls');
    this.#server = createServer((socket) => this.#connected(socket)).on('error', () => {});
    // The socket exists when this returns, so that isolation can give it to the account of the task.
    this.#server.listen(path);
    this.#server.unref();
    try {
      // Only the account of the folder reaches the socket.
      chmodSync(path, 0o666);
      this.#take(call);
      this.#run = exec.start(this.#order(call.order, path), {
        started: () => this.#started(),
        output: ({ stream, bytes }) => this.#printed(stream, bytes),
        used: (usage) => this.#used(usage),
        ended: (outcome, _runMs, measured) => this.#ended(outcome, measured?.maxRssBytes),
      });
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  /** Gives the next call to an idle process. */
  start(call: WarmCall): void {
    this.resume();
    this.#pausedMs = 0;
    this.#take(call);
    this.#send();
  }

  /** Ends the process together with its call. */
  kill(reason: KillReason): void {
    this.#killedFor ??= reason;
    this.#spend();
    this.#run.kill(reason);
  }

  pause(): void {
    if (this.#pausedAt !== undefined) return;
    this.#pausedAt = performance.now();
    this.#run.pause();
  }

  resume(): void {
    if (this.#pausedAt === undefined) return;
    this.#pausedMs += performance.now() - this.#pausedAt;
    this.#pausedAt = undefined;
    this.#run.resume();
  }

  /** Lets an idle process exit. */
  retire(): void {
    this.#spend();
    this.resume();
    this.#socket?.end();
    this.#exitTimer = setTimeout(() => this.#run.kill('cancelled'), WARM_EXIT_MS).unref();
  }

  #order({ payload, env, limits, user }: RunOrder, path: string): RunOrder {
    const { exec, cwd, env: variables, image } = payload as ExecPayload;
    const own = Object.fromEntries(Object.entries(env).filter(([name]) => !OF_THE_CALL.includes(name)));
    return {
      payload: {
        exec,
        ...(cwd === undefined ? {} : { cwd }),
        ...(variables === undefined ? {} : { env: variables }),
        ...(image === undefined ? {} : { image }),
      },
      env: { ...own, [CALLS_VARIABLE]: path },
      ...(limits === undefined ? {} : { limits }),
      user,
      folder: this.#folder,
      outputBytesMax: Number.MAX_SAFE_INTEGER,
    };
  }

  #take(call: WarmCall): void {
    this.#call = call;
    this.#busySince = performance.now();
    this.#isSent = false;
    this.#began = false;
    this.#answer = undefined;
    this.#limit = new OutputLimit(call.order.outputBytesMax);
    for (const stream of Object.values(this.#output)) stream.begin();
  }

  /** Handles a report of about each second. CPU time beyond that of its calls is of what they have left. */
  #used(usage: Usage): void {
    const now = performance.now();
    const busyMs = this.#busyMs + (this.#call === undefined ? 0 : now - this.#busySince);
    if (usage.cpu * (now - this.#usedAt) > busyMs + WARM_IDLE_CPU_MS) this.isRestless = true;
    this.#busyMs = 0;
    this.#usedAt = now;
    this.#busySince = now;
    if (this.#call !== undefined) this.#call.sink.used?.(usage);
    else if (this.isRestless) this.pause();
  }

  #started(): void {
    const call = this.#call;
    if (call === undefined || call.startedAt !== undefined) return;
    call.startedAt = performance.now();
    call.sink.started?.();
  }

  #connected(socket: Socket): void {
    if (this.#socket !== undefined) return this.#connectedForValues(socket);
    if (this.#isSpent) return void socket.destroy();
    this.#socket = socket;
    socket.unref();
    socket.on('error', () => {});
    // A process without its socket takes no calls; that of a running call then exits.
    socket.on('close', () => this.#spend());
    readMessages(socket, (message, bytes) => this.#heard(message, bytes));
    const { folder, isServed = false } = this.#values ?? {};
    const values = isServed ? { served: true } : { values: folder };
    socket.write(message({ mark: this.#mark.toString('latin1'), ...values }));
    this.#send();
  }

  #connectedForValues(socket: Socket): void {
    if (this.#values?.isServed !== true || this.#channels.size >= VALUE_CHANNELS_MAX)
      return void socket.destroy();
    this.#channels.add(socket);
    socket.unref();
    socket.on('error', () => {});
    socket.on('close', () => this.#channels.delete(socket));
    void serveValues(socket, this.#values.folder);
  }

  #send(): void {
    const call = this.#call;
    if (call === undefined || this.#socket === undefined || this.#isSent) return;
    this.#isSent = true;
    this.#messages = 0;
    const { stdin = '' } = call.order.payload as ExecPayload;
    const env = Object.fromEntries(Object.entries(call.order.env));
    this.#socket.write(message({ id: ++this.#id, stdin: Buffer.from(stdin).toString(), env }));
    this.#started();
  }

  /** Handles a message of the process. It runs code of the task, so nothing in it is trusted. */
  #heard(heard: Readonly<Record<string, unknown>>, bytes: number): void {
    // A flood would keep the worker from other tasks.
    if (++this.#messages > MESSAGES_MAX) return void this.#socket?.destroy();
    const call = this.#call;
    if (call === undefined) return;
    if (heard.began === this.#id) this.#began = true;
    else if (heard.stale === this.#id && !this.#began) {
      this.#call = undefined;
      this.retire();
      this.#events.again(call);
    } else if (heard.ended === this.#id) {
      this.#answer = heard;
      this.#answerBytes = bytes;
      this.#settleIfDone();
    }
  }

  #printed(stream: OutputStream, bytes: Uint8Array): void {
    // Output between calls is from a thread or process that a call has left, and belongs to none.
    for (const kept of this.#output[stream].keep(bytes)) this.#forward(stream, kept);
    this.#settleIfDone();
  }

  #forward(stream: OutputStream, bytes: Uint8Array): void {
    if (this.#call === undefined || this.#limit === undefined) return;
    for (const chunk of this.#limit.keep(stream, bytes)) this.#call.sink.output(chunk);
  }

  /** Ends the call once its answer and all of its output have arrived. */
  #settleIfDone(): void {
    const answer = this.#answer;
    if (answer === undefined || !this.#output.stdout.isMarked || !this.#output.stderr.isMarked) return;
    const { peak: claimed } = answer;
    const peak = Number.isSafeInteger(claimed) && (claimed as number) >= 0 ? (claimed as number) : undefined;
    const isLast = answer.last !== false || this.#isSpent;
    if (isLast) this.retire();
    this.idleSince = performance.now();
    this.#finish(this.#outcomeOf(answer), peak);
    if (!isLast) this.#events.idle(this);
  }

  #finish(outcome: Outcome, maxRssBytes?: number): void {
    const call = this.#call!;
    // A paused process with a cgroup may have ended its call.
    this.resume();
    const pausedMs = this.#pausedMs;
    this.#pausedMs = 0;
    for (const chunk of this.#limit!.end()) call.sink.output(chunk);
    this.#call = undefined;
    this.#answer = undefined;
    this.#limit = undefined;
    this.#busyMs += performance.now() - this.#busySince;
    const runMs = call.startedAt === undefined ? 0 : performance.now() - call.startedAt - pausedMs;
    const reason = this.#killedFor;
    call.sink.ended(reason === undefined ? outcome : { kind: 'killed', reason }, runMs, { maxRssBytes });
  }

  #ended(outcome: Outcome, maxRssBytes: number | undefined): void {
    clearTimeout(this.#exitTimer);
    this.#spend();
    this.#close();
    this.#events.gone(this);
    const call = this.#call;
    if (call === undefined) return;
    // An idle process may have died before the call reached it.
    if (this.#isSent && !this.#began && this.#id > 1 && this.#killedFor === undefined) {
      this.#call = undefined;
      this.#events.again(call);
      return;
    }
    for (const stream of ['stdout', 'stderr'] as const) this.#forward(stream, this.#output[stream].rest());
    this.#finish(
      this.#answer === undefined ? endedEarly(outcome) : this.#outcomeOf(this.#answer),
      maxRssBytes,
    );
  }

  #spend(): void {
    if (this.#isSpent) return;
    this.#isSpent = true;
    this.#events.spent(this);
  }

  #outcomeOf({ value, error }: Answer): Outcome {
    const isTooLarge =
      this.#answerBytes > this.#valueBytesMax &&
      Buffer.byteLength(JSON.stringify(value) ?? '') > this.#valueBytesMax;
    if (typeof error === 'string') {
      const message = error === '' ? 'the call failed' : error.slice(0, ERROR_MESSAGE_LENGTH_MAX);
      return { ...failed('exit-code', message), exitCode: 1, ...(isTooLarge ? {} : { value }) };
    }
    if (!isTooLarge) return { kind: 'completed', value, exitCode: 0 };
    return failed('result-too-large', tooLargeMessage(this.#valueBytesMax));
  }

  #close(): void {
    this.#socket?.destroy();
    for (const socket of this.#channels) socket.destroy();
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Explains the end of a process that has not answered its call. */
function endedEarly(outcome: Outcome): Outcome {
  if (outcome.kind === 'killed') return outcome;
  const code = outcome.kind === 'completed' ? 0 : outcome.exitCode;
  if (code === undefined) return outcome;
  const how =
    code === CLOSED_FILES_CODE
      ? 'the function closed files that it had not opened, and with them those of its process'
      : `the function ended its process with exit code ${code}, so it has no result`;
  return { ...failed('exit-code', how), ...(code === 0 ? {} : { exitCode: code }) };
}

/** One stream of a process, in which a mark ends the output of each call. */
class MarkedStream {
  readonly #mark: Buffer;
  #held: Buffer = Buffer.alloc(0);
  isMarked = true;

  constructor(mark: Buffer) {
    this.#mark = mark;
  }

  begin(): void {
    this.isMarked = false;
    this.#held = Buffer.alloc(0);
  }

  /** Yields the bytes before the mark; holds back what may be the start of the mark. */
  *keep(bytes: Uint8Array): Generator<Uint8Array> {
    if (this.isMarked) return;
    const all = this.#held.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#held, bytes]);
    const at = all.indexOf(this.#mark);
    this.isMarked = at >= 0;
    const end = at >= 0 ? at : all.length - this.#startOfMark(all);
    this.#held = at >= 0 ? Buffer.alloc(0) : all.subarray(end);
    if (end > 0) yield all.subarray(0, end);
  }

  rest(): Uint8Array {
    return this.#held;
  }

  /** Returns how many of the last bytes are a start of the mark. */
  #startOfMark(bytes: Buffer): number {
    const from = Math.max(0, bytes.length - this.#mark.length + 1);
    for (let at = bytes.indexOf(0, from); at >= 0; at = bytes.indexOf(0, at + 1))
      if (bytes.subarray(at).equals(this.#mark.subarray(0, bytes.length - at))) return bytes.length - at;
    return 0;
  }
}

function message(body: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(body));
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json]);
}

/** Calls back with each message and its length. Ends the connection after an invalid one. */
function readMessages(
  socket: Socket,
  heard: (message: Readonly<Record<string, unknown>>, bytes: number) => void,
): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  socket.on('data', (part: Buffer) => {
    parts.push(part);
    bytes += part.length;
    while (bytes >= 4 && !socket.destroyed) {
      if (parts[0]!.length < 4) parts = [Buffer.concat(parts)];
      const length = parts[0]!.readUInt32LE(0);
      if (length > WARM_ANSWER_BYTES_MAX) return void socket.destroy();
      if (bytes < 4 + length) return;
      const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      const rest = all.subarray(4 + length);
      parts = rest.length === 0 ? [] : [rest];
      bytes = rest.length;
      try {
        const parsed = JSON.parse(all.toString('utf8', 4, 4 + length)) as unknown;
        if (typeof parsed === 'object' && parsed !== null) heard(parsed as Record<string, unknown>, length);
      } catch {
        return void socket.destroy();
      }
    }
  });
}
