import { run } from './run.js';

export interface RunHere {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process, away from its terminal and its environment. */
export async function runHere(
  argv: readonly string[],
  { environment = {}, cwd = process.cwd() }: { environment?: Record<string, string>; cwd?: string } = {},
): Promise<RunHere> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string | Uint8Array) => {
      written[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
    },
  });
  const exitCode = await run(argv, {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    stdin: (async function* () {})(),
    environment,
    cwd,
    interrupted: new AbortController().signal,
  });
  return { exitCode, ...written };
}
