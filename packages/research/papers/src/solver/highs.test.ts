import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  DEFERRED,
  extract,
  formulate,
  formulateAsPublished,
  greedyPlan,
  type Option,
  type Problem,
  stepUtility,
  survival,
} from '../policies/three-sigma/index.js';
import { loadSolver } from './highs.js';

const solver = await loadSolver();
const EXACT = { lpIterationsMax: Number.POSITIVE_INFINITY, relativeGap: 0 };

const runTimes = fc
  .array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 })
  .map((ends) => ends.map((at) => ({ from: at / 2, to: at, p: 1 / ends.length })));
const spaces = fc.constantFrom(
  [{ partitions: [0], slowdown: 1 }],
  [{ partitions: [0, 1], slowdown: 1 }],
  [
    { partitions: [1], slowdown: 1 },
    { partitions: [0, 1, 2], slowdown: 1.5 },
  ],
  [{ partitions: [1, 2], slowdown: 1 }],
);
const pending = fc.record({
  nodes: fc.integer({ min: 1, max: 3 }),
  spaces,
  utility: fc
    .tuple(fc.integer({ min: 3, max: 20 }), fc.integer({ min: 1, max: 10 }))
    .map(([deadline, value]) => stepUtility(deadline, value)),
  distribution: runTimes,
  startsBefore: fc.constantFrom(6, Number.POSITIVE_INFINITY),
  mustStartNow: fc.boolean(),
  mayStartNow: fc.boolean(),
  deferral: fc.constantFrom(0, 0.5),
});
const running = fc.record({
  nodes: fc.constantFrom([1, 0, 0], [0, 1, 1], [1, 1, 0]),
  distribution: runTimes,
  elapsed: fc.integer({ min: 0, max: 15 }),
  preemptCost: fc.constantFrom(undefined, 1.5, 3),
});
const problems: fc.Arbitrary<Problem> = fc.record({
  now: fc.constant(0),
  cycle: fc.constant(1),
  starts: fc.constantFrom([0, 4], [0, 2, 5]),
  partitions: fc.constant([
    { id: 'a', nodes: 2 },
    { id: 'b', nodes: 2 },
    { id: 'c', nodes: 1 },
  ]),
  running: fc.array(running, { maxLength: 1 }),
  pending: fc.array(pending, { minLength: 1, maxLength: 3 }),
  tieBreak: fc.constant(0.001),
});

test('both formulations find the best of all plans', () => {
  fc.assert(
    fc.property(problems, (problem) => {
      for (const [form, fits] of [
        [formulate, fitsTimeByTime],
        [formulateAsPublished, fitsInPlace],
      ] as const) {
        const formulated = form(problem, EXACT);
        const { objective, values } = solver.solve(formulated.program);
        expect(objective).toBeCloseTo(bestOfAll(problem, formulated.options, fits), 5);
        expect(extract(problem, formulated, values).kind).toBe('plan');
      }
    }),
    { numRuns: 150 },
  );
});

test('immediate starts fit the free nodes, within the chosen spaces', () => {
  fc.assert(
    fc.property(problems, (problem) => {
      const formulated = formulate(problem, EXACT);
      const extracted = extract(problem, formulated, solver.solve(formulated.program).values);
      if (extracted.kind !== 'plan') throw new Error('overfull');
      const { starts, preempts } = extracted.plan;
      for (const [x, { nodes }] of problem.partitions.entries()) {
        const held = problem.running.reduce(
          (sum, gang, index) => sum + (preempts.includes(index) ? 0 : gang.nodes[x]!),
          0,
        );
        const taken = starts.reduce((sum, start) => sum + start.nodes[x]!, 0);
        expect(taken + held).toBeLessThanOrEqual(nodes);
      }
      for (const { job, nodes } of starts) {
        expect(nodes.reduce((sum, each) => sum + each)).toBe(problem.pending[job]!.nodes);
      }
    }),
  );
});

test('a greedy plan fits, and the solver starts from it', () => {
  fc.assert(
    fc.property(problems, (problem) => {
      const formulated = formulate(problem, EXACT);
      const seed = greedyPlan(formulated, problem, []);
      expect(extract(problem, formulated, seed).kind).toBe('plan');
      const { program, options } = formulated;
      const worth = options.reduce((sum, _, column) => sum + seed[column]! * program.cost[column]!, 0);
      const stopped = { ...program, seed, limits: { lpIterationsMax: 0, relativeGap: 0 } };
      expect(solver.solve(stopped).objective).toBeGreaterThanOrEqual(worth - 1e-6);
    }),
  );
});

