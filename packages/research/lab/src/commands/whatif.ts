import { isDeepStrictEqual } from 'node:util';
import {
  type Column,
  type Context,
  defineCommand,
  ExitCode,
  type OptionSpecs,
  painter,
  type Resolved,
  renderTable,
} from '@goshawk/command';
import {
  ATTRIBUTE_OPTION,
  attributesOfAll,
  CPUS_OPTION,
  findCluster,
  openCluster,
  RESOURCES_OPTION,
  sizeOfWorker,
} from '@goshawk/command/cluster';
import { POLICY_OPTIONS, policyRecord, policySettings } from '@goshawk/command/policy';
import {
  type Attributes,
  counted,
  formatDuration,
  InputError,
  LIMITS,
  type Millis,
  meanOf,
  type PolicySettings,
  present,
  quoted,
  startsGangs,
  UnreachableError,
} from '@goshawk/core';
import type { Distribution } from '@goshawk/report';
import type { NetworkModel } from '@goshawk/simulator';
import { formatTally, type PackedJobs, packed, type RecordedJob, Tally } from '@goshawk/traces';
import { checkJournalPlaces, journalPlaces } from '../journals.js';
import { namedResources } from '../simulate/capacity.js';
import { PARALLEL_OPTION, SIMULATED_USERS_OPTION } from '../simulate/options.js';
import { gangNote } from '../simulate/plan.js';
import type { RunOutcome, RunRequest } from '../simulate/request.js';
import { performWithProgress, surveyWithProgress } from '../simulate/shown.js';
import { type Survey, survey } from '../simulate/survey.js';
import { grantsIn } from '../simulate/users.js';
import { POLICY_SETTINGS, VARY_OPTION, variantsOf } from '../variants.js';
import { advise, fidelity, type RunTimes, ratiosOf, type Tried } from '../whatif/advice.js';
import { clusterOf, recordedJobsOf } from '../whatif/from-trace.js';
import { messageDelaysMs, networkOfDelays } from '../whatif/message-delay.js';
import { recordedJobs } from '../whatif/recorded.js';
import { type Served, servedOf } from '../whatif/served.js';

const OPTIONS = {
  ...POLICY_OPTIONS,
  policy: {
    type: 'text',
    setting: true,
    value: 'NAMES',
    suggests: POLICY_OPTIONS.policy.suggests,
    describe:
      'scheduling policy, or several to compare, each with optional settings: hawk,hawk:no-stealing (default: the policy that ran)',
  },
  estimator: {
    type: 'text',
    setting: true,
    value: 'NAME',
    describe: 'estimator of task run times (default: as recorded)',
  },
  cutoff: {
    type: 'text',
    setting: true,
    value: 'TIME',
    describe: 'mean task run time at which a job counts as long: 10s (default: as recorded)',
  },
  vary: VARY_OPTION,
  trace: {
    type: 'text',
    value: 'FILE',
    setting: false,
    describe:
      'simulate the jobs of a trace, such as the output of `sacct -P`, instead of those of a Goshawk cluster',
  },
  ranOn: {
    type: 'count',
    with: 'trace',
    min: 1,
    max: LIMITS.membersMax,
    setting: false,
    describe:
      'with --trace: number of workers of the traced cluster (default: the smallest cluster with room for all tasks that ran concurrently)',
  },
  resources: {
    ...RESOURCES_OPTION,
    describe: `${RESOURCES_OPTION.describe} (default: those of the running cluster; with --trace, demands for resources other than CPUs are ignored)`,
  },
  attribute: {
    ...ATTRIBUTE_OPTION,
    describe: `${ATTRIBUTE_OPTION.describe} (default: those of the running cluster)`,
  },
  users: SIMULATED_USERS_OPTION,
  workers: {
    type: 'text',
    setting: false,
    value: 'NUMBERS',
    describe: 'numbers of workers to simulate: 80,100,120 (default: as recorded)',
  },
  cpus: {
    ...CPUS_OPTION,
    whenUnset: '1; with --trace, the most CPUs of any task',
    describe: 'CPUs of each worker; read from the cluster if it is running',
  },
  since: {
    type: 'duration',
    setting: true,
    describe: 'only jobs submitted within this time before now: 24h (default: all)',
  },
  networkDelay: {
    type: 'duration',
    setting: false,
    describe:
      'one-way delay of every message (default: drawn from the recorded delays of jobs that found free workers)',
  },
  seed: { type: 'count', setting: true, default: 1, describe: 'seed of random numbers' },
  parallel: PARALLEL_OPTION,
} as const satisfies OptionSpecs;

