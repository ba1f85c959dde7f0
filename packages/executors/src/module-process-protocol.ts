import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { serialize } from 'node:v8';
import type { ModulePayload } from '@goshawk/core';
import { compiledFile } from './compiled.js';
import { type FailedOutcome, type FailureCode, failed, type Outcome, type RunOrder } from './contract.js';
import { encodeValue } from './json-value.js';
import { ERROR_MESSAGE_LENGTH_MAX } from './limits.js';
import { modulePath } from './payload.js';
import type { Report, SpawnOrder } from './spawner-protocol.js';

/** Descriptor on which the process of a module reports its outcome. */
export const REPORT_DESCRIPTOR = 3;

/** Limits of modules, in a thread of the worker or in a process. */
export interface ModuleLimits {
  readonly heapMiBMax: number;
  readonly allowedBytes: number;
  readonly valueBytesMax: number;
}

/** The order of a module's process, in the encoding of `node:v8` on its stdin. */
export interface ModuleProcessOrder extends ModuleLimits {
  readonly order: Pick<RunOrder, 'payload' | 'env' | 'outputBytesMax'>;
}

/** The process that runs a module. */
interface ModuleProcess {
  readonly order: SpawnOrder;
  readonly stdin: Uint8Array;
  /** The folder with the module and its dependencies. */
  readonly reads: readonly string[];
  /** Files and folders of this installation that the process needs. */
  readonly needs: readonly string[];
}

/** Bytes reserved for the lines that mark gaps in truncated output. */
const MARKS_BYTES = 1_024;

/** Outcomes that a process may report. It runs code of the task, so it must not report faults of the worker. */
const REPORTABLE_CODES: ReadonlySet<string> = new Set<FailureCode>([
  'no-such-module',
  'no-such-export',
  'module-load-failed',
  'module-threw',
  'result-not-serialisable',
  'result-too-large',
  'out-of-memory',
  'thread-failed',
]);

/** @throws BadPayload for an invalid path */
export function moduleProcess(given: RunOrder, limits: ModuleLimits): ModuleProcess | FailedOutcome {
  const payload = given.payload as ModulePayload;
  const { env, outputBytesMax, limits: demand } = given;
  const file = compiledFile('./module-process.js', import.meta.url);
  const path = modulePath(payload);
  let stdin: Uint8Array;
  try {
    const order = { payload: { ...payload, module: path }, env, outputBytesMax };
    stdin = serialize({ ...limits, order } satisfies ModuleProcessOrder);
  } catch (error) {
    return failed(
      'input-not-serialisable',
      `cannot pass the input to a process: ${(error as Error).message}`,
    );
  }
  return {
    stdin,
    order: {
      command: process.execPath,
      args: [file],
      env,
      ...(payload.cwd === undefined ? {} : { cwd: payload.cwd }),
      outputBytesMax: outputBytesMax + MARKS_BYTES,
      ...(demand === undefined ? {} : { limits: demand }),
      hasStdin: true,
      // More than a value: a failure in JSON takes at most six bytes for each character of its message.
      reportBytesMax: limits.valueBytesMax + 8 * ERROR_MESSAGE_LENGTH_MAX,
    },
    reads: [packageFolder(path)],
    needs: [process.execPath, dirname(file)],
  };
}

/** Returns the outcome that the process reported, or the failure that its end means. */
export function moduleOutcome(
  ended: Outcome,
  report: Report | undefined,
  { valueBytesMax }: ModuleLimits,
): Outcome {
  if (ended.kind === 'killed') return ended;
  const reported = parsed(report, valueBytesMax);
  if (reported !== undefined) return reported;
  if (ended.kind === 'failed' && ended.error.code !== 'exit-code' && ended.error.code !== 'signal')
    return ended;
  const how =
    ended.kind === 'failed' ? ended.error.message.replace('the command', 'it') : 'it exited with code 0';
  return failed('thread-failed', `the module's process ended unexpectedly: ${how}`);
}

/** Parses the report of a task's process. The text is untrusted; undefined if it is invalid. */
function parsed({ content }: Partial<Report> = {}, valueBytesMax: number): Outcome | undefined {
  if (content === undefined) return undefined;
  try {
    const { kind, value, error } = JSON.parse(Buffer.from(content, 'base64').toString()) as {
      kind?: unknown;
      value?: unknown;
      error?: { code?: unknown; message?: unknown };
    };
    if (kind === 'completed') {
      if (value === undefined) return { kind };
      const encoded = encodeValue(value, valueBytesMax);
      return 'text' in encoded ? { kind, value } : failed('result-too-large', encoded.message);
    }
    const { code, message } = error ?? {};
    if (kind !== 'failed' || typeof code !== 'string' || typeof message !== 'string') return undefined;
    const known = REPORTABLE_CODES.has(code) ? (code as FailureCode) : 'thread-failed';
    return failed(known, message.slice(0, 2 * ERROR_MESSAGE_LENGTH_MAX));
  } catch {
    return undefined;
  }
}

/**
 * Returns the folder of the package that contains the file, where Node finds its dependencies, or else that of the
 * file.
 */
function packageFolder(path: string): string {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
  }
  return dirname(path);
}
