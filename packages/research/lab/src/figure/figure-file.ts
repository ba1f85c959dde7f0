import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, relative, resolve, sep } from 'node:path';
import { kebab, type OptionSpecs, optionsGiven } from '@goshawk/command';
import { loadPolicy } from '@goshawk/command/policy';
import { didYouMean, InputError, nearest, parseExactJson } from '@goshawk/core';
import {
  bars,
  busy,
  type Claim,
  type Figure,
  isMuchBetter,
  isWorse,
  labelledAxis,
  lines,
  missed,
  only,
  type Panel,
  over as quotientOf,
  type RunSettings,
  type Series,
  SINGLE_POINT,
  seconds,
  settingAxis,
  staysWithin,
  table,
} from '@goshawk/papers/figures';
import { findGenerator } from '@goshawk/traces';
import { z } from 'zod';
import { SIMULATE_OPTIONS } from '../simulate/options.js';
import { checkOptions, simulateVariants } from '../simulate/plan.js';

/** Options that are the figure's own, or belong to its command. */
const FIXED = [
  'policy',
  'vary',
  'seed',
  'seeds',
  'parallel',
  'on',
  'report',
  'figure',
  'csv',
  'saveResults',
  'effectsHash',
];
const SETTINGS: OptionSpecs = Object.fromEntries(
  Object.entries(SIMULATE_OPTIONS).filter(([name]) => !FIXED.includes(name)),
);

const statistic = z.enum(['p50', 'p90', 'mean', 'missed', 'busy']);
const value = z.union([z.string(), z.number(), z.boolean()]);

const panel = z.strictObject({
  title: z.string(),
  /** `distribution` draws the run times at the first value of the sweep. */
  draw: z.enum(['lines', 'bars', 'table', 'distribution']).default('lines'),
  jobs: z.enum(['short', 'long']).default('short'),
  statistic: statistic.default('p50'),
  /** Divides by the values of this policy. */
  over: z.string().optional(),
});

const claim = z.strictObject({
  text: z.string(),
  of: z.string(),
  over: z.string(),
  jobs: z.enum(['short', 'long']).default('short'),
  statistic: z.enum(['p50', 'p90', 'mean']).default('p50'),
  /** `lower`, `higher`: by more than `by`; `alike`: within `by` on both sides. */
  is: z.enum(['lower', 'higher', 'alike']),
  by: z.number().positive().max(10).default(0.05),
  /** Numbers of the sweep to which the claim applies; default: all. */
  at: z.array(z.number()).optional(),
});

/** A figure that a user describes: a workload, policies, a sweep, panels and claims. */
const figureFile = z.strictObject({
  title: z.string(),
  about: z.string().default(''),
  /** A generator with its options, or a trace file, relative to this file. */
  workload: z.string(),
  /** Names of lines, and their policies: as in `simulate --policy`, files relative to this one. */
  policies: z.union([z.array(z.string()).min(1), z.record(z.string(), z.string())]),
  /** Options of `simulate` for all runs. */
  options: z.record(z.string(), value).default({}),
  /** Values of one option along the horizontal axis. */
  sweep: z
    .strictObject({
      option: z.string(),
      values: z.array(value).min(1),
      spacing: z.enum(['linear', 'log', 'even']).default('linear'),
    })
    .optional(),
  panels: z.array(panel).min(1),
  claims: z.array(claim).default([]),
});

type FigureFile = z.infer<typeof figureFile>;

/** Whether a word names a file rather than a figure of the list. */
export function isFigureFile(word: string): boolean {
  return extname(word) === '.json' || word.includes('/') || word.includes(sep);
}

/**
 * Reads a figure that a user describes, and loads its policies.
 *
 * @throws InputError if the file is missing, or does not describe a figure
 */
export async function readFigureFile(path: string, cwd: string): Promise<Figure> {
  const file = resolve(cwd, path);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const hint = 'check the path; `goshawk figure --list` lists the figures of the papers';
    throw new InputError('no-such-figure', `cannot read ${path} (${error.code})`, hint, { cause: error });
  });
  const parsed = figureFile.safeParse(parseExactJson(text, { code: 'bad-figure', name: path, hint: '' }));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw wrong(path, `${issue!.path.join('.') || 'figure'}: ${issue!.message}`);
  }
  const inFolder = (entry: string): string => located(entry, dirname(file), cwd);
  const { policies, workload } = parsed.data;
  const named = Array.isArray(policies)
    ? policies.map((entry) => [entry, entry] as const)
    : Object.entries(policies);
  const entries = named.map(([name, entry]) => [name, inFolder(entry)] as const);
  for (const [, entry] of entries) await loadPolicy(entry.split(':')[0]!, cwd);
  const isGenerator = findGenerator(workload) !== undefined;
  return figureOf(path, parsed.data, entries, isGenerator ? workload : resolve(dirname(file), workload));
}

