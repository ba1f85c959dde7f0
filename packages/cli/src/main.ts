import { ExitCode } from './command.js';
import { run } from './run.js';

/** The first Ctrl-C asks the command to come to an end; the second one does not ask. */
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupt.signal.aborted) process.exit(ExitCode.interrupted);
    interrupt.abort(signal);
  });
}

// A reader that has seen enough (`goshawk jobs | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? ExitCode.done);
  throw error;
});

// A note that cannot be written (a full disk, a reader that has gone) is lost and ends nothing.
process.stderr.on('error', () => {});

// Where nothing is left to wait for before the command has ended, it has not done its work.
process.on('exit', () => {
  process.exitCode ??= ExitCode.failed;
});

void run(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  // Its reader opens it.
  get stdin() {
    return process.stdin;
  },
  environment: process.env,
  cwd: process.cwd(),
  interrupted: interrupt.signal,
}).then((code) => {
  process.exitCode = code;
});
