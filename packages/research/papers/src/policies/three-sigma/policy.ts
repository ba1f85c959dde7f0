import { formatAttributes, InputError, type Millis, sumOf } from '@goshawk/core';
import type {
  CentralPolicy,
  ClusterChange,
  ClusterView,
  Draft,
  PolicyExplanation,
  RunView,
  SolverAnswer,
  StageView,
  WorkerView,
} from '@goshawk/policies';
import { objectiveOf, type ProgramSolution } from '@goshawk/policies';
import {
  freeWorkers,
  groupWorkers,
  isInTime,
  isRemnant,
  pendingStages,
  preemptedRuns,
  Rooms,
  type RunningStage,
  runningStages,
  type WorkerGroup,
} from './cluster.js';
import { survival } from './distribution.js';
import { extract } from './extract.js';
import { type Formulated, formulate } from './formulate.js';
import { Gangs, pruned } from './gangs.js';
import { greedyPlan, shiftedPlan } from './greedy.js';
import { DEFERRED, type Plan, type Problem, type RunningGang } from './problem.js';
import type { PartitionSet } from './sets.js';
import type { PolicyVariant, ThreeSigmaOptions } from './settings.js';

/**
 * Interval after which a new plan is made even without changes, because running jobs are closer to their
 * ends.
 */
const UNCHANGED_MS = 30_000;
/** Maximum number of times a program with missing rows is solved again. */
const ROUNDS_MAX = 3;
const NO_MORE_UNIONS: readonly PartitionSet[] = new Array<PartitionSet>(ROUNDS_MAX).fill(0n);

/** Statistics of planning. */
interface ThreeSigmaCounters extends Record<string, number> {
  cycles: number;
  /** Plans made without a solution from the solver. */
  greedy: number;
  /** Plans whose seed was better than the solver's solution. */
  seeds: number;
  /** Answers that arrived too late. */
  stale: number;
  /** Gangs that could not start as planned. */
  refused: number;
}

/** A plan being solved: the state of the cluster, and the program made from it. */
interface SolverRequest {
  readonly id: number;
  readonly askedAt: Millis;
  readonly problem: Problem;
  readonly formulated: Formulated;
  readonly seed: Float64Array;
  readonly groups: readonly WorkerGroup[];
  /** Indexed as in the problem. */
  readonly pending: readonly StageView[];
  readonly running: readonly RunningStage[];
  readonly unions: readonly PartitionSet[];
}

/** A gang that starts as soon as the runs preempted for it have ended. */
interface PendingStart {
  readonly stage: StageView;
  readonly nodes: number;
  /** Nodes by group. */
  readonly shares: readonly (readonly [group: WorkerGroup, count: number])[];
}

interface Planned {
  /** Planned start; Infinity: after the end of the plan. */
  readonly at: Millis;
  readonly space: number;
  /** Probability that it meets its deadline; undefined without one. */
  readonly chance: number | undefined;
}

/**
 * 3Sigma: each cycle plans all jobs together, by their distributions of run times. Only immediate starts are
 * carried out. All jobs are gangs.
 */
export class ThreeSigma implements CentralPolicy {
  readonly counters: ThreeSigmaCounters = { cycles: 0, greedy: 0, seeds: 0, stale: 0, refused: 0 };
  readonly #options: ThreeSigmaOptions;
  readonly #grid: readonly Millis[];
  readonly #gangs: Gangs;
  #planned = new Map<StageView, Planned>();
  #request: SolverRequest | undefined;
  #answer: { readonly id: number; readonly answer: SolverAnswer } | undefined;
  #pendingStarts: PendingStart[] = [];
  #lastCycle = Number.NEGATIVE_INFINITY;
  #hasChanged = false;

  /** @throws InputError for an invalid grid */
  constructor(options: ThreeSigmaOptions, variant: PolicyVariant) {
    this.#options = options;
    this.#grid = gridOf(options.startGrid);
    this.#gangs = new Gangs(options, variant);
  }