function figureOf(
  path: string,
  { title, about, sweep, options, panels, claims }: FigureFile,
  entries: readonly (readonly [name: string, policy: string])[],
  generator: string,
): Figure {
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw wrong(path, `policies: ${twice} is there twice`);
  const check = (name: string, where: string): void => {
    if (!names.includes(name))
      throw wrong(path, `${where}: no policy "${name}"; there are ${names.join(', ')}`);
  };
  for (const { title: of, over } of panels) if (over !== undefined) check(over, `panel "${of}"`);
  for (const { text, of, over } of claims) for (const name of [of, over]) check(name, `claim "${text}"`);
  return {
    id: basename(path, extname(path)),
    title,
    about,
    paper: { name: basename(path), reference: path },
    section: '',
    mode: 'simulated',
    workload: { generator, jobs: 0, isReplaceable: false, isGiven: true },
    settings: settingsOf(path, options),
    axis: sweep === undefined ? SINGLE_POINT : axisOf(path, sweep),
    variants: entries.map(([name, policy]) => ({ name, settings: changesOf(policy) })),
    panels: panels.map((each) => panelOf(each, names)),
    claims: claims.map(claimOf),
  };
}

/** Takes a path as relative to the folder of the figure. The result is relative to the working directory. */
function located(entry: string, folder: string, cwd: string): string {
  if (!/^\.{1,2}\//.test(entry)) return entry;
  const [path = '', ...settings] = entry.split(':');
  const found = relative(cwd, resolve(folder, path));
  return [found.startsWith('..') ? found : `./${found}`, ...settings].join(':');
}

/** Settings of an entry such as `hawk:steal-cap=1`: those that it changes. */
function changesOf(policy: string): RunSettings {
  const defaults = optionsGiven(SIMULATE_OPTIONS);
  checkOptions({ ...defaults, policy });
  const [variant] = simulateVariants({ ...defaults, policy });
  const before: Readonly<Record<string, unknown>> = { ...defaults, policy: undefined };
  return Object.fromEntries(Object.entries(variant!.options).filter(([name, of]) => of !== before[name]));
}

/** Settings by the names of options, as in a file of settings or on the command line. */
function settingsOf(path: string, given: Readonly<Record<string, string | number | boolean>>): RunSettings {
  const all = Object.entries(given).map(([name, of]) => {
    const option = Object.keys(SETTINGS).find((known) => kebab(known) === name || known === name);
    if (option === undefined) {
      const names = Object.keys(SETTINGS).map(kebab);
      throw wrong(path, `unknown option "${name}"${didYouMean(nearest(name, names))}`);
    }
    return optionsGiven({ [option]: SETTINGS[option]! }, { [option]: String(of) });
  });
  return Object.assign({}, ...all) as RunSettings;
}

function axisOf(path: string, { option, values, spacing }: NonNullable<FigureFile['sweep']>): Figure['axis'] {
  const of = (each: string | number | boolean) => settingsOf(path, { [option]: each });
  const numbers = values.filter((each) => typeof each === 'number');
  return numbers.length === values.length
    ? settingAxis(option, spacing, numbers, of)
    : labelledAxis(option, Object.fromEntries(values.map((each) => [String(each), of(each)])));
}

function panelOf(
  { title, draw, jobs, statistic: what, over }: FigureFile['panels'][number],
  names: string[],
): Panel {
  if (draw === 'distribution') return { kind: 'distribution', title, of: jobs, variants: names };
  const series = names
    .filter((name) => name !== over)
    .map((name) => ({ ...valuesFor(name, jobs, what, over), name }));
  if (draw === 'table') return table(title, series);
  const [{ unit }] = series as [Series, ...Series[]];
  const axisName = over === undefined ? AXIS_NAMES[what] : `÷ ${over}`;
  return (draw === 'bars' ? bars : lines)(title, unit === 'seconds' ? `${axisName}, s` : axisName, series);
}

const AXIS_NAMES = {
  p50: 'median run time',
  p90: '90th percentile of run times',
  mean: 'mean run time',
  missed: 'share of jobs that missed their deadline',
  busy: 'share of CPUs',
} as const;

function valuesFor(
  of: string,
  jobs: 'short' | 'long',
  what: z.infer<typeof statistic>,
  over: string | undefined,
): Series {
  const own = what === 'busy' ? busy(of) : what === 'missed' ? missed(of) : seconds(of, jobs, what);
  return over === undefined ? own : quotientOf(own, valuesFor(over, jobs, what, undefined));
}

function claimOf({ text, of, over, jobs, statistic: what, is, by, at }: FigureFile['claims'][number]): Claim {
  const series = [{ ...valuesFor(of, jobs, what, over), name: `${jobs} ${what}, ${of} ÷ ${over}` }];
  const judge =
    is === 'alike'
      ? staysWithin(series, { least: 1 - by, most: 1 + by })
      : (is === 'lower' ? isMuchBetter : isWorse)(series, by);
  return { section: '', text, judge: at === undefined ? judge : only((x) => at.includes(x), judge) };
}

function wrong(path: string, message: string): InputError {
  return new InputError('bad-figure', `${path}: ${message}`, 'docs/SIMULATE.md describes the file');
}