type Options = Resolved<typeof OPTIONS>;

export const whatifCommand = defineCommand({
  name: 'whatif',
  words: '[FOLDER|FILE|URL…]',
  describe: 'simulate the past jobs in a cluster’s journals under other settings, and compare delays',
  examples: [
    [
      'goshawk whatif --workers 80,100,120 --since 24h',
      'simulate the jobs of the running cluster on different numbers of workers',
    ],
    ['goshawk whatif --policy goshawk,hawk', 'simulate the same jobs under other policies'],
    [
      'goshawk whatif .goshawk --policy goshawk,hawk --workers 100 --cpus 4 --resources memory=8GiB',
      'simulate the jobs of a stopped cluster, or of a file from `goshawk journal export`',
    ],
    [
      'goshawk whatif --trace jobs.sacct --workers 80,100',
      'simulate the jobs of a Slurm cluster on clusters of other sizes',
    ],
  ],
  options: OPTIONS,
  async run(context, options, { words }) {
    (await import('@goshawk/papers')).addPapers();
    const past =
      options.trace === undefined
        ? await pastOfCluster(context, options, words)
        : await pastOfTrace(context, options, words, options.trace);
    const { ran, recorded, jobs, surveyed } = past;
    const setups = setupsOf(ran, options, surveyed);
    for (const setup of setups) checkRoom(setup, surveyed);
    const users = await grantsIn(context, options.users);
    const [base] = setups as [Setup];
    const { settings } = base;
    const { record } = surveyed;
    context.note(
      `${counted(record.jobs, 'job')} of ${counted(record.tasks, 'task')}, submitted over ${Math.round(record.spanSeconds)} s, ` +
        `ran under ${base.settings.policy} on ${counted(base.workers, 'worker')}`,
    );
    for (const line of formatTally(surveyed.tallied)) context.note(line);
    if (options.trace !== undefined) context.note(TRACE_NOTE);
    if (surveyed.needs.hasGangs)
      for (const note of new Set(setups.map((setup) => gangNote(setup.settings))))
        if (note !== '') context.note(note);
    const simulated = (which: readonly Setup[], network: NetworkModel): Promise<RunOutcome[]> => {
      const requests = which.map((setup) => ({
        ...requestOf(setup, surveyed, options.seed, network),
        ...present({ users }),
      }));
      return performWithProgress(context, requests, { kind: 'packed', packed: jobs }, options);
    };
    let delaysMs: readonly Millis[] = [options.networkDelay ?? ASSUMED_DELAY_MS];
    if (options.networkDelay === undefined && options.trace === undefined) {
      const [first] = await simulated([base], networkOfDelays(delaysMs));
      delaysMs = messageDelaysMs(recorded, first!.jobTimes.runtimeSeconds, ASSUMED_DELAY_MS) ?? delaysMs;
      context.note(
        `a message is assumed to take ${formatDuration(Number(meanOf(delaysMs).toPrecision(3)))} on average`,
      );
    }
    const outcomes = await simulated(setups, networkOfDelays(delaysMs));
    const tried = setups.map(
      (setup, index): Tried => ({
        label: `${setup.label} on ${counted(setup.workers, 'worker')}`,
        policy: setup.label,
        workers: setup.workers,
        runtimeSeconds: outcomes[index]!.run.runtimeSeconds,
        ...servedOf(recorded, outcomes[index]!.jobTimes.runtimeSeconds),
      }),
    );
    const recordedTimes = Float64Array.from(recorded, ({ runtimeSeconds = Number.NaN }) => runtimeSeconds);
    const asRecorded = {
      runtimeSeconds: await timesOf(recorded, settings.cutoffMs),
      ...servedOf(recorded, recordedTimes),
    };
    await tell(context, asRecorded, tried, {
      ...record,
      delayMs: meanOf(delaysMs),
    });
    return ExitCode.done;
  },
});

