import type { TraceJob } from '../job.js';
import { type OptionSpecs, type OptionValues, parseOptions } from './options.js';

/** A generator of synthetic jobs: a file in this folder and a line in `GENERATORS`. */
export interface WorkloadGenerator {
  readonly name: string;
  readonly description: string;
  readonly options: OptionSpecs;
  /**
   * Parses the options of a specification (after `name:`).
   *
   * @throws WorkloadError for an unknown or invalid option
   */
  readonly configure: (optionsText: string) => ConfiguredGenerator;
}

/** A cluster of equal workers. */
export interface GeneratedCluster {
  readonly workers: number;
  readonly cpus: number;
  /** A value of `--resources`. */
  readonly resources: string;
}

export interface ConfiguredGenerator {
  /** The specification with every option in a fixed order: equal text means equal jobs. */
  readonly canonical: string;
  readonly jobCount: number;
  /** The cluster for which the jobs are made, if their tasks need more than a slot. */
  readonly cluster?: GeneratedCluster;
  /** Generates the jobs lazily, in order of submission. Each call gives the same ones. */
  readonly generate: () => Iterable<TraceJob>;
}

export function defineGenerator<O extends OptionSpecs & { readonly jobs: unknown }>(definition: {
  readonly name: string;
  readonly description: string;
  readonly options: O;
  readonly cluster?: (values: OptionValues<O>) => GeneratedCluster;
  readonly generate: (values: OptionValues<O>) => Iterable<TraceJob>;
}): WorkloadGenerator {
  const { name, description, options, cluster, generate } = definition;
  return {
    name,
    description,
    options,
    configure: (optionsText) => {
      const values = parseOptions(name, optionsText, options);
      const spelled = Object.keys(options).map((option) => `${option}=${values[option]}`);
      return {
        canonical: `${name}:${spelled.join(',')}`,
        jobCount: values.jobs as number,
        ...(cluster === undefined ? {} : { cluster: cluster(values) }),
        generate: () => generate(values),
      };
    },
  };
}
