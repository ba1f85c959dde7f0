import { DEFAULT_EXPERTS, GUESSES, Histogram, Runs } from '@goshawk/predictor';
import {
  assumedEnd,
  DEFERRED,
  type Distribution,
  decreasingUtility,
  expectedShareHeld,
  expectedUtility,
  extendedUtility,
  extract,
  formulate,
  formulateAsPublished,
  type Problem,
  stepUtility,
  survival,
  type Utility,
} from '../policies/three-sigma/index.js';
import { loadSolver } from '../solver/highs.js';
import { checkEach, checkKnown, FieldError } from './fields.js';
import type { CaseContent, CaseKind, CheckedCase } from './kind.js';

const solver = await loadSolver();
const EXACT = { lpIterationsMax: Number.POSITIVE_INFINITY, relativeGap: 0 };
/** Results in the files have six decimals. */
const DIGITS = 1e6;

const PLAN: CaseKind = {
  policy: '3sigma-sched',
  accepts: ({ problem, answer }) => Array.isArray(problem?.pending) && typeof answer?.objective === 'number',
  *check({ name, problem, answer }) {
    checkPlan(problem);
    checkKnown(answer, { starts: 'object' }, 'answer');
    // The size of a program depends on its formulation. The files contain the size of the paper's program.
    const { cols: _, rows: __, ...rest } = answer;
    for (const [form, expected, formulation] of [
      [formulate, rest, 'unions'],
      [formulateAsPublished, answer, 'partitions'],
    ] as const) {
      const got = planOf(problemOf(problem), problem, form);
      yield { name: `${name}, ${formulation}`, expected, got: comparableResult(expected, got) };
    }
  },
};

function checkPlan(problem: CaseContent): void {
  const numbers = { now: 'number', cycle: 'positive', tieBreak: 'number', starts: 'numbers' } as const;
  checkKnown(problem, { ...numbers, partitions: 'list', running: 'list', pending: 'list' }, 'problem');
  const { partitions, running, pending } = problem;
  checkEach(partitions, { id: 'text', nodes: 'count' }, 'problem.partitions', checkKnown);
  checkEach(running, { alloc: 'object', dist: 'list', elapsed: 'amount' }, 'problem.running', checkKnown);
  const job = { id: 'text', k: 'count', spaces: 'list', utility: 'object', dist: 'list' } as const;
  checkEach(pending, job, 'problem.pending', checkKnown);
  for (const [place, { spaces, dist }] of pending.entries()) {
    const where = `problem.pending[${place}]`;
    checkEach(spaces, { parts: 'list', slowdown: 'positive' }, `${where}.spaces`, checkKnown);
    checkEach(dist, { from: 'number', to: 'number', p: 'amount' }, `${where}.dist`, checkKnown);
  }
}

/**
 * Reduces the result to the fields of the file. Files have several notations for tasks that start after the window.
 */
function comparableResult(expected: CaseContent, got: CaseContent): CaseContent {
  const starts = Object.entries(got.starts).map(([id, start]) => {
    const given = expected.starts[id];
    return [id, (start as CaseContent | null)?.start === DEFERRED && given?.start == null ? given : start];
  });
  const shown: CaseContent = { ...got, starts: Object.fromEntries(starts) };
  return Object.fromEntries(Object.keys(expected).map((key) => [key, shown[key]]));
}

