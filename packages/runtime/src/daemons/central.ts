import { join } from 'node:path';
import { Central } from '@goshawk/central';
import {
  type ClusterOutline,
  type ClusterSettings,
  describeThrownIn,
  type Forecast,
  LIMITS,
  type Machine,
  type Millis,
  present,
} from '@goshawk/core';
import { isCustomPolicy, PlanningTimes, type Program, type ProgramSolution } from '@goshawk/policies';
import { centralReadings } from '../metrics/index.js';
import { PlacementTracing } from '../tracing/index.js';
import { clusterLog } from './cluster-log.js';
import type { Daemon } from './daemon.js';
import { EventBook } from './event-book.js';
import { failureLog } from './failure-log.js';
import { HistoryBook } from './history-book.js';
import { JournalMoves } from './journal-moves.js';
import { receiveLaterFailures } from './later-failures.js';
import { disputeLine, otherCentralEffects, ownEndpoints, watchForOtherCentrals } from './other-centrals.js';
import { type DaemonProcess, FIRST_PARTY, openProcess, type ProcessOptions } from './process.js';
import { watchForStalls } from './stall-watch.js';
import { followUsersFile, type UsersFile } from './users-file.js';

export type SolverReply = { readonly solution: ProgramSolution } | { readonly error: string };

/** Solves the optimization problems of planning policies; `@goshawk/papers` has an implementation. */
export interface ProblemSolver {
  /** @param answer called once, unless a later program supersedes this one */
  solve(program: Program, answer: (reply: SolverReply) => void): void;
  close(): void;
}

/** Forecasts the ends of jobs outside of central's thread. */
export interface JobForecaster {
  /** @param answer called once */
  forecast(outline: ClusterOutline, answer: (forecast: Forecast) => void): void;
  close(): void;
}

/** A custom policy that central runs no longer. */
export interface ReplacedPolicy {
  readonly name: string;
  /** Says what it did, as the end of a sentence: `did not return from a call`. */
  readonly why: string;
}

export interface CentralOptions extends ProcessOptions {
  readonly name?: string;
  /** Settings that every member receives when it joins. */
  readonly settings: ClusterSettings;
  /** Names of schedulers that lists and alerts report as missing when they are absent. */
  readonly expectedSchedulers?: readonly string[] | undefined;
  /** Weights and limits of users; reloaded when the file changes. */
  readonly usersFile?: UsersFile | undefined;
  /** Custom policy instead of which these settings name another one. */
  readonly replacedPolicy?: ReplacedPolicy | undefined;
  /** Folder for the events and the history of the cluster; without it, they are lost when the process exits. */
  readonly dataFolder?: string | undefined;
  /** Solver of planning policies; closed with the process. */
  readonly solver?: ProblemSolver | undefined;
  /** Closed with the process. Absent: the ends of jobs are unknown. */
  readonly forecaster?: JobForecaster | undefined;
}

/** Time after an exception of the policy for which lists and `why` warn of it. ms */
const FAILURE_WARNED_MS = 60_000;
const FAILURE_LENGTH_MAX = 500;

/**
 * Starts the central scheduler in this process.
 *
 * @throws InputError if it cannot listen on its endpoint, or its policy cannot be made
 */
export async function startCentral(options: CentralOptions): Promise<Daemon> {
  const process = await openProcess('central', options);
  try {
    return serve(process, options);
  } catch (error) {
    // An open process would keep this one from exiting.
    await process.close();
    throw error;
  }
}

