import { WorkloadError } from '../errors.js';
import { dagLike, facebookLike } from './dag-like.js';
import { e2e } from './e2e.js';
import type { ConfiguredGenerator, WorkloadGenerator } from './generator.js';
import { googleLike } from './google-like.js';
import { cloudera, facebook, yahoo } from './mapreduce.js';
import { mixed } from './mixed.js';
import { motivation } from './motivation.js';
import { packing } from './packing.js';
import { poisson } from './poisson.js';
import { prototype } from './prototype.js';
import { hedgeFundLike, mustangLike } from './unlike-google.js';

/** All generators by name, for help texts, errors and `trace generate`. */
export const GENERATORS: Readonly<Record<string, WorkloadGenerator>> = Object.fromEntries(
  [
    googleLike,
    prototype,
    motivation,
    cloudera,
    facebook,
    yahoo,
    poisson,
    packing,
    e2e,
    hedgeFundLike,
    mustangLike,
    dagLike,
    facebookLike,
    mixed,
  ].map((each) => [each.name, each]),
);

/** Finds the generator in a specification `name` or `name:key=value,…`; undefined if it names none. */
export function findGenerator(spec: string): { generator: WorkloadGenerator; options: string } | undefined {
  const [, name = '', options = ''] = /^([^:]*)(?::(.*))?$/s.exec(spec) ?? [];
  const generator = Object.hasOwn(GENERATORS, name) ? GENERATORS[name] : undefined;
  return generator && { generator, options };
}

/**
 * Configures a generator by its specification.
 *
 * @throws WorkloadError for an unknown generator or option, listing the known ones
 */
export function configureGenerator(spec: string): ConfiguredGenerator {
  const found = findGenerator(spec);
  if (found === undefined) {
    throw new WorkloadError(
      `unknown generator '${spec.split(':', 1)[0]}'`,
      `known generators are ${Object.keys(GENERATORS).join(', ')}`,
    );
  }
  return found.generator.configure(found.options);
}
