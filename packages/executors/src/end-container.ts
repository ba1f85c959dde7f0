import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** State of a container whose client has ended. */
interface ContainerState {
  /** Whether the command started. */
  readonly hasRun: boolean;
  readonly exitCode: number;
  readonly ranOutOfMemory: boolean;
}

/** Time (ms) after which the engine counts as unresponsive. */
const ENGINE_MS = 30_000;
const STATE = '{{.State.StartedAt}} {{.State.ExitCode}} {{.State.OOMKilled}}';
/** Start time of a container that has not started. */
const NEVER = '0001-01-01';

/** A container, and how to reach its engine. */
interface NamedContainer {
  readonly program: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly name: string;
}

/** Kills and removes a container. @returns undefined if the engine does not answer or does not know it */
export async function endContainer({
  program,
  settings,
  name,
}: NamedContainer): Promise<ContainerState | undefined> {
  const options = { timeout: ENGINE_MS, env: { ...process.env, ...settings } };
  const found = await run(program, ['container', 'inspect', '--format', STATE, name], options).catch(
    () => undefined,
  );
  await run(program, ['rm', '--force', name], options).catch(() => {});
  if (found === undefined) return undefined;
  const words = found.stdout.trim().split(' ');
  return {
    hasRun: !words[0]!.startsWith(NEVER),
    exitCode: Number(words.at(-2)),
    ranOutOfMemory: words.at(-1) === 'true',
  };
}

/** Time (ms) after which the engine is asked again to pause a container that it does not know yet. */
const PAUSE_RETRY_MS = 100;
const PAUSE_TRIES = 100;

/** Pauses and unpauses a container, one call of the engine at a time. A container that is being created is paused once it runs. */
export class ContainerPause {
  readonly #container: NamedContainer;
  #isPaused = false;
  #isWanted = false;
  #isCalling = false;

  constructor(container: NamedContainer) {
    this.#container = container;
  }

  set(isPaused: boolean): void {
    this.#isWanted = isPaused;
    if (!this.#isCalling) void this.#call();
  }

  async #call(): Promise<void> {
    const { program, settings, name } = this.#container;
    const options = { timeout: ENGINE_MS, env: { ...process.env, ...settings } };
    this.#isCalling = true;
    for (let tries = 0; this.#isPaused !== this.#isWanted && tries < PAUSE_TRIES; tries++) {
      const wanted = this.#isWanted;
      try {
        await run(program, [wanted ? 'pause' : 'unpause', name], options);
        this.#isPaused = wanted;
      } catch {
        await delay(PAUSE_RETRY_MS);
      }
    }
    this.#isCalling = false;
  }
}

/** Kills a container after this process has exited. */
export function abandonContainer({ program, settings, name }: NamedContainer): void {
  const env = { ...process.env, ...settings };
  spawn(program, ['rm', '--force', name], { detached: true, stdio: 'ignore', env })
    .on('error', () => {})
    .unref();
}

/** File beside a spawner's record that names the engine, if the spawner has started containers. */
function engineFile(recordFile: string): string {
  return recordFile.replace(/\.txt$/, '.engine');
}

/** Records, beside the spawner's record, that the spawner starts containers. */
export function recordEngine(recordFile: string, program: string): void {
  writeFileSync(engineFile(recordFile), program, { mode: 0o600 });
}

/** Kills the containers of a spawner that has died. @returns false if the engine does not answer */
export async function endRecordedContainers(recordFile: string, recordId: string): Promise<boolean> {
  const program = await readFile(engineFile(recordFile), 'utf8').catch(() => undefined);
  if (program === undefined) return true;
  const options = { timeout: ENGINE_MS };
  const filter = ['ps', '--all', '--quiet', '--filter', `label=${recordLabel(recordId)}`];
  const found = await run(program, filter, options).catch((error: NodeJS.ErrnoException) => error.code);
  // If the client program is missing, a later attempt would fail, too, so the record is given up.
  if (typeof found !== 'object') return found === 'ENOENT';
  const ids = found.stdout.split('\n').filter((id) => id !== '');
  if (ids.length > 0) await run(program, ['rm', '--force', ...ids], options).catch(() => {});
  await rm(engineFile(recordFile), { force: true });
  return true;
}

/** Name of the container of a run. */
export function containerName(recordId: string, run: number): string {
  return `goshawk-${recordId}-${run}`;
}

/** Label of the containers of one spawner. */
export function recordLabel(recordId: string): string {
  return `goshawk.record=${recordId}`;
}
