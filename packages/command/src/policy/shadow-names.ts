import { InputError } from '@goshawk/core';
import { estimatorKind } from '@goshawk/predictor';

/**
 * Names of estimators, `pilot,history,hybrid`; none for none.
 *
 * @throws InputError for one that there is not, or is named twice
 */
export function shadowNames(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  const names = text.split(',').map((name) => name.trim());
  for (const [place, name] of names.entries()) {
    estimatorKind(name);
    if (names.indexOf(name) === place) continue;
    throw new InputError('bad-option', `--shadow: ${name} is named twice`, 'name each once');
  }
  return names;
}
