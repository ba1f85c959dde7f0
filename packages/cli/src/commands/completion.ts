import { basename } from 'node:path';
import { COMPLETED, type Completed, type Context, defineCommand } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { completionScript, SHELLS, type Shell } from '@goshawk/command/program';
import { InputError, PLAIN_CHARACTER } from '@goshawk/core';
import { laboratoryFor } from '../laboratory.js';

/** Prints a script, and lists words for it that only a cluster or the laboratory knows. */
export const completionCommand = defineCommand({
  name: 'completion',
  words: '[bash|zsh|fish]',
  describe: 'print a completion script for a shell (default: $SHELL)',
  examples: [
    ['source <(goshawk completion bash)', 'add this to ~/.bashrc, or with zsh to ~/.zshrc'],
    ['goshawk completion fish | source', 'add this to ~/.config/fish/config.fish'],
  ],
  options: {},
  async run(context, _options, { words }) {
    const kind = COMPLETED.find((each) => each === words[0]);
    if (kind !== undefined) {
      for (const name of (await completed(context, kind)).filter(isPlainWord)) context.out(name);
      return;
    }
    const shell = words[0] ?? basename(context.environment.SHELL ?? '');
    if (!SHELLS.includes(shell as Shell)) {
      throw new InputError(
        'usage',
        `completion: no script for "${shell}"`,
        `name one of ${SHELLS.join(', ')}`,
      );
    }
    context.out(completionScript(shell as Shell));
  },
});

const PLAIN_WORD = new RegExp(`^(?!-)${PLAIN_CHARACTER}+$`, 'u');

/** Whether a shell takes the word as it is. Shells put completions on the command line unquoted, and workers choose their names. */
export function isPlainWord(word: string): boolean {
  return PLAIN_WORD.test(word);
}

/** Returns completions that only the cluster knows; the scripts request them when the user presses Tab. */
async function completed(context: Context, kind: Completed): Promise<readonly string[]> {
  switch (kind) {
    case 'workloads':
    case 'figures':
      return (await laboratoryFor(`completion ${kind}`)).completions[kind]();
    default: {
      await using cluster = await openCluster(context);
      const signal = context.interrupted;
      if (kind === 'workers') return (await cluster.describe({ signal })).workers.map(({ name }) => name);
      const { jobs } = await cluster.jobs({ all: true, limit: IDS_SHOWN, signal });
      return ['last', ...jobs.map(({ id }) => id)];
    }
  }
}

/** Maximum number of ids; a longer list does not help to choose. */
const IDS_SHOWN = 200;
