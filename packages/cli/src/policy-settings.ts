import type { Preset } from '@goshawk/core';
import { deciderOf } from '@goshawk/policies';
import type { OptionSpec } from './options.js';
import { POLICY_OPTIONS } from './settings.js';

type Name = keyof typeof POLICY_OPTIONS;

/** Which settings say something to which policies; in the order in which they are shown. */
const USES: readonly [names: readonly Name[], by: (preset: Preset) => boolean][] = [
  [['shortPartition', 'partition'], ({ partition }) => partition],
  [['central'], ({ long }) => long.by === 'central'],
  [['probeRatio', 'probeDraw', 'cancel'], ({ short, byClass }) => byClass && short.by !== 'central'],
  [['stealing', 'stealCap', 'stealLimit', 'stealRetry'], ({ stealing }) => stealing],
  [['reserve', 'matching', 'seek', 'bitmap'], (preset) => preset.byClass && isMatched(preset)],
  [['series'], isMatched],
  [['queues', 'queueBase'], (preset) => 'queues' in deciderOf(preset).module.options],
  [['decisionInterval'], (preset) => 'decisionIntervalMs' in deciderOf(preset).module.options],
  [['shareBy'], (preset) => 'shareBy' in deciderOf(preset).module.options],
  [['pilotRatio', 'pilotsMax', 'thinLimit', 'historyFeatures'], () => true],
];

/** The settings that say something to clusters of such a policy, beside `--estimator`, `--cutoff` and `--set`. */
export function settingsUsedBy(preset: Preset): [name: string, spec: OptionSpec][] {
  return USES.flatMap(([names, by]) => (by(preset) ? names : [])).map((name) => [name, POLICY_OPTIONS[name]]);
}

function isMatched({ short, long }: Preset): boolean {
  return [short, long].some(({ by }) => by === 'matching' || by === 'seeking');
}
