/** Main file of a thread that runs modules, one run at a time. */
import { readlinkSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { pathToFileURL } from 'node:url';
import { workerData } from 'node:worker_threads';
import type { Failure, FailureCode } from './contract.js';
import { encodeValue } from './json-value.js';
import { MODULE_THREAD_LOADS_MAX } from './limits.js';
import { LoadedFiles } from './loaded-files.js';
import type { FromThread, ThreadData, ThreadOrder, ToThread } from './module-protocol.js';
import { ThreadContext } from './thread-context.js';
import { ThreadOutput } from './thread-output.js';
import { describeThrown } from './thrown.js';

const { port } = workerData as ThreadData;
// Copied, because posting a view clones its whole buffer.
const output = new ThreadOutput(
  (stream, bytes) => post({ kind: 'output', stream, bytes: Uint8Array.from(bytes) }),
  (stream, memory) => post({ kind: 'tail', stream, memory }),
);
const inheritedEnvironment = { ...process.env };
/** Replacement for `process.env` in modules: Node's own takes 100 µs to set for each run. */
const environment: Record<string, string> = {};
process.env = new Proxy(environment, {
  set(target, name: string, value: unknown) {
    target[name] = `${value}`;
    return true;
  },
});
syncBuiltinESMExports();
/** Modules named by tasks of this thread, by path. */
const loaded = new Map<string, Promise<Exports>>();
const files = new LoadedFiles();
/** Context of the current run. */
let context: ThreadContext | undefined;

port.on('message', (message: ToThread) => {
  if (message.kind === 'run') void run(message.order);
  else if (message.kind === 'measure') post({ kind: 'usage', externalBytes: process.memoryUsage().external });
  else context?.kill(message.reason);
});
port.on('close', () => process.exit());
post({ kind: 'ready', thread: threadNumber() });

function post(message: FromThread): void {
  port.postMessage(message);
}

function threadNumber(): number | undefined {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return undefined; // not Linux
  }
}

async function run(order: ThreadOrder): Promise<void> {
  // Node does not reload files, so another thread must take the run.
  if (files.hasChanged) return post({ kind: 'stale' });
  files.begin();
  output.begin(order.outputBytesMax);
  setEnvironment(order.env);
  const startedAt = performance.now();
  const own = new ThreadContext(order.env, () => {
    if (context === own) post({ kind: 'listens' });
  });
  context = own;
  const end = await attempt(order, own);
  context = undefined;
  output.end();
  files.recordLoaded();
  // Node never unloads modules and never retries a failed load. State of a failed run must not affect other runs.
  const isSpent = 'error' in end || files.isIncomplete || loaded.size >= MODULE_THREAD_LOADS_MAX;
  post({ kind: 'ended', runMs: performance.now() - startedAt, isSpent, ...end });
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
    if (isTypeScript(thrown)) {
      return {
        code: 'module-load-failed',
        message: `the module "${path}" is TypeScript or imports it, which Node.js ${process.version} does not run: compile it, or run this worker with Node.js 22.18 or later`,
      };
    }
    // Node's error does not contain the location of a syntax error.
    const where = thrown instanceof SyntaxError ? '; `node --check` on that machine shows where' : '';
    return {
      code: 'module-load-failed',
      message: `the module "${path}" cannot be loaded: ${describeThrown(thrown)}${where}`,
    };
  }
  if (exports === undefined) {
    return { code: 'no-such-module', message: `the module "${path}" does not exist on this worker` };
  }
  const exported = exports[exportName];
  if (typeof exported === 'function') return exported as Exported;
  const names = Object.keys(exports).join(', ') || 'nothing';
  const what =
    exportName in exports
      ? `is a ${typeof exported}, not a function`
      : `is missing: the module exports ${names}`;
  return { code: 'no-such-export', message: `the export "${exportName}" of "${path}" ${what}` };
}

function isTypeScript(thrown: unknown): boolean {
  try {
    const { code, message } = (thrown ?? {}) as Partial<NodeJS.ErrnoException>;
    return code === 'ERR_UNKNOWN_FILE_EXTENSION' && /"\.[cm]?ts"/.test(message ?? '');
  } catch {
    // Fields of a value that a module throws may throw.
    return false;
  }
}

/** The SDK reads this global variable, which has the path of the module that is being loaded. */
const LOADING = Symbol.for('goshawk.loading-module');
const globals = globalThis as { [LOADING]?: string };

/** @returns undefined if the file does not exist */
function exportsOf(path: string): Promise<Exports> | undefined {
  const before = loaded.get(path);
  if (before !== undefined) return before;
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  globals[LOADING] = path;
  const exports: Promise<Exports> = import(pathToFileURL(path).href)
    .then((all: Exports) => {
      files.imported(path);
      return all;
    })
    .finally(() => delete globals[LOADING]);
  loaded.set(path, exports);
  return exports;
}

/** Removes variables set by the previous run. */
function setEnvironment(env: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(environment)) delete environment[name];
  Object.assign(environment, inheritedEnvironment, env);
}

function failure(code: FailureCode, message: string): { error: Failure } {
  return { error: { code, message } };
}
