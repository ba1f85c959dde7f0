import { type Attribute, type Attributes, attributesByName, InputError, LIMITS } from '@goshawk/core';
import type { OptionSpec } from './options.js';

export const ATTRIBUTE_OPTION = {
  type: 'texts',
  value: 'NAME=VALUES',
  describe:
    'attribute of the workers that jobs may require or prefer: rack=r1; with several values, rack=r1,r2, workers take turns; repeatable',
} as const satisfies OptionSpec;

/** Of the worker of this number. */
type AttributesOf = (worker: number) => readonly Attribute[];

/** @throws InputError when one is not NAME=VALUE,… */
export function parseAttributes(texts: readonly string[]): AttributesOf {
  const dealt = texts.map((text) => {
    const equals = text.indexOf('=');
    const name = text.slice(0, equals);
    const values = text.slice(equals + 1).split(',');
    const isGood = (part: string) => part !== '' && part.length <= LIMITS.nameLengthMax;
    if (equals < 1 || ![name, ...values].every(isGood))
      throw new InputError('bad-option', `--attribute: "${text}" is not NAME=VALUE`, 'such as rack=r1');
    return { name, values };
  });
  const twice = dealt.find(({ name }, index) => dealt.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw new InputError('bad-option', `--attribute names ${twice.name} twice`);
  if (dealt.length > LIMITS.attributesMax)
    throw new InputError('bad-option', `--attribute: ${dealt.length} are more than ${LIMITS.attributesMax}`);
  return (worker) => dealt.map(({ name, values }) => ({ name, value: values[worker % values.length]! }));
}

/** Of so many workers. @throws InputError as above */
export function attributesOfAll(texts: readonly string[], workers: number): Attributes[] {
  const attributesOf = parseAttributes(texts);
  return Array.from({ length: workers }, (_, worker) => attributesByName(attributesOf(worker)));
}
