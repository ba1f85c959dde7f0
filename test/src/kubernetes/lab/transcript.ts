import { spawn } from 'node:child_process';
import { shellWord } from '@goshawk/core';

export interface CommandOutput {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Tells the command to end. */
  readonly signal?: AbortSignal;
  /** Text to show for the command. Default: the command itself; empty: nothing. */
  readonly shown?: string;
  /** Selects the output to show; all of it by default. */
  readonly output?: (stdout: string) => string;
}

const QUICK_SECONDS = 1;

/** Records commands and their results with times, as a terminal would show them. */
export class Transcript {
  readonly #beganAtMs = performance.now();
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  get elapsedSeconds(): number {
    return (performance.now() - this.#beganAtMs) / 1_000;
  }

  heading(text: string): void {
    this.#print(`\n== ${text}  [${this.elapsedSeconds.toFixed(0)} s]`);
  }

  say(line: string): void {
    this.#print(`# ${line}`);
  }

  /** Runs a command to its end, and shows it. Never throws if the command fails. */
  async run(command: string, args: readonly string[], options: RunOptions = {}): Promise<CommandOutput> {
    const { shown = [command, ...args.map(shellWord)].join(' '), output = (text) => text } = options;
    if (shown !== '') this.#print(`$ ${shown}`);
    const from = performance.now();
    const result = await finish(command, args, options);
    if (shown === '') return result;
    const text = (result.exitCode === 0 ? output(result.stdout) || result.stderr : result.stderr).trimEnd();
    if (text !== '') this.#print(text);
    const seconds = (performance.now() - from) / 1_000;
    if (seconds >= QUICK_SECONDS) this.say(`took ${seconds.toFixed(1)} s`);
    return result;
  }
}

function finish(
  command: string,
  args: readonly string[],
  { stdin = '', environment = {}, signal }: RunOptions,
): Promise<CommandOutput> {
  const child = spawn(command, args, { env: { ...surroundings(), ...environment }, stdio: 'pipe' });
  signal?.addEventListener('abort', () => child.kill('SIGTERM'));
  const text = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      text[stream] += chunk;
    });
  }
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ exitCode: code ?? (signal ? 128 : 0), ...text }));
  });
}

/** Returns the environment without variables that are meant for these tests. */
function surroundings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_')));
}
