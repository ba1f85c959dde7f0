import { InputError } from '@goshawk/core';
import { estimatorKind } from '@goshawk/predictor';

/**
 * Parses names of estimators, such as `pilot,history,hybrid`; none if undefined.
 *
 * @throws InputError for an unknown or repeated name
 */
export function shadowNames(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  const names = text.split(',').map((name) => name.trim());
  for (const [place, name] of names.entries()) {
    estimatorKind(name, '--shadow');
    if (names.indexOf(name) === place) continue;
    throw new InputError('bad-option', `--shadow: ${name} appears twice`, 'list it once');
  }
  return names;
}
