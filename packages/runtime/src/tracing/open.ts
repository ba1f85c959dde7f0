import { InputError } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import type { Tracing } from './spans.js';

type Variables = Readonly<Record<string, string | undefined>>;

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;

/**
 * Opens tracing if OpenTelemetry's variables configure it; otherwise nothing is loaded.
 *
 * @throws InputError if the endpoint is invalid
 */
export async function openTracing(
  role: string,
  instance: string,
  logger: Logger,
  environment: Variables = process.env,
): Promise<Tracing | undefined> {
  const variable = ENDPOINTS.find((name) => environment[name]);
  if (variable === undefined || environment.OTEL_SDK_DISABLED === 'true') return undefined;
  if (environment.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const { host } = collectorAt(environment[variable]!, variable);
  const { OtlpTracing } = await import('./otlp.js');
  logger.info({ collector: host }, 'jobs are traced');
  return new OtlpTracing(role, instance, logger);
}

function collectorAt(endpoint: string, variable: string): URL {
  if (URL.canParse(endpoint)) {
    const url = new URL(endpoint);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  }
  throw new InputError(
    'bad-endpoint',
    `${variable}: ${JSON.stringify(endpoint)} is not an http or https URL`,
    'such as http://collector:4318',
  );
}
