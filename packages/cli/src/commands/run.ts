import type { JobHandle } from '@goshawk/client';
import { type Context, defineCommand, ExitCode, optionsGiven, plain } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import {
  exitCodeOfSignal,
  GoshawkError,
  InputError,
  type JobDetail,
  LIMITS,
  type TaskFailure,
} from '@goshawk/core';
import { onClosedStdout } from '../broken-pipe.js';
import { readCommandInput } from '../jobs/command-input.js';
import { rawOutput } from '../jobs/task-output.js';
import { buildJob } from '../submission/build-job.js';
import { RUN_OPTIONS, SUBMIT_OPTIONS } from '../submission/options.js';
import { sourcesOf } from './submit.js';

export const runCommand = defineCommand({
  name: 'run',
  words: '-- CMD ARG…',
  describe:
    'run one command on the cluster as if it were local, with this folder, environment and stdin; pass on its output and exit code; Ctrl-C cancels it',
  examples: [
    ['goshawk run -- cc -O2 -c big.c', 'run a command from a script or makefile'],
    ["make -j8 SHELL=goshawk .SHELLFLAGS='run --shell --'", 'run every recipe on the cluster'],
    ['ls *.png | xargs -P8 -n1 goshawk run -- optipng', 'run eight commands at a time'],
  ],
  options: RUN_OPTIONS,
  async run(context, options, { afterDashes }) {
    if (!afterDashes?.[0])
      throw new InputError(
        'usage',
        'run: write the command after --',
        'for example: goshawk run -- hostname',
      );
    if (context.global.json)
      throw new InputError('usage', 'run: --json is not supported: stdout belongs to the command');
    const input = options.stdin === undefined ? await readCommandInput(context) : undefined;
    try {
      const bytes = input?.bytes;
      const sources = sourcesOf(context);
      const job = await buildJob(
        { ...optionsGiven(SUBMIT_OPTIONS), ...options, exportEnv: '', ...(bytes && { stdin: '-' }) },
        { words: [], afterDashes },
        bytes === undefined ? sources : { ...sources, read: async () => bytes },
        'run',
      );
      await using cluster = await openCluster(context);
      // `submit` gets no abort signal: an interrupted submission could leave a job that `run` cannot cancel.
      const handle = await cluster.submit(job);
      if (handle.warning !== undefined) context.note(plain(handle.warning));
      return await forwardUntilEnd(context, handle, input?.late);
    } finally {
      input?.close();
    }
  },
});

/** How long to wait for a cancelled command to end, in ms. */
const CANCELLING_MS = 10_000;

/** Why the command is cancelled: the exit code to return, or the error to throw. */
type Reason = { readonly exitCode: number } | { readonly error: Error };

/**
 * Forwards the output until the command has ended or is cancelled.
 *
 * @param late rejects if stdin sends data after the command was submitted without it
 * @returns the exit code
 */
async function forwardUntilEnd(context: Context, handle: JobHandle, late?: Promise<never>): Promise<number> {
  const stop = new AbortController();
  let reason: Reason | undefined;
  const cancel = (why: Reason): void => {
    if (reason !== undefined) return;
    reason = why;
    handle.cancel({ signal: stop.signal }).catch(() => {});
    setTimeout(() => stop.abort(), CANCELLING_MS).unref();
  };
  const onSignal = (): void => cancel({ exitCode: codeOfSignal(String(context.interrupted.reason)) });
  context.interrupted.addEventListener('abort', onSignal, { once: true });
  onClosedStdout(() => cancel({ exitCode: codeOfSignal('SIGPIPE') }));
  late?.catch((error: Error) => cancel({ error }));
  if (context.interrupted.aborted) onSignal();
  try {
    await forwardOutput(context, handle, stop.signal, cancel);
    const ended = await handle.wait({ signal: stop.signal });
    if (reason !== undefined) return conclude(reason);
    return exitCodeOf(context, ended);
  } catch (error) {
    if (reason !== undefined) return conclude(reason);
    throw error;
  } finally {
    stop.abort();
  }
}

function conclude(reason: Reason): number {
  if ('error' in reason) throw reason.error;
  return reason.exitCode;
}

/** Forwards the output. @param cancel called if another attempt prints output after one wrote to stdout */
async function forwardOutput(
  context: Context,
  handle: JobHandle,
  signal: AbortSignal,
  cancel: (why: Reason) => void,
): Promise<void> {
  const sink = rawOutput(context);
  let printed = 0;
  let isWhole = true;
  const onDropped = (): void => {
    isWhole = false;
  };
  let attempt: number | undefined;
  for await (const chunk of handle.logs({ follow: true, attempt: 'all', signal, onDropped })) {
    if (attempt !== undefined && chunk.attempt !== attempt && printed > 0) {
      cancel({
        error: new GoshawkError(
          'worker-lost',
          'run: the worker was lost after the command had printed output, and the command restarted on another worker',
          'run it again; `submit --stdout FILE` keeps only the output of the last attempt',
        ),
      });
      return;
    }
    attempt = chunk.attempt;
    if (chunk.stream === 'stdout') printed += chunk.bytes.length;
    sink.write(chunk);
  }
  sink.end();
  // A line replaces omitted output, and with this line, truncated stdout exceeds the limit. Truncated stderr
  // is not an error.
  if (printed <= LIMITS.outputBytesMax) {
    if (isWhole) return;
    throw new GoshawkError(
      'output-lost',
      'run: some output of the command may be missing: its scheduler restarted, or had no room for it',
      '`submit --stdout FILE` writes the output to a file instead',
    );
  }
  throw new GoshawkError(
    'output-too-long',
    `run: the command printed more than ${LIMITS.outputBytesMax} bytes to stdout, so its output was truncated`,
    'write the output to a file instead',
  );
}

/** Returns the exit code as a shell does: 128 plus the signal number, or 127 if the command was not found. */
function exitCodeOf(context: Context, { id, state, failures }: JobDetail): number {
  if (state === 'completed') return ExitCode.done;
  if (state === 'cancelled')
    throw new GoshawkError('cancelled', `run: ${id} was cancelled`, `\`goshawk job ${id}\` shows it`);
  const [failure] = failures;
  if (failure?.exitCode !== undefined) return failure.exitCode;
  if (failure?.signal !== undefined) return codeOfSignal(failure.signal);
  context.stderr.write(`goshawk: run: ${plain(failure?.message ?? `${id} failed`)}\n`);
  return codeOfFailure(failure);
}

function codeOfSignal(name: string): number {
  return exitCodeOfSignal(name) ?? ExitCode.failed;
}

function codeOfFailure(failure: TaskFailure | undefined): number {
  if (failure?.code === 'command-not-found') return 127;
  return failure?.code === 'permission-denied' ? 126 : ExitCode.failed;
}