/** Recorded jobs and the cluster that ran them. */
interface RecordedRun {
  readonly ran: RecordedSetup;
  readonly recorded: readonly RecordedJob[];
  readonly jobs: PackedJobs;
  readonly surveyed: Survey;
}

async function pastOfCluster(
  context: Context,
  options: Options,
  words: readonly string[],
): Promise<RecordedRun> {
  const ran = await recordedCluster(context, options, words);
  const tally = new Tally();
  const since = options.since === undefined ? undefined : Date.now() - options.since;
  const recorded = await recordedJobs(ran.journals, since, tally);
  const jobs = packed(recorded.map(({ job }) => job));
  const surveyed = await survey(
    { name: 'what was recorded', sha256: async () => '', tallied: tally.list() },
    [jobs],
    context.interrupted,
  );
  return { ran, recorded, jobs, surveyed };
}

/**
 * This policy is closest to the order of most batch systems; traces lack their priorities and backfilling.
 */
const POLICY_OF_TRACES = 'fifo-ff';
const TRACE_NOTE =
  'simulated as it ran: first come, first served; priorities, partitions and backfilling are not in the file';

/** @throws InputError, WorkloadError */
async function pastOfTrace(
  context: Context,
  options: Options,
  words: readonly string[],
  file: string,
): Promise<RecordedRun> {
  if (words.length > 0)
    throw new InputError('usage', '--trace FILE and a cluster cannot be used together', 'use one of them');
  if (options.since !== undefined)
    throw new InputError(
      'usage',
      '--since counts from now, so it does not apply to a trace',
      'select jobs with `goshawk trace sample`',
    );
  const resources = ['cpu', ...namedResources({ resources: options.resources })];
  const surveyed = await surveyWithProgress(context, file, undefined, resources);
  const { packed: jobs } = surveyed;
  if (jobs === undefined)
    throw new InputError(
      'bad-trace',
      `${file} is too large for memory`,
      'shorten it with `goshawk trace sample`',
    );
  const { workers, slots } = clusterOf(jobs, options.cpus);
  const ran = {
    settings: policySettings(
      // The policy starts jobs in order, regardless of estimates.
      { ...defaultsOf(options, undefined), policy: POLICY_OF_TRACES, estimator: 'given' },
      POLICY_OF_TRACES,
      surveyed.facts,
    ),
    workers: options.ranOn ?? workers,
    slots,
    schedulers: SCHEDULERS,
    capacity: sizeOfWorker({ ...options, cpus: slots }).capacity,
    attributes: attributesOf(options, options.ranOn ?? workers),
    journals: [],
  };
  return { ran, recorded: recordedJobsOf(jobs), jobs, surveyed };
}

/** @throws InputError if a job could never start */
function checkRoom(setup: Setup, { needs }: Survey): void {
  const { settings, workers, attributes } = setup;
  const each = Array.from({ length: workers }, (_, worker) => attributes[worker % attributes.length] ?? {});
  const cluster = { ...setup, attributes: each };
  needs.check(cluster);
  needs.checkSpread(settings, cluster);
  if (startsGangs(settings.preset)) {
    const places = needs.placesIn(cluster.slots, settings.preset);
    needs.checkGangs({ ...cluster, places }, settings.preset.gangs === 'all');
  }
}

/** A cluster to simulate. */
interface Setup {
  readonly label: string;
  readonly settings: PolicySettings;
  readonly workers: number;
  readonly slots: number;
  readonly schedulers: number;
  readonly capacity: RunRequest['capacity'];
  /** Attributes of its workers; others have those of the first ones. */
  readonly attributes: readonly Attributes[];
}

type RecordedSetup = Omit<Setup, 'settings' | 'label'> & {
  /** Settings of the running cluster; undefined if options must provide them. */
  readonly settings: PolicySettings | undefined;
  readonly journals: readonly string[];
};

/** Message delay, as in `simulate`. */
const ASSUMED_DELAY_MS = 0.5;
/** Number of schedulers assumed for a stopped cluster; it has little influence. */
const SCHEDULERS = 10;

