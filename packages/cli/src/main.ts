import { fileURLToPath } from 'node:url';
import { START_FOLDER } from '@goshawk/command';
import { codeOfInterruption, errorFormat, run, tellFailure } from '@goshawk/command/program';
import { GoshawkError, InputError } from '@goshawk/core';
import { readerHasGone } from './broken-pipe.js';
import { GOSHAWK } from './commands/index.js';

const argv = process.argv.slice(2);
const startFolder = process.env[START_FOLDER];
// The variable is not a setting.
delete process.env[START_FOLDER];

/** The first Ctrl-C interrupts the command; the second one exits immediately. */
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupt.signal.aborted) process.exit(codeOfInterruption(signal));
    interrupt.abort(signal);
  });
}
// A terminal and its shell may both send SIGHUP, so the second one does nothing.
process.on('SIGHUP', () => interrupt.abort('SIGHUP'));

// A closed pipe is not an error; a full disk is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A closed terminal must not end the command before it has cleaned up.
  if (interrupt.signal.reason === 'SIGHUP') return;
  if (error.code === 'EPIPE') return readerHasGone();
  const failure = new GoshawkError('stdout-failed', `cannot write to stdout: ${error.message}`);
  process.exit(tellFailure(failure, errorFormat(argv, process.env), process.stderr));
});

// Errors of stderr (a full disk, a closed pipe) lose notes but do not end the command.
process.stderr.on('error', () => {});

// If the event loop is empty before the command returns, the command did not finish its work.
process.on('exit', () => {
  if (process.exitCode !== undefined) return;
  const hint = 'a custom policy, estimator or module may wait for something that never happens';
  const failure = new GoshawkError('unfinished', 'the command ended before its work was done', hint);
  process.exitCode = tellFailure(failure, errorFormat(argv, process.env), process.stderr);
});

/** Returns the current folder, which may have been removed since the shell entered it. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const failure = new InputError(
      'no-folder',
      'the current folder no longer exists',
      'change to another folder',
      {
        cause,
      },
    );
    process.exit(tellFailure(failure, errorFormat(argv, process.env), process.stderr));
  }
}

void run(GOSHAWK, argv, {
  stdout: process.stdout,
  stderr: process.stderr,
  // A getter, because an access opens stdin.
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
