import {
  type Attribute,
  type Attributes,
  attributesByName,
  InputError,
  LIMITS,
  nameProblem,
  quoted,
} from '@goshawk/core';
import type { OptionSpec } from '../options.js';
import { valueListsIn } from '../pairs.js';

export const ATTRIBUTE_OPTION = {
  type: 'texts',
  setting: true,
  value: 'NAME=VALUES',
  describe:
    'worker attribute that jobs can require or prefer: rack=r1; several values (rack=r1,r2) are assigned round-robin; repeatable',
} as const satisfies OptionSpec;

/** Returns the attributes of worker number N. */
type AttributesOf = (worker: number) => readonly Attribute[];

/** @throws InputError if a text is not NAME=VALUE,… */
export function parseAttributes(texts: readonly string[]): AttributesOf {
  const option = { option: '--attribute', hint: 'for example rack=r1' } as const;
  const dealt = [...valueListsIn(texts, option)];
  for (const each of dealt.flat(2)) {
    const problem = nameProblem(each, 'it');
    if (problem !== undefined)
      throw new InputError('bad-option', `--attribute: ${quoted(each)} is not valid: ${problem}`);
  }
  if (dealt.length > LIMITS.attributesMax)
    throw new InputError(
      'bad-option',
      `--attribute: at most ${LIMITS.attributesMax} attributes are allowed, not ${dealt.length}`,
    );
  return (worker) => dealt.map(([name, values]) => ({ name, value: values[worker % values.length]! }));
}

/**
 * Returns the attributes of all workers.
 * @throws InputError as `parseAttributes`
 */
export function attributesOfAll(texts: readonly string[], workers: number): Attributes[] {
  const attributesOf = parseAttributes(texts);
  return Array.from({ length: workers }, (_, worker) => attributesByName(attributesOf(worker)));
}