/** Enumerates all choices of options and preemptions, and returns the best that fits. */
function bestOfAll(problem: Problem, options: readonly Option[], fits: typeof fitsInPlace): number {
  const choices = problem.pending.map((_, job) => [
    undefined,
    ...options.filter((option) => option.job === job),
  ]);
  const preemptible = problem.running.flatMap(({ preemptCost }, at) =>
    preemptCost === undefined ? [] : [at],
  );
  let best = 0;
  for (const chosen of combinations(choices)) {
    const options = chosen.filter((option) => option !== undefined);
    for (let mask = 0; mask < 2 ** preemptible.length; mask++) {
      const killed = preemptible.filter((_, at) => (mask >> at) & 1);
      const worth =
        options.reduce((sum, { utility, slot }) => sum + utility - 0.001 * Math.max(slot, 0), 0) -
        killed.reduce((sum, at) => sum + problem.running[at]!.preemptCost!, 0);
      if (worth <= best) continue;
      const placed = options.filter(({ slot }) => slot !== DEFERRED);
      if (fits(problem, placed, killed)) best = worth;
    }
  }
  return best;
}

function* combinations<T>(of: readonly (readonly T[])[]): Generator<T[]> {
  const [first, ...rest] = of;
  if (first === undefined) yield [];
  else for (const each of first) for (const others of combinations(rest)) yield [each, ...others];
}

function freeAt(problem: Problem, slot: number, killed: readonly number[]): number[] {
  const { starts, running, partitions } = problem;
  return partitions.map(({ nodes }, x) =>
    running.reduce((left, gang, index) => {
      if (killed.includes(index)) return left;
      const most = Math.max(...gang.distribution.map(({ to }) => to));
      let share = survival(gang.distribution, gang.elapsed + starts[slot]!);
      if (gang.elapsed < most) share /= survival(gang.distribution, gang.elapsed);
      else {
        let n = 1;
        while (most + 2 ** n - 1 <= gang.elapsed) n++;
        share = gang.elapsed + starts[slot]! < most + 2 ** n - 1 ? 1 : 0;
      }
      return left - gang.nodes[x]! * share;
    }, nodes),
  );
}

/** Expected nodes of an option at a grid time. */
function demandOf({ pending, starts }: Problem, { job, space, slot }: Option, at: number): number {
  if (at < slot) return 0;
  const { nodes, spaces: of, distribution } = pending[job]!;
  return (
    nodes * (at === slot ? 1 : survival(distribution, (starts[at]! - starts[slot]!) / of[space]!.slowdown))
  );
}

/** Hall's condition over all sets of partitions, separately for each time. */
function fitsTimeByTime(problem: Problem, placed: readonly Option[], killed: readonly number[]): boolean {
  return problem.starts.every((_, at) => {
    const free = freeAt(problem, at, killed);
    for (let set = 1; set < 2 ** free.length; set++) {
      const within = placed.filter(({ job, space }) =>
        problem.pending[job]!.spaces[space]!.partitions.every((x) => (set >> x) & 1),
      );
      const demand = within.reduce((sum, option) => sum + demandOf(problem, option, at), 0);
      const room = free.reduce((sum, nodes, x) => sum + ((set >> x) & 1 ? nodes : 0), 0);
      if (demand > room + 1e-7) return false;
    }
    return true;
  });
}

/** Whether integer numbers of nodes exist for each option, equal at all times. */
function fitsInPlace(problem: Problem, placed: readonly Option[], killed: readonly number[]): boolean {
  const free = problem.starts.map((_, at) => freeAt(problem, at, killed));
  const splits = placed.map(({ job, space }) => {
    const { nodes, spaces: of } = problem.pending[job]!;
    return [...splitsOf(nodes, of[space]!.partitions)];
  });
  for (const chosen of combinations(splits)) {
    const fits = free.every((room, at) =>
      room.every((nodes, x) => {
        const used = placed.reduce((sum, option, index) => {
          const whole = problem.pending[option.job]!.nodes;
          return sum + (demandOf(problem, option, at) * (chosen[index]!.get(x) ?? 0)) / whole;
        }, 0);
        return used <= nodes + 1e-7;
      }),
    );
    if (fits) return true;
  }
  return false;
}

function* splitsOf(nodes: number, [first, ...rest]: readonly number[]): Generator<Map<number, number>> {
  if (first === undefined) {
    if (nodes === 0) yield new Map();
    return;
  }
  for (let here = 0; here <= nodes; here++) {
    for (const others of splitsOf(nodes - here, rest)) yield others.set(first, here);
  }
}
