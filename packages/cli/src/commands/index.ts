import type { Command } from '../command.js';

/**
 * Every command by its name, in the order in which help lists them. One line here and one file beside it make a new
 * one. Each is loaded when it is wanted: all of them, with what they need, take 0.1 s.
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
  submit: async () => (await import('./submit.js')).submitCommand,
  plan: async () => (await import('./plan.js')).planCommand,
  wait: async () => (await import('./wait.js')).waitCommand,
  jobs: async () => (await import('./jobs.js')).jobsCommand,
  job: async () => (await import('./job.js')).jobCommand,
  why: async () => (await import('./why.js')).whyCommand,
  shares: async () => (await import('./shares.js')).sharesCommand,
  logs: async () => (await import('./logs.js')).logsCommand,
  cancel: async () => (await import('./cancel.js')).cancelCommand,
  schema: async () => (await import('./schema.js')).schemaCommand,
  retry: async () => (await import('./retry.js')).retryCommand,
  workers: async () => (await import('./workers.js')).workersCommand,
  drain: async () => (await import('./drain.js')).drainCommand,
  takeover: async () => (await import('./takeover.js')).takeoverCommand,
  'follow-nodes': async () => (await import('./follow-nodes.js')).followNodesCommand,
  predictor: async () => (await import('./predictor.js')).predictorCommand,
  replay: async () => (await import('./replay.js')).replayCommand,
  simulate: async () => (await import('./simulate.js')).simulateCommand,
  whatif: async () => (await import('./whatif.js')).whatifCommand,
  compare: async () => (await import('./compare.js')).compareCommand,
  figure: async () => (await import('./figure.js')).figureCommand,
  'trace stats': async () => (await import('./trace-stats.js')).traceStatsCommand,
  'trace generate': async () => (await import('./trace-generate.js')).traceGenerateCommand,
  'trace convert': async () => (await import('./trace-convert.js')).traceConvertCommand,
  'trace sample': async () => (await import('./trace-sample.js')).traceSampleCommand,
  'trace export': async () => (await import('./trace-export.js')).traceExportCommand,
  'journal init': async () => (await import('./journal.js')).journalInitCommand,
  'journal inspect': async () => (await import('./journal.js')).journalInspectCommand,
  'journal verify': async () => (await import('./journal.js')).journalVerifyCommand,
  'journal export': async () => (await import('./journal.js')).journalExportCommand,
  'journal repair': async () => (await import('./journal.js')).journalRepairCommand,
  'journal import': async () => (await import('./journal.js')).journalImportCommand,
  'config show': async () => (await import('./config-show.js')).configShowCommand(allCommands),
  completion: async () => (await import('./completion.js')).completionCommand(allCommands),
};

export const COMMAND_NAMES: readonly string[] = Object.keys(LOADERS);

/** All of them: for help, and for what is made of every command's options. */
export function allCommands(): Promise<readonly Command[]> {
  return load(Object.keys(LOADERS));
}

/**
 * The commands that a command line may mean, with the whole of their groups; all when it names none.
 *
 * @param words of the command line; a command may stand behind options, whose values may be called as a command is
 */
export function commandsNamedIn(words: readonly string[]): Promise<readonly Command[]> {
  const named = Object.keys(LOADERS).filter((name) => words.includes(name.split(' ')[0]!));
  return named.length === 0 ? allCommands() : load(named);
}

/** Undefined, where none is called so. */
export async function commandNamed(name: string): Promise<Command | undefined> {
  return Object.hasOwn(LOADERS, name) ? (await load([name]))[0] : undefined;
}

async function load(names: readonly string[]): Promise<readonly Command[]> {
  return (await Promise.all(names.map((name) => LOADERS[name]!()))) as readonly Command[];
}

/** What the commands of two words have in common. */
export const COMMAND_GROUPS: Readonly<Record<string, string>> = {
  trace: 'look at workloads, and make them',
  journal: 'look at what a scheduler has written down of its jobs, and repair it',
  config: 'look at the settings',
};
