/**
 * Scheduling policies as data. Machines read a class's route, never the name of the policy, so a new
 * combination of known parts is one entry here.
 */

export const CLASSES = ['short', 'long'] as const;
/** Class of a job: its estimated mean task run time compared with the cutoff (Hawk §3.3). */
export type JobClass = (typeof CLASSES)[number];

export type ByClass<T> = Readonly<Record<JobClass, T>>;

/** Creates one value for each class. */
export function byClass<T>(make: () => T): ByClass<T> {
  return Object.fromEntries(CLASSES.map((each) => [each, make()])) as Record<JobClass, T>;
}

export const SCOPES = ['all', 'general', 'short'] as const;
/** The workers that a class may use: all, or one of the two partitions (Hawk §3.4). */
export type Scope = (typeof SCOPES)[number];

export const ROUTES = ['probing', 'central', 'matching', 'seeking'] as const;

/** How the tasks of a class find workers, and on which part of the cluster. */
export interface Route {
  /**
   * `probing`: batch probing by the job's owner (Hawk §3.5). `central`: the waiting-time queue (Hawk §3.7).
   * `matching`: tasks stay with their owner until central matches a free worker with the job. `seeking`: the
   * owner probes, and free workers ask schedulers for waiting tasks.
   */
  readonly by: (typeof ROUTES)[number];
  readonly over: Scope;
}

/**
 * The central policy (a name of the table in `packages/policies`) and its options; omitted options have
 * defaults.
 */
interface DecidedBy {
  readonly policy: string;
  readonly options: Readonly<Record<string, number | string | boolean>>;
}

/**
 * Which tasks start together or not at all. `none`: no tasks; jobs that ask for it are refused. `asked`: the tasks of stages that ask
 * for it (`gang`). `all`: the tasks of every stage of every job, so there are no pilots, and `prefer` must name some worker.
 */
export const GANG_RULES = ['none', 'asked', 'all'] as const;
export type GangRule = (typeof GANG_RULES)[number];

export interface Preset {
  readonly title: string;
  readonly short: Route;
  readonly long: Route;
  /** Keep a part of the cluster free of long tasks (Hawk §3.4). */
  readonly partition: boolean;
  /** Whether idle workers steal short probes from behind long tasks (Hawk §3.6). */
  readonly stealing: boolean;
  /** The policy for the classes that central matches or places. */
  readonly decidedBy: DecidedBy;
  /**
   * Jobs are scheduled by class, short or long, and short ones do not depend on central. Otherwise the policy
   * places every task by size, resources or deadline.
   */
  readonly byClass: boolean;
  /** Owners declare whole jobs to central: stages, demands, estimates, deadline, weight, user. */
  readonly declares: boolean;
  readonly gangs: GangRule;
  /** A job that has not started by its deadline fails. */
  readonly abandons: boolean;
  /** Whether the policy places tasks by their demands; tasks that take less than a CPU then share one. */
  readonly packs: boolean;
}

const BY_CLASS = { byClass: true, declares: false, gangs: 'none', abandons: false, packs: false } as const;
/** Goshawk’s policy makes all decisions of central. */
const BY_GOSHAWK = {
  decidedBy: { policy: 'goshawk', options: {} },
  ...BY_CLASS,
  gangs: 'asked',
  packs: true,
} as const;
/** Hawk’s waiting-time queue makes all decisions of central. */
const BY_HAWK = { decidedBy: { policy: 'hawk', options: {} }, ...BY_CLASS } as const;

