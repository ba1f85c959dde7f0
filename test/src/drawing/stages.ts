import type { Draw } from './draw.js';

/** The tasks of a job: without stages, or in stages, each of which waits for some of the preceding ones. */
export function inStages<Task>(draw: Draw, stages: number, tasks: () => Task[]) {
  if (stages === 1 || draw.chance(0.6)) return { tasks: tasks() };
  return {
    stages: Array.from({ length: stages }, (_, i) => ({
      name: `stage ${i}`,
      after: Array.from({ length: i }, (_, before) => `stage ${before}`).filter(() => draw.chance(0.5)),
      tasks: tasks(),
    })),
  };
}
