import { InputError, LIMITS } from '@goshawk/core';
import { type Axis, type Figure, figuresNamed, timeAxis, workersAxis } from '@goshawk/papers/figures';
import { isFigureFile, readFigureFile } from './figure-file.js';
import type { FigureOptions } from './options.js';

/** A figure that the user requested. */
export interface ChosenFigure {
  readonly figure: Figure;
  readonly axis: Axis;
  /** Size of the cluster, if the axis is something else. */
  readonly workers: number | undefined;
  /** The workload, by path or generator. */
  readonly workload: string;
  /** Live figures: number of jobs drawn from the workload. */
  readonly jobsDrawn: number;
}

/**
 * Resolves words to figures, without duplicates, and applies the options to them.
 *
 * @throws InputError for an unknown id, with a suggestion, and for options that do not apply to the figures
 */
export async function chooseFigures(
  words: readonly string[],
  options: FigureOptions,
  cwd: string,
): Promise<ChosenFigure[]> {
  if (words.length === 0)
    throw new InputError('usage', 'figure needs ID…', '`goshawk figure --list` lists them');
  const found = await Promise.all(
    words.map(async (word) => (isFigureFile(word) ? [await readFigureFile(word, cwd)] : named(word))),
  );
  const figures = [...new Set(found.flat())].map((figure) => reduced(figure, options.without));
  checkTrace(figures, options);
  checkPast(figures, options);
  const sizes = sizesOf(options.workers);
  return figures.map((figure) => ({
    figure,
    ...sized(figure, sizes),
    ...shortened(figure, options.jobs),
    workload: workloadOf(figure, options),
    jobsDrawn: options.jobs ?? figure.workload.jobs,
  }));
}

/** Leaves variants out. Series and claims about them have no values then. */
function reduced(figure: Figure, without: string | undefined): Figure {
  if (without === undefined) return figure;
  const names = without.split(',').map((name) => name.trim());
  const variants = figure.variants.filter(({ name }) => !names.includes(name));
  const unknown = names.find((name) => figure.variants.every((variant) => variant.name !== name));
  if (unknown !== undefined || variants.length === 0) {
    const known = figure.variants.map(({ name }) => name).join(', ');
    const message =
      unknown === undefined
        ? `--without: it leaves no policy of ${figure.id}`
        : `--without: ${figure.id} does not have "${unknown}"`;
    throw new InputError('bad-option', message, `it has ${known}`);
  }
  const kept = (name: string) => !names.includes(name);
  const pairs = figure.pairs?.filter(({ of, over }) => kept(of) && kept(over));
  return { ...figure, variants, ...(pairs === undefined ? {} : { pairs }) };
}

/** Shortens the time axis of a modelled figure in proportion to a smaller number of jobs. */
function shortened({ mode, model, workload }: Figure, jobs: number | undefined): { readonly axis?: Axis } {
  if (mode !== 'modelled' || model?.places !== 'slots' || jobs === undefined) return {};
  return { axis: timeAxis((model.until! * jobs) / workload.jobs) };
}

function named(word: string): readonly Figure[] {
  const found = figuresNamed(word);
  if (!('unknown' in found)) return found;
  const hint =
    found.suggestion === undefined
      ? '`goshawk figure --list` lists them'
      : `did you mean ${found.suggestion}?`;
  throw new InputError('unknown-figure', `unknown figure "${word}"`, hint);
}

function workloadOf(figure: Figure, { trace, jobs }: FigureOptions): string {
  if (trace !== undefined) return trace;
  const { traceNeeded, isGiven, generator } = figure.workload;
  if (isGiven === true) return generator;
  if (traceNeeded === undefined) return generatorOf(figure, jobs);
  throw new InputError('bad-option', `${figure.id} needs ${traceNeeded.what}`, traceNeeded.hint);
}

function generatorOf({ mode, workload }: Figure, jobs: number | undefined): string {
  const { generator, options } = workload;
  // The source of a live figure stays the same, so that fewer jobs are a sample of it.
  const count = mode === 'live' ? workload.jobs : (jobs ?? workload.jobs);
  return `${generator}:jobs=${count}${options === undefined ? '' : `,${options}`}`;
}

function checkTrace(figures: readonly Figure[], { trace, jobs }: FigureOptions): void {
  const own = figures.find(({ workload }) => workload.isGiven === true);
  if (own !== undefined && (trace ?? jobs) !== undefined) {
    const option = trace === undefined ? '--jobs' : '--trace';
    throw new InputError(
      'bad-option',
      `${option}: the file of ${own.id} has its workload`,
      'change it there',
    );
  }
  if (trace === undefined) return;
  const fixed = figures.find(({ workload }) => !workload.isReplaceable);
  if (fixed !== undefined) {
    throw new InputError('bad-option', `--trace: ${fixed.id} uses a fixed synthetic workload`, 'omit it');
  }
  const kinds = new Map(figures.map((figure) => [figure.workload.generator, figure.id]));
  if (kinds.size > 1) {
    const [one, other] = kinds.values();
    throw new InputError(
      'bad-option',
      `--trace: ${one} and ${other} use different workloads`,
      'choose one figure',
    );
  }
  if (jobs !== undefined && figures.some(({ mode }) => mode !== 'live')) {
    throw new InputError(
      'bad-option',
      '--jobs: the number of jobs of a trace is fixed',
      '`goshawk trace sample --jobs N` makes a shorter one',
    );
  }
}

/** Rejects data besides the trace unless the estimators of the figures learn. */
function checkPast(figures: readonly Figure[], { features, history }: FigureOptions): void {
  const name = features !== undefined ? 'features' : history !== undefined ? 'history' : undefined;
  const other = figures.find(({ mode, workload }) => mode !== 'predicted' && workload.draw === undefined);
  if (name === undefined || other === undefined) return;
  throw new InputError('bad-option', `--${name}: ${other.id} makes no predictions`, 'omit it');
}

function sizesOf(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined;
  const sizes = text.split(',').map((each) => {
    const size = each.trim() === '' ? Number.NaN : Number(each);
    if (Number.isSafeInteger(size) && size >= 1 && size <= LIMITS.membersMax) return size;
    throw new InputError(
      'bad-option',
      `--workers: "${each.trim()}" is not a whole number from 1 to ${LIMITS.membersMax}`,
      'for example --workers 10000,15000',
    );
  });
  return [...new Set(sizes)].sort((a, b) => a - b);
}

function sized(figure: Figure, sizes: readonly number[] | undefined): Pick<ChosenFigure, 'axis' | 'workers'> {
  const { axis, id, mode } = figure;
  if (sizes === undefined) return { axis, workers: undefined };
  if (mode === 'predicted' || mode === 'modelled') {
    throw new InputError('bad-option', `--workers: ${id} simulates no cluster`, 'omit it');
  }
  if (axis.isClusterSize) return { axis: workersAxis(sizes), workers: undefined };
  if (axis.ticks.some(({ settings }) => settings.workers !== undefined)) {
    const message = `--workers: in ${id}, the cluster size determines the ${axis.name}`;
    throw new InputError('bad-option', message, 'omit it');
  }
  if (sizes.length === 1) return { axis, workers: sizes[0] };
  const varied = axis.name === '' ? 'has one cluster size' : `varies the ${axis.name}`;
  throw new InputError('bad-option', `--workers: ${id} ${varied}`, 'use one size');
}
