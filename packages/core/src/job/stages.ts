import { InputError } from '../errors.js';
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
  const ordered = inOrder(written, source);
  const placeOf = new Map(ordered.map(({ name }, place) => [name, place]));
  const defaultDemand = demandOf(job.demand);
  /** The stages on which each stage depends, directly or not. */
  const earlier: Set<number>[] = [];
  return ordered.map((stage) => {
    const after = [...new Set(stage.after)].map((name) => placeOf.get(name)!);
    const all = new Set(after.flatMap((place) => [place, ...earlier[place]!]));
    earlier.push(all);
    return {
      name: stage.name,
      ...present({ inputs: inputsOf(stage, placeOf, all, source) }),
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
  /** @param trail names of the stages that led here, each of which depends on the next one */
  const visit = (stage: ParsedStage, trail: readonly string[]): void => {
    if (ordered.has(stage)) return;
    const { name, after } = stage;
    if (trail.includes(name)) {
      const cycle = [...trail, name].join(' → ');
      throw new InputError('bad-job', `${source}: stages depend on each other in a cycle: ${cycle}`);
    }
    for (const before of after) {
      const earlier = byName.get(before);
      if (earlier === undefined) {
        throw new InputError(
          'bad-job',
          `${source}: stage "${name}" depends on "${before}", which is not a stage of the job`,
        );
      }
      visit(earlier, [...trail, name]);
    }
    ordered.add(stage);
  };
  for (const stage of stages) visit(stage, []);
  return [...ordered];
}

/** @param earlier the stages on which this stage depends, directly or not */
function inputsOf(
  { name, inputs }: ParsedStage,
  placeOf: ReadonlyMap<string, number>,
  earlier: ReadonlySet<number>,
  source: string,
): number[] | undefined {
  const places = inputs?.map((of) => {
    const place = placeOf.get(of);
    if (place !== undefined && earlier.has(place)) return place;
    throw new InputError(
      'bad-job',
      `${source}: stage "${name}" has inputs of "${of}", a stage that it does not depend on`,
      'name it in "after"',
    );
  });
  return places && [...new Set(places)];
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
