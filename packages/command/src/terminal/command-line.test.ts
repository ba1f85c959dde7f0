import { expect, it } from 'vitest';
import type { Resolved } from '../options.js';
import { commandLine } from './command-line.js';

const specs = {
  workers: { type: 'count', setting: true, default: 100, describe: '' },
  for: { type: 'duration', setting: true, describe: '' },
  every: { type: 'duration', setting: true, default: '2s', describe: '' },
  stealing: { type: 'flag', setting: true, default: true, describe: '' },
  all: { type: 'flag', setting: true, describe: '' },
  env: { type: 'texts', setting: true, describe: '' },
  report: { type: 'text', setting: true, describe: '' },
} as const;

const asByDefault: Resolved<typeof specs> = {
  workers: 100,
  for: undefined,
  every: 2_000,
  stealing: true,
  all: false,
  env: [],
  report: undefined,
};

it('omits options at their default', () => {
  expect(commandLine('replay', ['prototype'], specs, asByDefault)).toBe('goshawk replay prototype');
});

it('quotes flags for a shell', () => {
  const values = {
    workers: 20,
    for: 1_500,
    every: 60_000,
    stealing: false,
    all: true,
    env: ['A=1', 'B=x y'],
    report: "it's.html",
  };
  expect(commandLine('replay', ['google-like:jobs=3300,seed=5', 'my trace.tr'], specs, values)).toBe(
    "goshawk replay google-like:jobs=3300,seed=5 'my trace.tr' --workers 20 --for 1500ms --every 1m --no-stealing --all --env A=1 --env 'B=x y' --report 'it'\\''s.html'",
  );
});
