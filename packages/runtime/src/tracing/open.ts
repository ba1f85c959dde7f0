import { InputError, isAbsent } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import type { Tracing } from './spans.js';

type Variables = Readonly<Record<string, string | undefined>>;

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;

/** The exports of `@goshawk/tracing`. */
interface Exporter {
  readonly OtlpTracing: new (role: string, instance: string, logger: Logger) => Tracing;
}

/**
 * Name of the exporter's package, typed as `string` because it is built after this package and may be absent.
 */
const PACKAGE: string = '@goshawk/tracing';

/**
 * Opens tracing if OpenTelemetry's variables configure it; otherwise nothing is loaded. If the package is not
 * installed, the process runs without tracing, because the variables may be meant for other programs.
 *
 * @throws InputError if the endpoint is invalid
 */
export async function openTracing(
  role: string,
  instance: string,
  logger: Logger,
  environment: Variables = process.env,
  load = (): Promise<Exporter> => import(PACKAGE) as Promise<Exporter>,
): Promise<Tracing | undefined> {
  const variable = ENDPOINTS.find((name) => environment[name]);
  if (variable === undefined || environment.OTEL_SDK_DISABLED === 'true') return undefined;
  if (environment.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const { host } = collectorAt(environment[variable]!, variable);
  try {
    const { OtlpTracing } = await load();
    logger.info({ collector: host }, 'jobs are traced');
    return new OtlpTracing(role, instance, logger);
  } catch (error) {
    if (!isAbsent(error, PACKAGE)) throw error;
    logger.warn({ collector: host }, `jobs are not traced: ${PACKAGE} is not installed`);
    return undefined;
  }
}

function collectorAt(endpoint: string, variable: string): URL {
  if (URL.canParse(endpoint)) {
    const url = new URL(endpoint);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  }
  throw new InputError(
    'bad-endpoint',
    `${variable}: ${JSON.stringify(endpoint)} is not an http or https URL`,
    'for example http://collector:4318',
  );
}
