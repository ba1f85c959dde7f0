/**
 * The main file of a module thread: piscina calls its default export once for each run, one at a time.
 */
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parentPort } from 'node:worker_threads';
import type { Failure, FailureCode } from './contract.js';
import { encodeValue } from './json-value.js';
import { ERROR_MESSAGE_LENGTH_MAX } from './limits.js';
import type { ThreadOrder, ThreadPost, ThreadResult } from './module-protocol.js';
import { ThreadContext } from './thread-context.js';
import { ThreadOutput } from './thread-output.js';

const output = new ThreadOutput();
const inheritedEnvironment = { ...process.env };
/** Each module that this thread has loaded, by its path. */
const loaded = new Map<string, { version: string; exports: Promise<Exports> }>();
let loads = 0;

export default async function runModule(order: ThreadOrder): Promise<ThreadResult> {
  let posts = 0;
  const post = (message: ThreadPost): void => {
    posts++;
    parentPort!.postMessage(message);
  };
  const { run } = order;
  post({ run, kind: 'started' });
  output.begin(order.outputBytesMax, (stream, bytes) => {
    // Its own memory: a view would be cloned with all that it is a view of.
    post({ run, kind: 'output', stream, bytes: Uint8Array.from(bytes) });
  });
  setEnvironment(order.env);
  const startedAt = performance.now();
  const context = new ThreadContext(order, () => post({ run, kind: 'listens' }));
  const end = await attempt(order, context);
  context.close();
  return { posts, runMs: performance.now() - startedAt, loads, ...end };
}

async function attempt(
  order: ThreadOrder,
  context: ThreadContext,
): Promise<{ json?: string } | { error: Failure }> {
  const found = await exportedFunction(order);
  if (typeof found !== 'function') return { error: found };
  let value: unknown;
  try {
    value = await found(order.input, context);
  } catch (thrown) {
    return failure('module-threw', describeThrown(thrown));
  }
  const encoded = encodeValue(value, order.valueBytesMax);
  if ('text' in encoded) return encoded.text === undefined ? {} : { json: encoded.text };
  const code = encoded.problem === 'too-large' ? 'result-too-large' : 'result-not-serialisable';
  return failure(code, encoded.message);
}

type Exported = (input: unknown, context: ThreadContext) => unknown;
type Exports = Readonly<Record<string, unknown>>;

async function exportedFunction(order: ThreadOrder): Promise<Exported | Failure> {
  const { path, exportName } = order;
  let exports: Exports | undefined;
  try {
    exports = await exportsOf(path);
  } catch (thrown) {
    return {
      code: 'module-load-failed',
      message: `the module "${path}" cannot be loaded: ${describeThrown(thrown)}`,
    };
  }
  if (exports === undefined) {
    return { code: 'no-such-module', message: `the module "${path}" does not exist on this worker` };
  }
  const exported = exports[exportName];
  if (typeof exported === 'function') return exported as Exported;
  const names = Object.keys(exports).join(', ') || 'nothing';
  const what =
    exportName in exports ? `is a ${typeof exported}, not a function` : `is missing: it has ${names}`;
  return { code: 'no-such-export', message: `the export "${exportName}" of "${path}" ${what}` };
}

/**
 * Threads outlive tasks, and Node loads a URL once. A file that has changed is loaded again, by a URL of
 * its own; modules that it imports are not.
 *
 * @returns undefined when there is no such file.
 */
function exportsOf(path: string): Promise<Exports> | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile()) return undefined;
  const version = `${stat.mtimeMs}-${stat.size}`;
  const before = loaded.get(path);
  if (before?.version === version) return before.exports;
  const { href } = pathToFileURL(path);
  const exports: Promise<Exports> = import(before === undefined ? href : `${href}?version=${version}`);
  loaded.set(path, { version, exports });
  loads++;
  return exports;
}

/** The thread's own copy: what the run before it has set is gone. */
function setEnvironment(env: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(process.env)) {
    if (!(name in inheritedEnvironment) && !(name in env)) delete process.env[name];
  }
  Object.assign(process.env, inheritedEnvironment, env);
}

function failure(code: FailureCode, message: string): { error: Failure } {
  return { error: { code, message } };
}

/** One line: what was thrown, and where. */
function describeThrown(thrown: unknown): string {
  let text: string;
  try {
    if (thrown instanceof Error) {
      const frame = /^\s+at (.*)$/m.exec(thrown.stack ?? '')?.[1];
      text = `${thrown.name}: ${thrown.message}${frame === undefined ? '' : ` (at ${frame})`}`;
    } else {
      text = `${String(thrown)} was thrown, which is no Error`;
    }
  } catch {
    text = 'something was thrown that cannot even be printed';
  }
  text = text.replaceAll(/\s*\n\s*/g, ' ');
  return text.length > ERROR_MESSAGE_LENGTH_MAX ? `${text.slice(0, ERROR_MESSAGE_LENGTH_MAX)}…` : text;
}
