import { basename, extname } from 'node:path';
import { asName, formatDuration } from '@goshawk/core';
import type { Work } from './work.js';

/** Maximum length of a default name, which fits lists of jobs. */
const LENGTH_MAX = 40;

/**
 * Returns the default name of a job: the command's first words, the function, or the file. The same
 * submission always gets the same name, so that estimators can learn from it.
 */
export function nameOf(work: Work): string {
  return shortened(wordsOf(work));
}

function wordsOf(work: Work): string {
  switch (work.kind) {
    case 'command': {
      const [command = '', ...rest] = work.argv;
      return [basename(command), ...rest].join(' ');
    }
    case 'module':
      return basename(work.text);
    case 'sleep':
      return `sleep ${formatDuration(work.ms)}`;
    case 'file':
      return work.path === '-' ? '' : basename(work.path, extname(work.path));
  }
}

function shortened(words: string): string {
  const line = asName(words) ?? 'job';
  return line.length <= LENGTH_MAX ? line : `${asName(line.slice(0, LENGTH_MAX - 1)) ?? 'job'}…`;
}
