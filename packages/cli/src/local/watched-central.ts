import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type Context, ExitCode, flagsFor, START_FOLDER, whenAborted, whenOrphaned } from '@goshawk/command';
import { CENTRAL_OPTIONS, type DaemonIsUp } from '@goshawk/command/cluster';
import { exitCodeOfSignal, type PolicySettings } from '@goshawk/core';
import { isCustomPolicy, presetNamed } from '@goshawk/policies';

/** Signal with which a central ends itself whose policy does not return. */
const STALLED = 'SIGUSR2';
/** Policy that replaces it. */
const REPLACEMENT = 'goshawk';
/** Tells a central that a parent watches it: the name of the policy that it replaces, or nothing. */
const WATCHED = '_GOSHAWK_WATCHED_POLICY';
/** Secrets that have no option. */
const SECRETS = ['GOSHAWK_KEY', 'GOSHAWK_HTTP_TOKEN'];

type Options = Parameters<typeof flagsFor<typeof CENTRAL_OPTIONS>>[1];

/** Returns what the parent of this central says; undefined without a parent that watches. */
export function watchedBy(
  environment: Context['environment'],
): { readonly replaced: string | undefined } | undefined {
  const name = environment[WATCHED];
  return name === undefined ? undefined : { replaced: name || undefined };
}

/**
 * Runs central in a child process, because a custom policy that never returns also blocks signals and restarts from within. If
 * that happens, starts central again at the same address with the policy `goshawk`.
 *
 * @returns the exit code
 */
export async function watchCentral(
  context: Context,
  options: Options,
  policy: PolicySettings,
): Promise<number> {
  await ignoreLaterFailures(policy);
  let current = policy;
  let bind = options.bind;
  for (let replaced = ''; ; replaced = policy.policy) {
    const args = flagsFor(CENTRAL_OPTIONS, {
      ...options,
      bind,
      settings: JSON.stringify(current),
      withParent: true,
    });
    const { keys } = context.global;
    const keyArgs = keys === undefined ? [] : ['--keys', keys];
    const child = spawn(process.execPath, [context.executable, 'central', ...args, ...keyArgs, '--json'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      // Ctrl-C reaches it through this process only.
      detached: true,
      cwd: '/',
      env: { ...environmentOf(context), [WATCHED]: replaced, [START_FOLDER]: context.cwd },
    });
    child.stdin.on('error', () => {});
    createInterface({ input: child.stdout }).once('line', (line) => {
      const isUp = JSON.parse(line) as DaemonIsUp;
      bind = isUp.endpoint;
      if (replaced === '' && context.global.json) context.json(isUp);
    });
    const ended = new Promise<number | NodeJS.Signals>((resolve, reject) => {
      child.on('error', reject).on('close', (code, signal) => resolve(signal ?? code ?? ExitCode.failed));
    });
    void whenAborted(context.interrupted).then(() => child.kill('SIGTERM'));
    void whenOrphaned(options.withParent === true).then(() => child.stdin.end());
    const how = await ended;
    if (how !== STALLED || context.interrupted.aborted) {
      process.stdin.destroy();
      return typeof how === 'number' ? how : (exitCodeOfSignal(how) ?? ExitCode.failed);
    }
    current = { ...policy, policy: REPLACEMENT, preset: presetNamed(REPLACEMENT) };
  }
}

/**
 * Keeps a process that has loaded a custom policy, to check it, from ending because of the policy's timers and promises. Central
 * reports these errors.
 */
export async function ignoreLaterFailures({ preset }: PolicySettings): Promise<void> {
  if (!isCustomPolicy(preset)) return;
  const { laterFailures } = await import('@goshawk/runtime');
  laterFailures(preset.decidedBy.policy, () => {});
}

/** Without the settings of this command, which the child receives as flags. */
function environmentOf({ environment }: Context): Record<string, string | undefined> {
  const isPassed = (name: string): boolean => !name.startsWith('GOSHAWK_') || SECRETS.includes(name);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isPassed(name)));
}
