import { fileURLToPath } from 'node:url';
import { ExitCode, START_FOLDER } from '@goshawk/command';
import { run, tellFailure } from '@goshawk/command/program';
import { GoshawkError, InputError } from '@goshawk/core';
import { readerHasGone } from './broken-pipe.js';
import { GOSHAWK } from './commands/index.js';

const argv = process.argv.slice(2);
const startFolder = process.env[START_FOLDER];
// It is no setting.
delete process.env[START_FOLDER];

/** The first Ctrl-C asks the command to come to an end; the second one does not ask. */
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupt.signal.aborted) process.exit(ExitCode.interrupted);
    interrupt.abort(signal);
  });
}

// A reader that has gone is no error; a full disk is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return readerHasGone();
  const failure = new GoshawkError('stdout-failed', `cannot write to stdout: ${error.message}`);
  process.exit(tellFailure(failure, argv, process.stderr));
});

// A note that cannot be written (a full disk, a reader that has gone) is lost and ends nothing.
process.stderr.on('error', () => {});

// An empty event loop before the command ended means that it did not finish its work.
process.on('exit', () => {
  process.exitCode ??= ExitCode.failed;
});

/** A shell may stand in a folder that was removed meanwhile. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const failure = new InputError(
      'no-folder',
      'the current folder does not exist any more',
      'change to another one',
      {
        cause,
      },
    );
    process.exit(tellFailure(failure, argv, process.stderr));
  }
}

void run(GOSHAWK, argv, {
  stdout: process.stdout,
  stderr: process.stderr,
  // Its reader opens it.
  get stdin() {
    return process.stdin;
  },
  environment: process.env,
  cwd: startFolder ?? currentFolder(),
  interrupted: interrupt.signal,
  executable: fileURLToPath(new URL('../bin/goshawk.js', import.meta.url)),
}).then((code) => {
  process.exitCode = code;
});
