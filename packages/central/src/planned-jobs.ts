import {
  type Address,
  FORECAST_TASKS_MAX,
  type JobOutline,
  noPlannedEnd,
  type PlannedEnd,
  type StageIndex,
  sumOf,
} from '@goshawk/core';

/** Planned jobs that wait for a forecast, of one client and of all. */
const EACH_MAX = 8;
const ALL_MAX = 64;
/** Planned jobs of one forecast, each of which costs about as much as a forecast of all active jobs. */
const TAKEN_MAX = 2;

interface Planned {
  readonly from: Address;
  readonly request: number;
  readonly outline: JobOutline;
}

/** Jobs whose end a client asked for before it submits them. Clients take turns. */
export class PlannedJobs {
  /** Sends an answer to a client. */
  readonly answer: (to: Address, request: number, end: PlannedEnd) => void;
  /** By client, the one whose turn is next first. */
  readonly #waiting = new Map<string, Planned[]>();
  /** Being computed. */
  #taken: readonly Planned[] = [];

  constructor(answer: (to: Address, request: number, end: PlannedEnd) => void) {
    this.answer = answer;
  }

  /** Whether none waits for a forecast. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** @returns whether it waits for a forecast now; a repeated request has no effect */
  add(from: Address, by: string, request: number, outline: JobOutline): boolean {
    const all = [...this.#waiting.values()].flat();
    const isKnown = (each: Planned) => each.from === from && each.request === request;
    if (all.some(isKnown) || this.#taken.some(isKnown)) return false;
    const tasks = sumOf(outline.stages, ({ waiting }) => waiting);
    const own = this.#waiting.get(by) ?? [];
    if (own.length >= EACH_MAX || all.length >= ALL_MAX) this.answer(from, request, noPlannedEnd('busy'));
    else if (tasks > FORECAST_TASKS_MAX) this.answer(from, request, noPlannedEnd('too-large'));
    else if (!isOrdered(outline)) this.answer(from, request, noPlannedEnd('no-end'));
    else {
      const stages = outline.stages.map((stage) => ({ ...stage, running: [] }));
      this.#waiting.set(by, [...own, { from, request, outline: { ...outline, stages } }]);
      return true;
    }
    return false;
  }

  /** Takes the next few for a forecast, which `serve` answers. */
  take(): readonly JobOutline[] {
    const taken: Planned[] = [];
    while (taken.length < TAKEN_MAX && this.#waiting.size > 0) {
      const [by, [first, ...others]] = this.#waiting.entries().next().value!;
      this.#waiting.delete(by);
      if (others.length > 0) this.#waiting.set(by, others);
      taken.push(first!);
    }
    this.#taken = taken;
    return taken.map(({ outline }) => outline);
  }

  /** @param ends of those taken; fewer: the forecast failed */
  serve(ends: readonly PlannedEnd[]): void {
    for (const [index, { from, request }] of this.#taken.entries())
      this.answer(from, request, ends[index] ?? noPlannedEnd('no-end'));
    this.#taken = [];
  }

  /** Answers all that wait. */
  answerAll(end: PlannedEnd): void {
    for (const { from, request } of [...this.#waiting.values()].flat()) this.answer(from, request, end);
    this.#waiting.clear();
  }
}

/** Whether stages depend only on earlier ones, as in all jobs that schedulers accept. */
function isOrdered({ stages }: JobOutline): boolean {
  return stages.length > 0 && stages.every(({ after }, index) => after.every((at: StageIndex) => at < index));
}