/** Returns the cluster of the journals as it is now, or the first cluster to try if it is down. */
async function recordedCluster(
  context: Context,
  options: Options,
  words: readonly string[],
): Promise<RecordedSetup> {
  try {
    const found = await findCluster(context);
    const journals = await journalPlaces(context, words);
    await using cluster = await openCluster(context, { found });
    const { workers, schedulers, settings } = await cluster.describe({ signal: context.interrupted });
    const active = workers.filter(({ state }) => state === 'active');
    if (active.length === 0)
      throw new InputError(
        'no-workers',
        `the cluster at ${found.url} has no workers`,
        'start some with `goshawk worker`',
      );
    const [first] = active;
    if (
      active.some(
        ({ slots, capacity }) => slots !== first!.slots || !isDeepStrictEqual(capacity, first!.capacity),
      )
    )
      context.note('workers differ; the simulation uses the first one for all');
    const { slots, capacity } = first!;
    return {
      settings: settings.policy,
      workers: active.length,
      slots,
      schedulers: schedulers.length,
      capacity:
        options.resources === undefined
          ? capacity
          : sizeOfWorker({ cpus: slots, resources: options.resources }).capacity,
      attributes:
        options.attribute.length === 0
          ? active.map(({ attributes }) => attributes)
          : attributesOf(options, active.length),
      journals,
    };
  } catch (error) {
    const isDown =
      error instanceof UnreachableError || (error instanceof InputError && error.code === 'several-clusters');
    const workers = workersOf(options.workers)[0];
    if (!isDown || words.length === 0) throw error;
    const journals = await journalPlaces(context, words);
    await checkJournalPlaces(journals);
    if (options.policy === undefined || workers === undefined)
      throw new InputError(
        'usage',
        'the settings under which these jobs ran are unknown, because no cluster is running',
        'list --policy and --workers of the original cluster first, then the alternatives',
      );
    const { slots, capacity } = sizeOfWorker(options);
    return {
      settings: undefined,
      workers,
      slots,
      schedulers: SCHEDULERS,
      capacity,
      attributes: attributesOf(options, workers),
      journals,
    };
  }
}

function attributesOf({ attribute }: Options, workers: number): readonly Attributes[] {
  return attribute.length === 0 ? [] : attributesOfAll(attribute, workers);
}

/** Returns the recorded setup, then each policy on each number of workers with the settings of `up`. */
function setupsOf(ran: RecordedSetup, options: Options, { facts }: Survey): Setup[] {
  const { settings } = ran;
  const isTrace = options.trace !== undefined;
  const numbers = workersOf(options.workers);
  const { estimator, cutoff } = options;
  const variants = variantsOf(
    {
      ...defaultsOf(options, isTrace ? undefined : settings),
      // Each setup changes one thing: the number of workers, or the policy.
      policy: options.policy ?? (isTrace && numbers.length === 0 ? 'goshawk' : settings!.policy),
    },
    POLICY_SETTINGS,
  );
  const flags = Object.entries({ estimator, cutoff }).flatMap(([name, value]) =>
    settings === undefined || value === undefined || value.includes(',') ? [] : [`${name}=${value}`],
  );
  const setups = variants.flatMap(({ label, options: own }) =>
    (numbers.length === 0 ? [ran.workers] : numbers).map(
      (workers): Setup => ({
        ...ran,
        label: [label, ...flags].join(' '),
        workers,
        settings:
          settings !== undefined && label === settings.policy && flags.length === 0
            ? settings
            : policySettings(own, own.policy, isTrace ? facts : undefined),
      }),
    ),
  );
  const base = settings === undefined ? setups[0]! : { ...ran, settings, label: settings.policy };
  return [base, ...setups.filter(({ label, workers }) => label !== base.label || workers !== base.workers)];
}

/** Returns the options, completed by the settings of the recorded run. */
function defaultsOf(options: Options, settings: PolicySettings | undefined) {
  const { estimator, cutoff, policy } = options;
  return {
    ...options,
    policy: policy ?? settings?.policy ?? '',
    estimator: estimator ?? settings?.estimator ?? POLICY_OPTIONS.estimator.default,
    cutoff: cutoff ?? (settings === undefined ? undefined : `${settings.cutoffMs / 1_000}`),
  };
}

/** Parses a list of worker counts. @throws InputError if one is not a positive integer */
function workersOf(text: string | undefined): number[] {
  return (text?.split(',') ?? []).flatMap((part) => {
    const workers = /^\s*\d+\s*$/.test(part) ? Number(part) : 0;
    if (workers > 0 && workers <= LIMITS.membersMax) return [workers];
    throw new InputError(
      'bad-option',
      `--workers: ${quoted(part)} is not a number of workers from 1 to ${LIMITS.membersMax}`,
      'for example 80,100,120',
    );
  });
}

