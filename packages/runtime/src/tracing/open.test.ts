import { SILENT_LOGGER } from '@goshawk/transport';
import { describe, expect, it } from 'vitest';
import { openTracing } from './open.js';
import { spanIdOf, traceIdOf } from './spans.js';

describe('tracing', () => {
  it.each<Record<string, string>>([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'true' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' },
  ])('is off with %j', async (environment) => {
    expect(await openTracing('worker', 'w', SILENT_LOGGER, environment)).toBeUndefined();
  });

  it.each(['collector:4318', 'ftp://collector', 'nonsense'])(
    'refuses the endpoint %s in one line',
    async (endpoint) => {
      const opened = openTracing('worker', 'w', SILENT_LOGGER, {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
      });
      await expect(opened).rejects.toThrow('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
    },
  );

  it('runs untraced, with a warning, if the package is not installed', async () => {
    const lines: unknown[] = [];
    const logger = { ...SILENT_LOGGER, warn: (...line: unknown[]) => void lines.push(line) };
    const missing = async () => {
      throw Object.assign(new Error("Cannot find package '@goshawk/tracing'"), {
        code: 'ERR_MODULE_NOT_FOUND',
      });
    };
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
    expect(await openTracing('worker', 'w', logger, environment, missing)).toBeUndefined();
    expect(lines).toEqual([
      [{ collector: 'collector:4318' }, 'jobs are not traced: @goshawk/tracing is not installed'],
    ]);
  });

  it('has distinct ids that are derived from job, task and attempt', () => {
    expect(traceIdOf('abcde-1')).toMatch(/^[0-9a-f]{32}$/);
    expect(traceIdOf('abcde-1')).toBe(traceIdOf('abcde-1'));
    const spans = [
      spanIdOf('abcde-1', 'job'),
      spanIdOf('abcde-2', 'job'),
      spanIdOf('abcde-1', 'attempt 1/11'),
      spanIdOf('abcde-1', 'attempt 11/1'),
      spanIdOf('abcde-1', 'run 1/11'),
    ];
    expect(new Set(spans).size).toBe(spans.length);
    for (const span of spans) expect(span).toMatch(/^[0-9a-f]{16}$/);
  });
});