  update(changes: readonly ClusterChange[]): void {
    for (const each of changes) {
      if (each.kind === 'solved') {
        this.#answer = each;
        continue;
      }
      this.#hasChanged = true;
      if (each.kind === 'gone') {
        this.#gangs.forget(each.job);
        for (const stage of each.job.stages) this.#planned.delete(stage);
      }
    }
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    if (this.#answer !== undefined) this.#act(draft, now);
    this.#giveUp(draft, now);
    this.#startPending(draft);
    if (this.#request !== undefined) {
      draft.again(this.#request.askedAt + this.#options.cycleMs);
      return;
    }
    const rooms = new Rooms(cluster);
    const pending = pendingStages(cluster, rooms, this.#options.afterDeadline, now);
    if (pending.length === 0) return;
    const due = this.#nextCycle();
    if (now < due) draft.again(due);
    else this.#requestPlan(cluster, pending, rooms, draft, now);
  }

  explain(stage: StageView, _cluster: ClusterView, now: Millis): PolicyExplanation {
    const planned = this.#planned.get(stage);
    if (planned === undefined) {
      const sentence = this.#gangs.isTooLate(stage, now)
        ? this.#tooLate
        : 'The current plan has no room for it.';
      return { reason: 'matching', sentence };
    }
    const seconds = Math.max(0, Math.round((planned.at - now) / 1_000));
    const when = Number.isFinite(seconds)
      ? `is planned to start in about ${seconds} s`
      : 'waits for more urgent jobs, and starts after the current plan';
    const chance =
      planned.chance === undefined
        ? ''
        : `, and meets its deadline with a probability of ${Math.round(100 * planned.chance)}%`;
    return { reason: 'matching', sentence: `It ${when}${chance}.` };
  }

  get #tooLate(): string {
    const then = this.#options.afterDeadline === 'abandon' ? 'it fails' : 'it is best effort';
    return `Judging by its known run times, it cannot meet its deadline, so it gets no resources; after the deadline ${then}.`;
  }

  // ---- timing

  /** Time of the next plan: a cycle after the last one, or later if nothing relevant has changed. */
  #nextCycle(): Millis {
    const soonest = this.#lastCycle + this.#options.cycleMs;
    if (this.#hasChanged || this.#pendingStarts.length > 0) return soonest;
    let due = this.#lastCycle + UNCHANGED_MS;
    for (const { at } of this.#planned.values()) if (at > this.#lastCycle) due = Math.min(due, at);
    return Math.max(soonest, due);
  }

  // ---- solving

  #requestPlan(
    cluster: ClusterView,
    all: readonly StageView[],
    rooms: Rooms,
    draft: Draft,
    now: Millis,
  ): void {
    this.#lastCycle = now;
    this.#hasChanged = false;
    this.#pendingStarts = [];
    // These runs were preempted at least a cycle ago and have not ended, so the message may have been lost.
    for (const run of preemptedRuns(cluster)) draft.preempt(run);
    const worthFull = (stage: StageView) => isRemnant(stage) || isInTime(stage.job, now);
    const urgent = all.filter(worthFull);
    const bestEffort = pruned(
      all.filter((stage) => !worthFull(stage)),
      this.#options.beMax,
      (stage) => rooms.hasRoomNow(stage),
    );
    const pending = [...urgent, ...bestEffort];
    const groups = groupWorkers(cluster, pending);
    if (groups.length === 0) return;
    this.counters.cycles++;
    const running = runningStages(cluster.jobs);
    const problem = this.#problemOf(pending, running, groups, rooms, now);
    this.#solve({ askedAt: now, problem, groups, pending, running, unions: [] }, draft, cluster.version);
    draft.again(now + this.#options.cycleMs);
  }

  #problemOf(
    pending: readonly StageView[],
    running: readonly RunningStage[],
    groups: readonly WorkerGroup[],
    rooms: Rooms,
    now: Millis,
  ): Problem {
    const { cycleMs, tieBreak, vBe } = this.#options;
    const groupOf = new Map<object, number>();
    for (const [index, { workers }] of groups.entries())
      for (const worker of workers) groupOf.set(worker, index);
    const windowEnd = now + this.#grid.at(-1)! + cycleMs;
    const gangs = running.map((stage) => this.#gangs.running(stage, groupOf, groups.length, now));
    return {
      now,
      cycle: cycleMs,
      starts: this.#grid,
      tieBreak: tieBreak * vBe,
      partitions: groups.map(({ name, nodes }) => ({ id: name, nodes })),
      running: this.#withFewCandidates(gangs),
      pending: pending.map((stage) => {
        const mayPreempt =
          isInTime(stage.job, now) && gangs.some(({ preemptCost }) => preemptCost !== undefined);
        const mayStartNow = mayPreempt || rooms.hasRoomNow(stage);
        return this.#gangs.pending(stage, groups, now, windowEnd, mayStartNow);
      }),
    };
  }

  /** Limits preemption candidates to those with the lowest cost per node. */
  #withFewCandidates(gangs: readonly RunningGang[]): RunningGang[] {
    const costOf = ({ preemptCost, nodes }: RunningGang) => preemptCost! / sumOf(nodes);
    const cheapest = gangs
      .filter((gang) => gang.preemptCost !== undefined && gang.nodes.some((nodes) => nodes > 0))
      .sort((a, b) => costOf(a) - costOf(b))
      .slice(0, this.#options.preemptCandidatesMax);
    const few = new Set(cheapest);
    return gangs.map((gang) => (few.has(gang) ? gang : { ...gang, preemptCost: undefined }));
  }

  #solve(asked: Omit<SolverRequest, 'id' | 'formulated' | 'seed'>, draft: Draft, version: number): void {
    const { lpIterationsMax, mipRelGap } = this.#options;
    const { problem, pending, unions } = asked;
    const formulated = formulate(problem, { lpIterationsMax, relativeGap: mipRelGap }, unions);
    if (formulated.options.length === 0) {
      this.#planned.clear();
      return;
    }
    const seed = this.#seedOf(formulated, problem, pending);
    const id = draft.solve({ version, model: { ...formulated.program, seed } });
    this.#request = { ...asked, id, formulated, seed };
  }

  /**
   * Returns the more valuable of two plans: the greedy plan, and the last plan moved to the present and
   * extended.
   */
  #seedOf(formulated: Formulated, problem: Problem, pending: readonly StageView[]): Float64Array {
    const greedy = greedyPlan(formulated, problem, []);
    if (this.#planned.size === 0) return greedy;
    const planned = new Map<number, Planned>();
    for (const [index, stage] of pending.entries()) {
      const plan = this.#planned.get(stage);
      if (plan !== undefined) planned.set(index, plan);
    }
    const shifted = greedyPlan(formulated, problem, shiftedPlan(formulated, problem, planned));
    const { program } = formulated;
    return objectiveOf(program, shifted) > objectiveOf(program, greedy) ? shifted : greedy;
  }

  // ---- results

  #act(draft: Draft, now: Millis): void {
    const { id, answer } = this.#answer!;
    const request = this.#request;
    this.#answer = undefined;
    if (request?.id !== id) {
      this.counters.stale++;
      return;
    }
    this.#request = undefined;
    const plan = this.#planOf(request, this.#valuesOf(request, answer), draft, answer.version);
    if (plan !== undefined) this.#execute(request, plan, draft, now);
  }

  /** Uses the seed plan if the solver has not answered within the cycle. */
  #giveUp(draft: Draft, now: Millis): void {
    const request = this.#request;
    if (request === undefined || now < request.askedAt + this.#options.cycleMs) return;
    this.#request = undefined;
    this.counters.greedy++;
    // Accepts missing rows, because the program will not be solved again.
    const plan = this.#planOf({ ...request, unions: NO_MORE_UNIONS }, request.seed, draft, 0);
    if (plan !== undefined) this.#execute(request, plan, draft, now);
  }

  #valuesOf({ formulated, seed }: SolverRequest, answer: SolverAnswer): Float64Array {
    if (answer.kind === 'none') {
      this.counters.greedy++;
      return seed;
    }
    const { values } = answer.solution as ProgramSolution;
    const { program } = formulated;
    if (values.length === program.columns && objectiveOf(program, values) >= objectiveOf(program, seed))
      return values;
    this.counters.seeds++;
    return seed;
  }