export const PRESETS = {
  goshawk: {
    title: 'central matches free workers with jobs and reserves CPUs for short ones',
    short: { by: 'matching', over: 'all' },
    long: { by: 'matching', over: 'all' },
    partition: false,
    stealing: false,
    ...BY_GOSHAWK,
    declares: true,
  },
  'goshawk-peer': {
    title: 'schedulers probe for short jobs, free workers ask for them, and central matches long jobs',
    short: { by: 'seeking', over: 'all' },
    long: { by: 'matching', over: 'all' },
    partition: false,
    stealing: false,
    ...BY_GOSHAWK,
  },
  hawk: {
    title:
      'schedulers probe the whole cluster for short jobs, central places long jobs, and idle workers steal probes',
    short: { by: 'probing', over: 'all' },
    long: { by: 'central', over: 'general' },
    partition: true,
    stealing: true,
    ...BY_HAWK,
  },
  sparrow: {
    title: 'schedulers probe the whole cluster for every job',
    short: { by: 'probing', over: 'all' },
    long: { by: 'probing', over: 'all' },
    partition: false,
    stealing: false,
    ...BY_HAWK,
  },
  central: {
    title: 'central places every job with the waiting-time queue',
    short: { by: 'central', over: 'all' },
    long: { by: 'central', over: 'all' },
    partition: false,
    stealing: false,
    ...BY_HAWK,
  },
  split: {
    title:
      'schedulers probe one part of the cluster for short jobs, and central places long jobs in the other',
    short: { by: 'probing', over: 'short' },
    long: { by: 'central', over: 'general' },
    partition: true,
    stealing: false,
    ...BY_HAWK,
  },
} as const satisfies Record<string, Preset>;

export type PolicyName = keyof typeof PRESETS;
export const POLICY_NAMES = Object.keys(PRESETS) as PolicyName[];

/** Policies of `@goshawk/papers`, which a process loads on demand. */
export const PAPER_POLICY_NAMES: readonly string[] = [
  'gs',
  'easy',
  'eagle',
  'capacity',
  'fifo-ff',
  'bfjs',
  'vqs',
  'vqs-bf',
  'carbyne',
  'carbyne-pack',
  'carbyne-paper',
  'drf',
  'drf-strict',
  'tetris',
  'tetris-fair',
  'pack',
  'sjf',
  'srtf',
  '3sigma-sched',
  '3sigma-nodist',
  '3sigma-nooe',
  '3sigma-noadapt',
  'point-perf',
  'point-real',
  'prio',
];

/** The parts of a preset that can be disabled: Hawk's ablations (§4.4), and matching of short jobs. */
interface Ablations {
  readonly central: boolean;
  readonly partition: boolean;
  readonly stealing: boolean;
  readonly matching: boolean;
}

export const NOTHING_ABLATED: Ablations = { central: true, partition: true, stealing: true, matching: true };

/**
 * Returns a preset without the disabled parts. Without central, its classes are probed on the same workers;
 * without partitions, every worker is general; without stealing, no worker steals; without matching, workers
 * seek short jobs.
 */
export function ablate(preset: Preset, keep: Ablations): Preset {
  const route = (of: Route): Route =>
    keep.central || of.by !== 'central' ? of : { by: 'probing', over: of.over };
  const short = route(preset.short);
  return {
    ...preset,
    short: keep.matching || short.by !== 'matching' ? short : { by: 'seeking', over: short.over },
    long: route(preset.long),
    partition: preset.partition && keep.partition,
    stealing: preset.stealing && keep.stealing,
  };
}

/** Whether central starts each task where the other tasks of its job allow it. Policies under which all tasks are gangs do not. */
export function spreadsTasks({ gangs, long }: Preset): boolean {
  return gangs !== 'all' && long.by === 'matching';
}

/** Whether central starts gangs together. */
export function startsGangs({ gangs }: Preset): boolean {
  return gangs !== 'none';
}

/**
 * Whether workers may ask schedulers for short tasks: always, or while central does not respond; if
 * all tasks are gangs, they wait for central.
 */
export function maySeek({ short, gangs }: Preset): boolean {
  return gangs !== 'all' && (short.by === 'seeking' || short.by === 'matching');
}

/** Whether workers report free slots to central, which matches them with jobs. */
export function pulls({ short, long }: Preset): boolean {
  return short.by === 'matching' || long.by === 'matching';
}

/** Whether free workers report that they are free: to central for matching, or to schedulers. */
export function findsWork(preset: Preset): boolean {
  return maySeek(preset) || pulls(preset);
}