function planOf(problem: Problem, given: CaseContent, form: typeof formulateAsPublished): CaseContent {
  const formulated = form(problem, EXACT);
  const { program, options, candidates, capacity } = formulated;
  const solution = solver.solve(program);
  const extracted = extract(problem, formulated, solution.values);
  if (extracted.kind !== 'plan') throw new Error(`${given.name}: what starts now does not fit`);
  const idOf = (job: number) => given.pending[job].id as string;
  const shown = ({ space, slot, utility }: (typeof options)[number]) => ({
    start: slot === DEFERRED ? DEFERRED : problem.starts[slot],
    space,
    utility: rounded(utility),
  });
  const chosen = options.filter((_, column) => solution.values[column]! > 0.5);
  return {
    objective: rounded(extracted.plan.objective),
    starts: Object.fromEntries(
      problem.pending.map((_, job) => {
        const option = chosen.find((each) => each.job === job);
        return [idOf(job), option === undefined ? null : shown(option)];
      }),
    ),
    preempt: candidates
      .filter((_, place) => solution.values[options.length + place]! > 0.5)
      .map((index) => given.running[index].id),
    capacity: Object.fromEntries(
      problem.partitions.map(({ id }, x) => [id, capacity.map((at) => rounded(at[x]!))]),
    ),
    options: options.map((option) => {
      const { start, space, utility } = shown(option);
      return { job: idOf(option.job), space, start, utility };
    }),
    cols: program.columns,
    rows: program.rows,
  };
}

function problemOf(given: CaseContent): Problem {
  const places = new Map<string, number>(given.partitions.map(({ id }: CaseContent, x: number) => [id, x]));
  const window = given.starts.at(-1) + given.cycle;
  return {
    now: given.now,
    cycle: given.cycle,
    starts: given.starts,
    tieBreak: given.tieBreak,
    partitions: given.partitions.map(({ id, nodes }: CaseContent) => ({ id, nodes })),
    running: given.running.map(({ alloc, dist, elapsed, slowdown, ...more }: CaseContent) => ({
      nodes: [...places.keys()].map((id) => alloc[id] ?? 0),
      distribution: scaled(dist, slowdown ?? 1),
      elapsed,
      preemptCost: preemptCostOf(more),
    })),
    pending: given.pending.map(({ k, spaces, utility, dist, defer, deferral }: CaseContent) => ({
      nodes: k,
      spaces: spaces.map(({ parts, slowdown }: CaseContent) => ({
        partitions: parts.map((id: string) => places.get(id)!),
        slowdown,
      })),
      utility: utilityOf(utility),
      distribution: dist,
      startsBefore: utility.deadline ?? Number.POSITIVE_INFINITY,
      mustStartNow: false,
      mayStartNow: true,
      deferral: deferralOf(
        defer ?? deferral ?? given.defer ?? given.deferral,
        utility,
        dist,
        given.now + window,
      ),
    })),
  };
}

function scaled(distribution: Distribution, factor: number): Distribution {
  return distribution.map(({ from, to, p }) => ({ from: from * factor, to: to * factor, p }));
}

/** Returns the cost of a preemption, which files give as a number or as an object. */
function preemptCostOf({ preemptCost, preempt, cost, P }: CaseContent): number | undefined {
  const given = preemptCost ?? preempt ?? cost ?? P;
  return typeof given === 'number' ? given : given?.cost;
}

/** @param given factor of the step utility; true: the default */
function deferralOf(given: unknown, utility: CaseContent, dist: Distribution, windowEnd: number): number {
  if (given === undefined || given === false || utility.deadline === undefined) return 0;
  const factor = typeof given === 'number' ? given : 0.9;
  return factor * utility.v * (1 - survival(dist, utility.deadline - windowEnd));
}

function utilityOf({ kind, deadline, zero, submit, length, floor, tail, v }: CaseContent): Utility {
  if (kind === 'step') return stepUtility(deadline, v);
  if (kind === 'stepDecay') return extendedUtility(deadline, zero, v, tail ?? 1);
  if (kind === 'linear') return decreasingUtility(submit, length, v, floor ?? 0);
  throw new FieldError(`there is no utility "${kind}"; known: step, stepDecay, linear`);
}

const FUNCTIONS: CaseKind = {
  policy: '3sigma-sched',
  accepts: ({ conditional, histogram, experts }) =>
    [conditional, histogram, experts].every((table) => typeof table === 'object' && table !== null),
  *check(tables) {
    yield* distributionTables(tables);
    yield* predictorTables(tables);
  },
};

