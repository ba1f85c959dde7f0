import { resolve } from 'node:path';
import { defineCommand, isCustom, isLoaded } from '@goshawk/command';
import { CENTRAL_OPTIONS, keysFor } from '@goshawk/command/cluster';
import {
  clusterSettings,
  findSolver,
  POLICY_OPTIONS,
  policyNames,
  policySettings,
} from '@goshawk/command/policy';
import { InputError, type PolicySettings, policySettingsSchema } from '@goshawk/core';
import { solverTimeoutMs } from '@goshawk/policies';
import { expandNames } from '../expand-names.js';
import { ThreadedForecaster } from '../forecast/threaded-forecaster.js';
import { watchCentral, watchedBy } from '../local/watched-central.js';
import { auditLogOf, httpOptions, keep } from './daemon-options.js';

/** Help lists options of policies in the middle. */
const { expectSchedulers, dataFolder, users, settings, ...options } = CENTRAL_OPTIONS;
const others = { expectSchedulers, dataFolder, users, settings };

export const centralCommand = defineCommand({
  name: 'central',
  describe: 'run central, the process that knows the whole cluster and runs the policy',
  examples: [
    [
      'goshawk central --bind tcp://127.0.0.1:7070 --policy hawk',
      'run central on loopback with the policy hawk',
    ],
  ],
  needsNoCluster: true,
  modules: 'checked',
  options: { ...options, ...POLICY_OPTIONS, ...others },
  async run(context, options) {
    const policy =
      options.settings === undefined
        ? policySettings(options, onePolicy(options.policy))
        : parseSettings(options.settings);
    const watched = watchedBy(context.environment);
    const { policy: name } = policy.preset.decidedBy;
    if (watched === undefined && isCustom(name)) return watchCentral(context, options, policy);
    // Only here, because a module's exit handler could keep the watching process alive.
    if (options.settings !== undefined && isLoaded(name)) await loadRunPolicy(name, context.cwd);
    const { createLogger, readUsersFile, startCentral } = await import('@goshawk/runtime');
    const logger = createLogger(options.logLevel, { role: 'central' });
    const keys = await keysFor('central', context);
    const usersFile =
      options.users === undefined ? undefined : readUsersFile(resolve(context.cwd, options.users));
    const timeoutMs = solverTimeoutMs(policy.preset);
    const solver = timeoutMs === undefined ? undefined : await findSolver(timeoutMs);
    const daemon = await startCentral({
      ...options,
      http: await httpOptions(context, options),
      auditLog: auditLogOf(context, options),
      dataFolder: options.dataFolder && resolve(context.cwd, options.dataFolder),
      keys,
      settings: clusterSettings(policy),
      usersFile,
      solver,
      // Policies in files are not simulated.
      forecaster: isCustom(name)
        ? undefined
        : new ThreadedForecaster((reason) =>
            logger.warn({ event: 'forecast-failed', reason }, 'the expected ends of jobs are unknown'),
          ),
      replacedPolicy: watched?.replaced,
      expectedSchedulers: expandNames(options.expectSchedulers ?? ''),
      logger,
    });
    return keep(daemon, context, options);
  },
});

/** Returns the only policy in a list; a cluster cannot run several, unlike a comparison. */
export function onePolicy(text: string): string {
  const [policy, ...others] = policyNames(text);
  if (others.length > 0)
    throw new InputError('bad-option', `--policy: a cluster runs exactly one policy, not ${text}`);
  return policy!;
}

function parseSettings(text: string): PolicySettings {
  try {
    return policySettingsSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new InputError('bad-option', '--settings: not valid policy settings', '', { cause: error });
  }
}

/** Loads the policy that this process runs. */
async function loadRunPolicy(policy: string, cwd: string): Promise<void> {
  const [{ holdLaterFailures }, { loadPolicy }] = await Promise.all([
    import('@goshawk/runtime'),
    import('@goshawk/command/policy'),
  ]);
  holdLaterFailures(policy);
  await loadPolicy(policy, cwd);
}
