import type { Worker } from './shapes.js';
import { type Colour, colour } from './ui.js';

/** Smallest and largest side of a cell in px, including the gap. */
const CELL_MIN = 9;
const CELL_MAX = 34;
const GAP = 2;

export function kindOf({ state, busy, long, isShort }: Worker): Kind {
  if (state !== 'active') return state;
  if (busy === 0) return 'idle';
  if (long === busy) return 'long';
  if (long > 0) return 'mixed';
  return long === 0 || isShort ? 'short' : 'busy';
}

/** Kinds of cells: a state other than active, or the work of an active worker. Each kind has a color. */
type Kind = Exclude<Worker['state'], 'active'> | 'idle' | 'short' | 'long' | 'mixed' | 'busy';

const KIND_WORDS: Readonly<Record<Kind, string>> = {
  idle: 'idle',
  short: 'short tasks',
  long: 'long tasks',
  mixed: 'both',
  busy: 'busy',
  draining: 'draining',
  drained: 'drained',
  quarantined: 'quarantined',
  lost: 'lost',
};

export const KINDS = Object.entries(KIND_WORDS) as readonly (readonly [kind: Kind, words: string])[];

/** Returns the filled part of a cell: the requested share of the CPUs; 1 for a state without tasks. */
export function fillOf(worker: Worker): number {
  const { state, busy, cpus, slots } = worker;
  if (state !== 'active' && state !== 'draining') return 1;
  if (busy === 0) return 0;
  return cpus < 0 || slots === 0 ? 1 : Math.min(1, Math.max(0.1, cpus / slots));
}

/**
 * Shows workers as cells. The color is the state, the filled part is the requested share of the CPUs, and the line at the
 * bottom is the queue length. Only changed cells are redrawn.
 */
export class Grid {
  readonly canvas = document.createElement('canvas');
  #cells: readonly Worker[] = [];
  #drawn: string[] = [];
  #columns = 1;
  #cell = CELL_MAX;
  #selected = -1;
  #colours = new Map<string, string>();

  get selected(): Worker | undefined {
    return this.#cells[this.#selected];
  }

  /** @param width available width in px */
  show(workers: readonly Worker[], width: number, selected: string | undefined): void {
    this.#cells = workers;
    this.#selected = selected === undefined ? -1 : workers.findIndex(({ name }) => name === selected);
    const room = Math.max(100, width);
    const cell = Math.floor(Math.sqrt((room * 360) / Math.max(1, workers.length)));
    this.#cell = Math.max(CELL_MIN, Math.min(CELL_MAX, cell));
    this.#columns = Math.max(1, Math.floor(room / this.#cell));
    const height = Math.max(1, Math.ceil(workers.length / this.#columns)) * this.#cell;
    const scale = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(room * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(room * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = `${room}px`;
      this.canvas.style.height = `${height}px`;
      this.#drawn = [];
    }
    this.#draw();
  }

  /** Redraws after a change of colors. */
  repaint(): void {
    this.#drawn = [];
    this.#colours.clear();
    this.#draw();
  }

  at(x: number, y: number): Worker | undefined {
    const column = Math.floor(x / this.#cell);
    return column < this.#columns
      ? this.#cells[Math.floor(y / this.#cell) * this.#columns + column]
      : undefined;
  }

  /** Returns the worker next to the selected one in the direction of an arrow key. */
  towards(key: string): Worker | undefined {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -this.#columns,
      ArrowDown: this.#columns,
    };
    const step = steps[key];
    if (step === undefined) return undefined;
    if (this.#selected < 0) return this.#cells[0];
    return this.#cells[this.#selected + step];
  }

  #draw(): void {
    const context = this.canvas.getContext('2d')!;
    const scale = devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const side = this.#cell - GAP;
    this.#cells.forEach((worker, index) => {
      const kind = kindOf(worker);
      const depth = Math.min(4, worker.queued);
      const fill = Math.round(side * fillOf(worker));
      const shown = `${kind} ${depth} ${fill} ${index === this.#selected}`;
      if (this.#drawn[index] === shown) return;
      this.#drawn[index] = shown;
      const x = (index % this.#columns) * this.#cell;
      const y = Math.floor(index / this.#columns) * this.#cell;
      context.clearRect(x, y, this.#cell, this.#cell);
      context.fillStyle = this.#colour('cell-idle');
      context.fillRect(x + 1, y + 1, side, side);
      context.fillStyle = this.#colour(`cell-${kind}`);
      context.fillRect(x + 1, y + 1 + side - fill, side, fill);
      if (kind === 'lost') this.#cross(context, x + 1, y + 1, side);
      if (depth > 0) {
        context.fillStyle = this.#colour('cell-queue');
        context.fillRect(x + 1, y + side - 1, (side * depth) / 4, 2);
      }
      if (index !== this.#selected) return;
      context.strokeStyle = this.#colour('text');
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, side, side);
    });
  }

  /** Marks the cell with a cross, because color alone is not accessible. */
  #cross(context: CanvasRenderingContext2D, x: number, y: number, side: number): void {
    context.strokeStyle = this.#colour('card');
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x + 2, y + 2);
    context.lineTo(x + side - 2, y + side - 2);
    context.moveTo(x + side - 2, y + 2);
    context.lineTo(x + 2, y + side - 2);
    context.stroke();
  }

  #colour(name: Colour): string {
    let known = this.#colours.get(name);
    if (known === undefined) {
      known = colour(name);
      this.#colours.set(name, known);
    }
    return known;
  }
}
