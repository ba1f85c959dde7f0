import { counted, formatCount } from '@goshawk/core';
import type { Job } from './shapes.js';
import { duration } from './words.js';

type Stage = Job['stages'][number];

const WIDTH = 168;
const HEIGHT = 54;
const GAP_X = 44;
const GAP_Y = 16;
/** Maximum number of stages in the graph. */
export const DRAWN_MAX = 200;

/**
 * Draws stages as boxes from left to right in order of dependency, with their progress. Failed stages are
 * red, as are stages that could not run because of them.
 */
export function StageGraph({ stages }: Pick<Job, 'stages'>) {
  const shown = stages.slice(0, DRAWN_MAX);
  const levels = levelsOf(shown);
  const rows: number[] = [];
  const placed = new Map(
    shown.map((stage) => {
      const level = levels.get(stage.name)!;
      const row = rows[level] ?? 0;
      rows[level] = row + 1;
      return [stage.name, { stage, x: level * (WIDTH + GAP_X) + 2, y: row * (HEIGHT + GAP_Y) + 2 }];
    }),
  );
  const broken = failedStages(shown);
  const width = rows.length * (WIDTH + GAP_X) - GAP_X + 4;
  const height = Math.max(...rows) * (HEIGHT + GAP_Y) - GAP_Y + 4;
  const edges = [...placed.values()].flatMap(({ stage, x, y }) =>
    stage.after.flatMap((before) => {
      const from = placed.get(before);
      if (from === undefined) return [];
      const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, x, y + HEIGHT / 2];
      const isBroken = broken.has(before) && broken.has(stage.name);
      return [
        <path
          key={`${before} ${stage.name}`}
          d={`M${x1} ${y1}C${x1 + GAP_X / 2} ${y1} ${x2 - GAP_X / 2} ${y2} ${x2} ${y2}`}
          class={isBroken ? 'edge broken' : 'edge'}
        />,
      ];
    }),
  );
  const words = `${counted(stages.length, 'stage')}: ${shown.map(({ name, state }) => `${name} ${state}`).join(', ')}`;
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      class="graph"
      role="img"
      aria-label={words}
    >
      {edges}
      {[...placed.values()].map(({ stage, x, y }) => (
        <Box key={stage.name} stage={stage} x={x} y={y} isBroken={broken.has(stage.name)} />
      ))}
    </svg>
  );
}

function Box({
  stage: { name, state, tasks, counts, meanRunSeconds, command },
  x,
  y,
  isBroken,
}: {
  readonly stage: Stage;
  readonly x: number;
  readonly y: number;
  readonly isBroken: boolean;
}) {
  const done = counts.completed;
  const failed = counts.failed;
  const running = counts.running;
  const inner = WIDTH - 16;
  const part = (from: number, many: number, kind: string) => (
    <rect
      x={x + 8 + (inner * from) / Math.max(1, tasks)}
      y={y + HEIGHT - 12}
      width={(inner * many) / Math.max(1, tasks)}
      height={6}
      class={`part ${kind}`}
    />
  );
  const mean = meanRunSeconds === null ? '' : `, ${duration(meanRunSeconds)} on average`;
  const now =
    failed > 0 ? `${formatCount(failed)} failed` : running > 0 ? `${formatCount(running)} running` : state;
  return (
    <g class={`stage ${state}${isBroken ? ' broken' : ''}`}>
      <title>
        {`${name}: ${state}, ${formatCount(done)} of ${counted(tasks, 'task')} completed${failed > 0 ? `, ${formatCount(failed)} failed` : ''}${mean}${command === null ? '' : `; ${command}`}`}
      </title>
      <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx={8} class="box" />
      <text x={x + 8} y={y + 18} class="stage-name">
        {name.length > 20 ? `${name.slice(0, 19)}…` : name}
      </text>
      <text x={x + 8} y={y + 34} class="stage-count">
        {`${formatCount(done)} / ${formatCount(tasks)}, ${now}`}
      </text>
      <rect x={x + 8} y={y + HEIGHT - 12} width={inner} height={6} class="rail" />
      {part(0, done, 'completed')}
      {part(done, running, 'running')}
      {part(done + running, failed, 'failed')}
    </g>
  );
}

/** Returns the level of each stage: the length of the longest path from a stage without predecessors. */
function levelsOf(stages: readonly Pick<Stage, 'name' | 'after'>[]): Map<string, number> {
  const byName = new Map(stages.map((stage) => [stage.name, stage]));
  const levels = new Map<string, number>();
  // Stages are usually listed in order of dependency. Otherwise at most as many rounds as stages are needed.
  for (let round = 0, changed = true; changed && round <= stages.length; round++) {
    changed = false;
    for (const { name, after } of stages) {
      const level = Math.max(
        0,
        ...after.filter((before) => byName.has(before)).map((before) => (levels.get(before) ?? 0) + 1),
      );
      if (levels.get(name) === level) continue;
      levels.set(name, level);
      changed = true;
    }
  }
  return levels;
}

/** Returns stages with failures, and those that did not run because of them. */
function failedStages(
  stages: readonly (Pick<Stage, 'name' | 'after' | 'state'> & { readonly counts: Stage['counts'] })[],
): Set<string> {
  const broken = new Set(
    stages.filter(({ state, counts }) => state === 'failed' || counts.failed > 0).map(({ name }) => name),
  );
  for (let before = -1; before !== broken.size; ) {
    before = broken.size;
    for (const { name, after, state } of stages)
      if (state === 'cancelled' && after.some((one) => broken.has(one))) broken.add(name);
  }
  return broken;
}
