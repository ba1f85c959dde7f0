import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type Context, ExitCode, flagsFor, START_FOLDER, whenAborted, whenOrphaned } from '@goshawk/command';
import { CENTRAL_OPTIONS, type DaemonIsUp } from '@goshawk/command/cluster';
import { exitCodeOfSignal, type PolicySettings } from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import type { ReplacedPolicy } from '@goshawk/runtime';

/** Signal with which a central ends itself whose policy does not return. */
const STALLED = 'SIGUSR2';
/** Policy that replaces it. */
const REPLACEMENT = 'goshawk';
/** Tells a central that a parent watches it: which policy it replaces and why, in JSON, or nothing. */
const WATCHED = '_GOSHAWK_WATCHED_POLICY';
/** Signal that ends a process from outside: an operator or the kernel, short of memory, sent it. */
const KILLED = 'SIGKILL';
/** A central that ends unexpectedly within this time (ms) after its start would end again and again. */
const EARLY_MS = 60_000;
/** Secrets that have no option. */
const SECRETS = ['GOSHAWK_KEY', 'GOSHAWK_HTTP_TOKEN'];

type Options = Parameters<typeof flagsFor<typeof CENTRAL_OPTIONS>>[1];

/** Returns what the parent of this central says; undefined without a parent that watches. */
export function watchedBy(
  environment: Context['environment'],
): { readonly replaced: ReplacedPolicy | undefined } | undefined {
  const replaced = environment[WATCHED];
  if (replaced === undefined) return undefined;
  return { replaced: replaced === '' ? undefined : (JSON.parse(replaced) as ReplacedPolicy) };
}

/**
 * Runs central in a child process, because a custom policy that never returns also blocks signals and restarts from within. If
 * that happens, or the policy ends the process, starts central again at the same address with the policy `goshawk`. If somebody
 * kills central soon after its start, it gets one more try, because this is hardly the policy's doing.
 *
 * @returns the exit code
 */
export async function watchCentral(
  context: Context,
  options: Options,
  policy: PolicySettings,
): Promise<number> {
  let current = policy;
  let bind = options.bind;
  let hasToldUp = false;
  let wasKilled = false;
  for (let replaced: ReplacedPolicy | undefined; ; ) {
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
      env: {
        ...environmentOf(context),
        [WATCHED]: replaced === undefined ? '' : JSON.stringify(replaced),
        [START_FOLDER]: context.cwd,
      },
    });
    child.stdin.on('error', () => {});
    let upAt = Number.NEGATIVE_INFINITY;
    createInterface({ input: child.stdout }).once('line', (line) => {
      const isUp = JSON.parse(line) as DaemonIsUp;
      bind = isUp.endpoint;
      upAt = performance.now();
      if (!hasToldUp && context.global.json) context.json(isUp);
      hasToldUp = true;
    });
    const ended = new Promise<number | NodeJS.Signals>((resolve, reject) => {
      child.on('error', reject).on('close', (code, signal) => resolve(signal ?? code ?? ExitCode.failed));
    });
    void whenAborted(context.interrupted).then(() => child.kill('SIGTERM'));
    let isOrphaned = false;
    void whenOrphaned(options.withParent === true).then(() => {
      isOrphaned = true;
      child.stdin.end();
    });
    const how = await ended;
    const isStopped = how === 0 || context.interrupted.aborted || isOrphaned;
    const endsEarly = replaced === undefined && performance.now() - upAt < EARLY_MS;
    if (isStopped || (how !== STALLED && !endsEarly)) {
      process.stdin.destroy();
      return typeof how === 'number' ? how : (exitCodeOfSignal(how) ?? ExitCode.failed);
    }
    if (how === KILLED && !wasKilled) {
      wasKilled = true;
      continue;
    }
    const why = how === STALLED ? 'did not return from a call' : `ended its process (${how})`;
    replaced = { name: policy.policy, why };
    current = { ...policy, policy: REPLACEMENT, preset: presetNamed(REPLACEMENT) };
  }
}

/** Without the settings of this command, which the child receives as flags. */
function environmentOf({ environment }: Context): Record<string, string | undefined> {
  const isPassed = (name: string): boolean => !name.startsWith('GOSHAWK_') || SECRETS.includes(name);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isPassed(name)));
}
