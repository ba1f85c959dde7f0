import type { TraceJob } from '../job.js';
import { type OptionSpecs, type OptionValues, parseOptions } from './options.js';

/** A source of synthetic jobs: a file of its own in this folder and a line in `GENERATORS`. */
export interface WorkloadGenerator {
  readonly name: string;
  readonly description: string;
  readonly options: OptionSpecs;
  /**
   * Reads the options of a specification (what follows `name:`).
   * @throws WorkloadError for an option that the generator does not know or cannot take
   */
  readonly configure: (optionsText: string) => ConfiguredGenerator;
}

/** Workers that are alike. */
export interface GeneratedCluster {
  readonly workers: number;
  readonly slots: number;
  /** A value of `--resources`. */
  readonly resources: string;
}

export interface ConfiguredGenerator {
  /** The specification with every option spelled out in a fixed order: equal jobs, equal text. */
  readonly canonical: string;
  readonly jobCount: number;
  /** The cluster that the jobs are made for, where their tasks need more than a slot. */
  readonly cluster?: GeneratedCluster;
  /** The jobs in order of submission, drawn as they are asked for. Each call gives the same ones. */
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
