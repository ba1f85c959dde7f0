import { fileURLToPath } from 'node:url';
import { run } from '@goshawk/command/program';
import { GOSHAWK } from './commands/index.js';

export interface RunHere {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process, isolated from its terminal and environment. */
export async function runHere(
  argv: readonly string[],
  {
    environment = {},
    cwd = process.cwd(),
    input = '',
    interruptAt,
  }: {
    readonly environment?: Record<string, string>;
    readonly cwd?: string;
    /** Content of stdin. */
    readonly input?: string;
    /** Text on stderr that triggers Ctrl-C. */
    readonly interruptAt?: string;
  } = {},
): Promise<RunHere> {
  const written = { stdout: '', stderr: '' };
  const interrupt = new AbortController();
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string | Uint8Array) => {
      written[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
      if (interruptAt !== undefined && written.stderr.includes(interruptAt)) interrupt.abort('SIGINT');
    },
  });
  const exitCode = await run(GOSHAWK, argv, {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    stdin: (async function* () {
      yield Buffer.from(input);
    })(),
    environment,
    cwd,
    interrupted: interrupt.signal,
    executable: fileURLToPath(new URL('../bin/goshawk.js', import.meta.url)),
  });
  return { exitCode, ...written };
}
