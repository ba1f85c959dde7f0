import { type Command, isLoaded } from '@goshawk/command';
import type { Program } from '@goshawk/command/program';
import { findLaboratory, LABORATORY_COMMANDS, laboratoryCommand } from '../laboratory.js';

/**
 * Loaders of all commands by name, in the order of help. A new command is one line here and one file.
 * Commands are loaded on demand, because all of them with their dependencies take 0.1 s.
 */
const LOADERS: Readonly<Record<string, () => Promise<unknown>>> = {
  up: async () => (await import('./up.js')).upCommand,
  dashboard: async () => (await import('./dashboard.js')).dashboardCommand,
  top: async () => (await import('./top.js')).topCommand,
  clusters: async () => (await import('./clusters.js')).clustersCommand,
  central: async () => (await import('./central.js')).centralCommand,
  scheduler: async () => (await import('./scheduler.js')).schedulerCommand,
  worker: async () => (await import('./worker.js')).workerCommand,
  policies: async () => (await import('./policies.js')).policiesCommand,
  keygen: async () => (await import('./keygen.js')).keygenCommand,
  keys: async () => (await import('./keys.js')).keysCommand,
  submit: async () => (await import('./submit.js')).submitCommand,
  run: async () => (await import('./run.js')).runCommand,
  plan: async () => (await import('./plan.js')).planCommand,
  wait: async () => (await import('./wait.js')).waitCommand,
  jobs: async () => (await import('./jobs.js')).jobsCommand,
  job: async () => (await import('./job.js')).jobCommand,
  tasks: async () => (await import('./tasks.js')).tasksCommand,
  results: async () => (await import('./results.js')).resultsCommand,
  why: async () => (await import('./why.js')).whyCommand,
  shares: async () => (await import('./shares.js')).sharesCommand,
  usage: async () => (await import('./usage.js')).usageCommand,
  logs: async () => (await import('./logs.js')).logsCommand,
  cancel: async () => (await import('./cancel.js')).cancelCommand,
  hold: async () => (await import('./hold.js')).holdCommand,
  release: async () => (await import('./hold.js')).releaseCommand,
  update: async () => (await import('./hold.js')).updateCommand,
  schema: async () => (await import('./schema.js')).schemaCommand,
  retry: async () => (await import('./retry.js')).retryCommand,
  workers: async () => (await import('./workers.js')).workersCommand,
  drain: async () => (await import('./drain.js')).drainCommand,
  events: async () => (await import('./events.js')).eventsCommand,
  takeover: async () => (await import('./takeover.js')).takeoverCommand,
  'follow-nodes': async () => (await import('./follow-nodes.js')).followNodesCommand,
  'autoscale kubernetes': async () => (await import('./autoscale.js')).autoscaleKubernetesCommand,
  'autoscale slurm': async () => (await import('./autoscale.js')).autoscaleSlurmCommand,
  'journal init': async () => (await import('./journal.js')).journalInitCommand,
  'journal owners': async () => (await import('./journal.js')).journalOwnersCommand,
  'journal inspect': async () => (await import('./journal.js')).journalInspectCommand,
  'journal verify': async () => (await import('./journal.js')).journalVerifyCommand,
  'journal export': async () => (await import('./journal.js')).journalExportCommand,
  'journal repair': async () => (await import('./journal.js')).journalRepairCommand,
  'journal backup': async () => (await import('./journal.js')).journalBackupCommand,
  'journal import': async () => (await import('./journal.js')).journalImportCommand,
  'config show': async () => (await import('./config-show.js')).configShowCommand(allCommands),
  completion: async () => (await import('./completion.js')).completionCommand,
};

/** Names of all commands; those of the laboratory are last. */
const COMMAND_NAMES: readonly string[] = [...Object.keys(LOADERS), ...Object.keys(LABORATORY_COMMANDS)];

/** Loads all installed commands, for help and for code that needs the options of every command. */
export async function allCommands(): Promise<readonly Command[]> {
  return load((await findLaboratory()) === undefined ? Object.keys(LOADERS) : COMMAND_NAMES);
}

async function commandsNamedIn(words: readonly string[]): Promise<readonly Command[]> {
  const named = COMMAND_NAMES.filter((name) => words.includes(name.split(' ')[0]!));
  if (named.length === 0) return allCommands();
  const ofProduct = named.filter((name) => name in LOADERS);
  const isLaboratoryMissing = ofProduct.length < named.length && (await findLaboratory()) === undefined;
  return load(isLaboratoryMissing && ofProduct.length > 0 ? ofProduct : named);
}

async function commandNamed(name: string): Promise<Command | undefined> {
  return COMMAND_NAMES.includes(name) ? (await load([name]))[0] : undefined;
}

async function load(names: readonly string[]): Promise<readonly Command[]> {
  const loaded = await Promise.all(names.map((name) => LOADERS[name]?.() ?? laboratoryCommand(name)));
  return loaded as readonly Command[];
}

const COMMAND_GROUPS: Readonly<Record<string, string>> = {
  autoscale: 'scale workers with the load',
  trace: 'inspect and generate workloads',
  journal: 'inspect, repair and move the journals of schedulers',
  config: 'show settings',
};

export const GOSHAWK: Program = {
  about:
    'Goshawk schedules batch jobs on a cluster, so that short jobs do not wait behind long ones. `goshawk up` starts a cluster on this machine, and `goshawk submit` runs a job on it.',
  names: COMMAND_NAMES,
  groups: COMMAND_GROUPS,
  optional: { package: '@goshawk/lab', commands: LABORATORY_COMMANDS },
  all: allCommands,
  namedIn: commandsNamedIn,
  named: commandNamed,
  loadModules: async (options, cwd, use) =>
    namesModules(options)
      ? (await import('@goshawk/command/policy')).withCustomModules(options, cwd, use)
      : options,
};

/** Reports whether options name modules. They load slowly, and most commands need none. */
function namesModules({ policy, estimator, shadow }: Readonly<Record<string, unknown>>): boolean {
  return [policy, estimator, shadow].some(
    (each) => typeof each === 'string' && each.split(/[,:]/).some(isLoaded),
  );
}
