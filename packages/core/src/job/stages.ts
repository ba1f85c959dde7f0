import { InputError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { sumOf } from '../numbers/sums.js';
import { present } from '../present.js';
import { demandOf } from '../resources/vector.js';
import { CONTAINER, DOCKER } from './payload.js';
import type { ParsedJob, StageSpec } from './spec.js';

type ParsedStage = NonNullable<ParsedJob['stages']>[number];
type ParsedTasks = ParsedStage['tasks'];

/** A job without stages has one of this name. */
const ONLY_STAGE = 'tasks';

/**
 * Sorts the stages of a job topologically, so that each depends only on earlier ones.
 *
 * @throws InputError for a name that is used twice or unknown, or if the stages form a cycle
 */
export function orderStages(job: ParsedJob, source: string): StageSpec[] {
  const written: readonly ParsedStage[] = job.stages ?? [
    { name: ONLY_STAGE, after: [], tasks: job.tasks ?? [] },
  ];
  const count = sumOf(written, ({ after }) => after.length);
  if (count > LIMITS.dependenciesPerJobMax)
    throw new InputError(
      'bad-job',
      `${source}: its stages name ${count} dependencies; at most ${LIMITS.dependenciesPerJobMax} are allowed`,
      'name only the stages that a stage needs directly; it waits for those before them, too',
    );
  const ordered = inOrder(written, source);
  const indexOf = new Map(ordered.map(({ name }, index) => [name, index]));
  const defaultDemand = demandOf(job.demand);
  const hasInputs = ordered.some(({ inputs }) => inputs !== undefined);
  /** For each stage, a bit for each stage on which it depends, directly or not. */
  const earlier: Uint32Array[] = [];
  return ordered.map((stage) => {
    const after = [...new Set(stage.after)].map((name) => indexOf.get(name)!);
    if (hasInputs) earlier.push(unionOf(after, earlier, ordered.length));
    return {
      name: stage.name,
      ...present({ inputs: inputsOf(stage, indexOf, earlier.at(-1), source) }),
      after,
      tasks: Array.isArray(stage.tasks) ? { each: stage.tasks } : stage.tasks,
      demand: stage.demand === undefined ? defaultDemand : demandOf(stage.demand),
      ...requirements(stage.require ?? job.require, stage.tasks),
      ...present({ estimateMs: stage.estimate }),
      ...((stage.gang ?? job.gang) ? { gang: true as const } : {}),
      ...((stage.lend ?? job.lend) === false ? { lend: false as const } : {}),
    };
  });
}

/** Returns the stages so that each comes after those that it depends on. */
function inOrder(stages: readonly ParsedStage[], source: string): ParsedStage[] {
  const byName = new Map<string, ParsedStage>();
  for (const stage of stages) {
    if (byName.has(stage.name))
      throw new InputError('bad-job', `${source}: two stages are called "${stage.name}"`);
    byName.set(stage.name, stage);
  }
  const ordered = new Set<ParsedStage>();
  /** Names of the stages that led here, each of which depends on the next one. */
  const trail = new Set<string>();
  const visit = (stage: ParsedStage): void => {
    if (ordered.has(stage)) return;
    const { name, after } = stage;
    if (trail.has(name)) {
      const cycle = [...trail, name].join(' → ');
      throw new InputError('bad-job', `${source}: stages depend on each other in a cycle: ${cycle}`);
    }
    trail.add(name);
    for (const before of after) {
      const earlier = byName.get(before);
      if (earlier === undefined) {
        throw new InputError(
          'bad-job',
          `${source}: stage "${name}" depends on "${before}", which is not a stage of the job`,
        );
      }
      visit(earlier);
    }
    trail.delete(name);
    ordered.add(stage);
  };
  for (const stage of stages) visit(stage);
  return [...ordered];
}

/** These stages and those on which they depend. */
function unionOf(indices: readonly number[], earlier: readonly Uint32Array[], count: number): Uint32Array {
  const all = new Uint32Array(Math.ceil(count / 32));
  for (const index of indices) {
    all[index >>> 5]! |= 1 << (index & 31);
    const others = earlier[index]!;
    for (let word = 0; word < all.length; word++) all[word]! |= others[word]!;
  }
  return all;
}

/** @param earlier the stages on which this stage depends, directly or not; undefined: no stage has inputs */
function inputsOf(
  { name, inputs }: ParsedStage,
  indexOf: ReadonlyMap<string, number>,
  earlier: Uint32Array | undefined,
  source: string,
): number[] | undefined {
  const indices = inputs?.map((of) => {
    const index = indexOf.get(of);
    if (index !== undefined && isIn(earlier!, index)) return index;
    throw new InputError(
      'bad-job',
      `${source}: stage "${name}" has inputs of "${of}", a stage that it does not depend on`,
      'name it in "after"',
    );
  });
  return indices && [...new Set(indices)];
}

function isIn(set: Uint32Array, index: number): boolean {
  return ((set[index >>> 5]! >>> (index & 31)) & 1) === 1;
}

/** Tasks in images require a container engine, unless the job says which. */
function requirements(require: ParsedJob['require'], tasks: ParsedTasks): Pick<StageSpec, 'requires'> {
  const each = Array.isArray(tasks) ? tasks : [tasks.run];
  const hasImage = each.some((task) => 'exec' in task && task.image !== undefined);
  const requires = { ...(hasImage && { [CONTAINER]: DOCKER }), ...require };
  return Object.keys(requires).length === 0 ? {} : { requires: joinedValues(requires) };
}

/** Joins the values of each attribute with commas. */
export function joinedValues(named: Readonly<Record<string, string | string[]>>): Record<string, string> {
  return Object.fromEntries(Object.entries(named).map(([attribute, of]) => [attribute, String(of)]));
}