  /** @returns undefined if the program lacked rows and is being solved again */
  #planOf(request: SolverRequest, values: Float64Array, draft: Draft, version: number): Plan | undefined {
    const { problem, formulated, unions } = request;
    const held = Float64Array.from(values);
    for (;;) {
      const extracted = extract(problem, formulated, held);
      if (extracted.kind === 'plan') return extracted.plan;
      if (unions.length < ROUNDS_MAX && !unions.includes(extracted.union)) {
        this.#solve({ ...request, unions: [...unions, extracted.union] }, draft, version);
        return undefined;
      }
      // Drops the least valuable of the jobs that exceed the free nodes.
      const over = formulated.options
        .map((option, column) => ({ ...option, column }))
        .filter(({ slot, column, job }) => slot === 0 && held[column]! > 0.5 && extracted.jobs.includes(job));
      held[over.reduce((least, each) => (each.utility < least.utility ? each : least)).column] = 0;
    }
  }

  #execute(request: SolverRequest, plan: Plan, draft: Draft, now: Millis): void {
    const { problem, pending, running, groups } = request;
    this.#pendingStarts = plan.starts.map(({ job, nodes }) => ({
      stage: pending[job]!,
      nodes: problem.pending[job]!.nodes,
      shares: nodes.flatMap((count, index) => (count > 0 ? [[groups[index]!, count] as const] : [])),
    }));
    this.#planned = new Map(
      plan.planned.map(({ job, space, slot }) => {
        const stage = pending[job]!;
        const at = slot === DEFERRED ? Number.POSITIVE_INFINITY : problem.now + problem.starts[slot]!;
        return [stage, { at, space, chance: this.#chanceOf(stage, problem, job, space, at) }];
      }),
    );
    for (const [{ job }, { at, space }] of this.#planned) {
      if (Number.isFinite(at))
        draft.expect(job, at, space === 0 ? formatAttributes(job.prefers) || undefined : undefined);
    }
    this.#startPending(draft);
    // Drops the gangs that did not start: all if nothing is preempted, else those that would not fit even
    // then.
    const ends = new Set(plan.preempts.flatMap((index) => running[index]!.runs));
    const planned = this.#pendingStarts.length;
    this.#pendingStarts = this.#pendingStarts.filter((pending) => ends.size > 0 && fitsAfter(pending, ends));
    this.counters.refused += planned - this.#pendingStarts.length;
    const places = new Set(
      this.#pendingStarts.flatMap(({ shares }) => shares.flatMap(([{ workers }]) => workers)),
    );
    for (const run of ends) if (places.has(run.worker)) draft.preempt(run);
    if (this.#pendingStarts.length > 0) draft.again(now + this.#options.cycleMs);
  }

  #chanceOf(stage: StageView, problem: Problem, job: number, space: number, at: Millis): number | undefined {
    const { deadlineAt } = stage.job;
    if (!Number.isFinite(deadlineAt)) return undefined;
    const { distribution, spaces } = problem.pending[job]!;
    const start = Number.isFinite(at) ? at : problem.now + problem.starts.at(-1)! + problem.cycle;
    return 1 - survival(distribution, Math.max(0, deadlineAt - start) / spaces[space]!.slowdown);
  }

  #startPending(draft: Draft): void {
    this.#pendingStarts = this.#pendingStarts.filter(({ stage, nodes, shares }) => {
      if (stage.waiting !== nodes) return false;
      const workers = shares.flatMap(([group, count]) => freeWorkers(group, stage, count));
      if (workers.length < nodes) return true;
      return draft.gang(workers.map((worker) => ({ stage, worker }))) === undefined;
    });
  }
}

/** Whether the gang fits when these runs have ended. The program counts slots, which may lack other resources. */
function fitsAfter({ stage, shares }: PendingStart, ends: ReadonlySet<RunView>): boolean {
  const roomAt = (worker: WorkerView): number => {
    if (stage.declinedBy?.has(worker) === true) return 0;
    const ending = worker.runs.filter((run) => run.isPreempted || ends.has(run));
    return worker.roomFor(stage.demand, ending);
  };
  return shares.every(([{ workers }, count]) => sumOf(workers, roomAt) >= count);
}

/**
 * @param text seconds, joined by commas
 * @returns ms
 * @throws InputError
 */
export function gridOf(text: string): Millis[] {
  const seconds = text.split(',').map((each) => (each.trim() === '' ? Number.NaN : Number(each)));
  const rises = seconds.every(
    (at, place) => at > (seconds[place - 1] ?? Number.NEGATIVE_INFINITY) && at < Infinity,
  );
  if (seconds[0] !== 0 || !rises)
    throw new InputError(
      'bad-option',
      `startGrid: "${text}" is not a grid`,
      'write seconds from 0 on, rising: 0,10,20',
    );
  return seconds.map((at) => at * 1_000);
}