function* distributionTables({
  conditional,
  underEstimate,
  overEstimate,
  expectedStep,
}: CaseContent): Generator<CheckedCase> {
  const dist = distributionOf(conditional.dist);
  yield table('conditional', conditional.rows, 'rc', ({ elapsed, after }) =>
    expectedShareHeld(dist, elapsed, after, conditional.cycle),
  );
  const most = Number(underEstimate.dist.split(' ')[1]);
  yield table('underEstimate', underEstimate.rows, 'finish', ({ elapsed }) =>
    assumedEnd(most, elapsed, underEstimate.cycle),
  );
  const { submit, deadline, zero, v } = overEstimate;
  const over = scaled(distributionOf(overEstimate.dist), overEstimate.slowdown);
  const step = stepUtility(deadline, v);
  yield table('overEstimate, step', overEstimate.expectedUtility, 'step', ({ start }) =>
    expectedUtility(step, over, start),
  );
  const extended = extendedUtility(deadline, zero, v);
  yield table('overEstimate, extended', overEstimate.expectedUtility, 'extended', ({ start }) =>
    expectedUtility(extended, over, start),
  );
  const inTime = 1 - survival(over, deadline - submit);
  const thresholds = Object.keys(overEstimate.enabledAtThreshold);
  yield {
    name: 'overEstimate, adaptive',
    expected: { pInTime: overEstimate.pInTime, ...overEstimate.enabledAtThreshold },
    got: { pInTime: inTime, ...Object.fromEntries(thresholds.map((at) => [at, inTime < Number(at)])) },
  };
  const uniform = distributionOf(expectedStep.dist);
  const unit = stepUtility(expectedStep.deadline, 1);
  yield table('expectedStep', expectedStep.rows, 'u', ({ start }) => expectedUtility(unit, uniform, start));
}

function* predictorTables({ histogram, experts }: CaseContent): Generator<CheckedCase> {
  const bins = new Histogram(histogram.maxBins);
  for (const sample of histogram.samples) bins.add(sample);
  yield {
    name: 'histogram',
    expected: histogram.bins,
    got: bins.save().map((bin) => {
      const [n, sum, lo, hi] = typeof bin === 'number' ? [1, bin, bin, bin] : bin;
      return { n, centroid: rounded(sum! / n!), lo, hi };
    }),
  };
  yield table('survival', histogram.survival, 's', ({ t }) => survival(bins.segments(), t));
  const runs = new Runs({ ...DEFAULT_EXPERTS, recent: experts.recentX });
  for (const runtime of experts.runtimes) runs.add(runtime);
  const names = { mean: 0, median: 1, rolling: 2, recent: 3 };
  const each = (of: (expert: number) => number) =>
    Object.fromEntries(Object.entries(names).map(([name, expert]) => [name, rounded(of(expert))]));
  yield { name: `experts ${GUESSES}`, expected: experts.nmae, got: each((expert) => runs.errorOf(expert)) };
  yield {
    name: 'next estimates',
    expected: experts.estimatesNext,
    got: each((expert) => runs.guess(expert)),
  };
}

function table(
  name: string,
  rows: readonly CaseContent[],
  column: string,
  of: (row: CaseContent) => number,
): CheckedCase {
  return {
    name,
    expected: rows,
    got: rows.map((row) => ({ ...row, [column]: rounded(of(row)) })),
  };
}

/** Parses `5:0.5,10:0.5` or `U(0,10)`. */
function distributionOf(text: string): Distribution {
  const uniform = /^U\((.+),(.+)\)$/.exec(text);
  if (uniform !== null) return [{ from: Number(uniform[1]), to: Number(uniform[2]), p: 1 }];
  return text.split(',').map((each) => {
    const [at, p] = each.split(':').map(Number);
    return { from: at!, to: at!, p: p! };
  });
}

function rounded(value: number): number {
  return Math.round(value * DIGITS) / DIGITS;
}

export const THREE_SIGMA_CASES: readonly CaseKind[] = [PLAN, FUNCTIONS];