function serve(process: DaemonProcess, options: CentralOptions): Daemon {
  const { dataFolder } = options;
  const events = new EventBook(dataFolder && join(dataFolder, 'events.jsonl'), options.logger);
  const history = new HistoryBook(dataFolder && join(dataFolder, 'history.jsonl'), options.logger);
  const moves = new JournalMoves(dataFolder && join(dataFolder, 'moves.json'), options.logger);
  void process.ended.then(() => {
    events.close();
    history.close();
  });
  const name = options.name ?? 'central';
  const { endpoint } = process.mailbox;
  const own = ownEndpoints(options.bind, endpoint);
  const tracing = process.tracing && new PlacementTracing(process.tracing);
  let central!: Central;
  /** Exceptions in timers and promises of a custom policy. */
  let failedLater = 0;
  const times = new PlanningTimes(() => performance.now());
  const { solver, forecaster, replacedPolicy } = options;
  const logFailure = failureLog(
    options.logger,
    'policy',
    'the policy threw; waiting tasks start in order of arrival',
  );
  let lastFailure: { readonly error: unknown; readonly at: Millis } | undefined;
  const policyFailed = (name: string, error: unknown): void => {
    lastFailure = { error, at: process.host.now() };
    logFailure(name, error);
  };
  const policyWarning = (): readonly string[] => {
    if (lastFailure === undefined || process.host.now() - lastFailure.at > FAILURE_WARNED_MS) return [];
    const name = options.settings.policy.policy;
    const what = describeThrownIn(lastFailure.error, name).slice(0, FAILURE_LENGTH_MAX);
    return [`the policy ${name} fails, so tasks start in order of arrival: ${what}`];
  };
  void process.ended.then(() => {
    solver?.close();
    forecaster?.close();
  });
  const { enter } = process.host.add({ index: FIRST_PARTY, name, role: 'central' }, (environment, enter) => {
    const at = own.slice(0, LIMITS.centralPlacesMax).map((place) => process.centralAt(place));
    const config = {
      name,
      self: process.addressOf(FIRST_PARTY),
      at,
      get wallOffsetMs() {
        return Date.now() - process.host.now();
      },
      settings: options.settings,
      users: options.usersFile?.grants,
      ...present({ expectedSchedulers: options.expectedSchedulers }),
    };
    central = new Central(config, {
      ...(tracing?.listenTo(environment) ?? environment),
      busyMs: () => performance.eventLoopUtilization().active,
      counted: () => ({ ...environment.counted?.(), planningMs: times.read() ?? {} }),
      solve: (id, { version, model }) => {
        times.problemSent();
        solver?.solve(model as Program, (reply) => {
          if ('error' in reply) options.logger.warn({ error: reply.error }, 'planned without the solver');
          const answer =
            'error' in reply
              ? ({ kind: 'none', version, error: reply.error } as const)
              : ({ kind: 'solution', version, solution: reply.solution } as const);
          times.answerArrived();
          enter('solved', (_machine, now) => central.solved(id, answer, now));
        });
      },
      ...(forecaster === undefined
        ? {}
        : {
            foresee: (outline: ClusterOutline) =>
              forecaster.forecast(outline, (forecast) =>
                enter('foreseen', (_machine, now) => central.foreseen(forecast, now)),
              ),
          }),
      events: (after, since) => events.page(after, since),
      history: (after) => history.page(after),
      recordHistory: (sample) => history.add(sample),
      noticeReceived: (event) => events.add(event),
      journalMoves: moves.byTag,
      journalMoved: (tag, count) => moves.set(tag, count),
      eventOccurred: clusterLog(
        options.logger,
        (worker, address, why) => enter('explain loss', () => central.explainLoss(worker, address, why)),
        (event) => events.add(event),
      ),
      warnings: () => [
        ...(replacedPolicy === undefined ? [] : [replacementLine(replacedPolicy, options.settings)]),
        ...policyWarning(),
        ...process.mailbox.disputedAddresses().map(disputeLine),
      ],
      policyFailed: (error) => policyFailed(options.settings.policy.policy, error),
      ...otherCentralEffects(process, options.logger),
    });
    return timed(tracing?.around(central) ?? central, times);
  });
  if (options.usersFile !== undefined) {
    const stopFollowing = followUsersFile(options.usersFile, options.logger, (grants) => {
      events.add({ kind: 'users-changed', text: 'the weights and limits of users (--users) were changed' });
      enter('grant', () => central.grant(grants));
    });
    void process.ended.then(stopFollowing);
  }
  watchForOtherCentrals(endpoint, own, process.ended, (places) => {
    const addresses = places.map((place) => process.centralAt(place));
    enter('look for others', (_machine, now) => central.lookForOthers(addresses, now));
  });
  process.show(() => ({
    notReady: [],
    readings: () => ({
      ...centralReadings(central, process.host.now(), failedLater),
      goshawk_central_policy_replaced: replacedPolicy === undefined ? 0 : 1,
      goshawk_central_disputed_addresses: process.mailbox.disputedAddresses().length,
    }),
    scrapeTargets: () => [
      ...(process.http === undefined ? [] : [{ role: 'central', at: process.http } as const]),
      ...central.scrapeTargets,
    ],
  }));
  const { policy, preset } = options.settings.policy;
  if (isCustomPolicy(preset)) {
    watchForStalls(policy);
    const later = receiveLaterFailures((module, error) => {
      // Schedulers report the errors of estimators.
      if (module !== preset.decidedBy.policy) return;
      failedLater++;
      policyFailed(policy, error);
    });
    void process.ended.then(later);
  }
  if (replacedPolicy !== undefined)
    options.logger.error(
      { event: 'policy-replaced', policy: replacedPolicy.name },
      replacementLine(replacedPolicy, options.settings),
    );
  options.logger.info({ endpoint, policy }, 'central is up');
  recordStart(events, options, policy);
  const stop = async (): Promise<void> => {
    options.logger.info({}, 'central is stopping; workers and schedulers keep their state');
    events.add({ kind: 'central-stopped', text: 'central was stopped' });
    await process.close();
  };
  return {
    role: 'central',
    endpoint,
    logger: options.logger,
    joined: Promise.resolve(),
    ended: process.ended,
    // Central runs no tasks, so there is nothing to finish.
    drain: stop,
    stop,
  };
}

/** Records the start of central, and whether its policy or settings differ from those at its last start. */
function recordStart(events: EventBook, { settings, replacedPolicy }: CentralOptions, policy: string): void {
  const { last } = events;
  const before = events.latest('policy')?.text;
  const isClean = last === undefined || last.kind === 'central-stopped';
  const text = isClean ? 'central started' : 'central started again after its process had ended unexpectedly';
  events.add({ kind: 'central-started', text });
  const { preset: _, policy: __, ...shown } = settings.policy;
  const values = Object.entries(shown).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const now = `the policy is ${policy}: ${values.join(', ')}`.slice(0, SETTINGS_LENGTH_MAX);
  if (now !== before) events.add({ kind: 'policy', text: now });
  if (replacedPolicy !== undefined)
    events.add({ kind: 'policy-replaced', text: replacementLine(replacedPolicy, settings) });
}

const SETTINGS_LENGTH_MAX = 2_000;

function replacementLine({ name, why }: ReplacedPolicy, { policy: { policy } }: ClusterSettings): string {
  return `central runs the policy ${policy}, because ${name} ${why}: correct it, and restart central`;
}

/** Replaces the machine's `settle` with a function that also measures planning times. */
function timed<M extends Machine>(machine: M, times: PlanningTimes): M {
  const settle = machine.settle?.bind(machine);
  if (settle !== undefined) machine.settle = (now) => times.measure(() => settle(now));
  return machine;
}