function requestOf(
  { settings, label, workers, slots, schedulers, capacity, attributes }: Setup,
  { record, firstSubmitSeconds, needs }: Survey,
  seed: number,
  network: NetworkModel,
): RunRequest {
  return {
    policy: { ...settings, policy: label },
    workers,
    slots,
    places: needs.placesIn(slots, settings.preset),
    capacity,
    attributes,
    schedulers,
    seed,
    network,
    estimator: settings.estimator,
    asSubmitted: true,
    durations: 'task',
    needsStaged: false,
    firstSubmitSeconds,
    arrivalFactor: 1,
    countedSeconds: [0, Number.POSITIVE_INFINITY],
    jobs: record.jobs,
    options: policyRecord(settings),
  };
}

/** Splits the run times into classes by the true mean run time of tasks, as simulations do. */
async function timesOf(recorded: readonly RecordedJob[], cutoffMs: number): Promise<RunTimes> {
  const { summarise } = await import('@goshawk/report');
  const completed = recorded.filter(({ runtimeSeconds }) => runtimeSeconds !== undefined);
  const isLong = ({ job }: RecordedJob): boolean => job.meanSeconds * 1_000 >= cutoffMs;
  const of = (which: readonly RecordedJob[]): Distribution =>
    summarise(which.map(({ runtimeSeconds }) => runtimeSeconds!));
  return {
    short: of(completed.filter((job) => !isLong(job))),
    long: of(completed.filter(isLong)),
    all: of(completed),
  };
}

async function tell(
  context: Context,
  recorded: Served & { readonly runtimeSeconds: RunTimes },
  [ran, ...others]: readonly Tried[],
  {
    jobs,
    tasks,
    spanSeconds,
    delayMs,
  }: Pick<Survey['record'], 'jobs' | 'tasks' | 'spanSeconds'> & { readonly delayMs: Millis },
): Promise<void> {
  const { off, words } = fidelity(ran!.runtimeSeconds, recorded.runtimeSeconds);
  const advice = advise(ran!, others, off);
  if (context.global.json) {
    context.json({
      schema: 'goshawk.whatif/1',
      messageSeconds: delayMs / 1_000,
      recorded: { jobs, tasks, spanSeconds, ...recorded },
      simulated: { ...ran!, ratiosToRecorded: ratiosOf(ran!.runtimeSeconds, recorded.runtimeSeconds) },
      others: others.map((each) => ({
        ...each,
        ratiosToSimulated: ratiosOf(each.runtimeSeconds, ran!.runtimeSeconds),
      })),
      advice,
    });
    return;
  }
  const { duration } = await import('@goshawk/report');
  const all = [
    { label: 'recorded', ...recorded },
    { ...ran!, label: `simulated as it ran: ${ran!.label}` },
    ...others,
  ];
  const hasDeadlines = (recorded.deadlines?.jobs ?? 0) > 0;
  const users = recorded.users.length < 2 ? [] : recorded.users.slice(0, USERS_SHOWN);
  const columns: Column<(typeof all)[number]>[] = [
    { title: 'run times of jobs', of: ({ label }) => label },
    ...(['short', 'long'] as const).flatMap((kind) =>
      (['p50', 'p90', 'p99'] as const).map((percentile) => ({
        title: `${kind} ${percentile}`,
        align: 'right' as const,
        of: ({ runtimeSeconds }: (typeof all)[number]) => duration(runtimeSeconds[kind][percentile]),
      })),
    ),
  ];
  if (hasDeadlines)
    columns.push({
      title: 'missed',
      align: 'right',
      of: ({ deadlines }) => `${deadlines!.missed} of ${deadlines!.jobs}`,
    });
  users.forEach(({ user }, place) => {
    columns.push({
      title: `${user} p90`,
      align: 'right',
      of: ({ users: served }) => duration(served[place]!.p90),
    });
  });
  context.out(renderTable(columns, all, painter(context)));
  context.out(`\n${words}`);
  for (const line of advice) context.out(line);
}

/** Number of users in the table. */
const USERS_SHOWN = 4;
