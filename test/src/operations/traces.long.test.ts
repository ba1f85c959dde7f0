import { TestDaemons } from '@goshawk/cli/testing';
import { connect } from '@goshawk/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Collector, type ReceivedSpan, startCollector } from './collector.fixture.js';

/** Real processes send spans of their jobs to a collector. */

/**
 * Maximum difference between wall clocks: each process reads its clock once, and the machine may be suspended in
 * between.
 */
const CLOCKS_MS = 2_000;
/** Times of the same clock differ only by rounding. */
const ONE_CLOCK_MS = 0.5;

let collector: Collector;
const daemons = new TestDaemons('traces', { beforeEach, afterEach });

beforeEach(async () => {
  collector = await startCollector();
});

afterEach(() => collector.close());

async function startCluster(policy: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<string> {
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '50',
    ...variables,
  };
  const { endpoint } = await daemons.startCentral(policy, environment);
  await daemons.startScheduler('s', [], environment);
  await daemons.startWorker('w', ['--workers', '4'], environment);
  await using cluster = await connect(endpoint);
  await expect.poll(async () => (await cluster.describe()).workers).toHaveLength(4);
  return endpoint;
}

/** Returns the trace of a job when it is complete. Spans with an unknown parent show that some have not arrived yet. */
function traceOf(job: string, spans: number): Promise<readonly ReceivedSpan[]> {
  return vi.waitFor(
    () => {
      const trace = collector.spans.filter((span) => span.attributes['goshawk.job'] === job);
      expect(trace.map(({ name }) => name).sort()).toHaveLength(spans);
      return trace;
    },
    { timeout: 60_000 },
  );
}

function count(trace: readonly ReceivedSpan[], name: string): number {
  return trace.filter((span) => span.name === name).length;
}

function one(
  trace: readonly ReceivedSpan[],
  name: string,
  attributes: Record<string, unknown> = {},
): ReceivedSpan {
  const found = trace.filter(
    (span) =>
      span.name === name &&
      Object.entries(attributes).every(([key, value]) => span.attributes[key] === value),
  );
  expect(found, `${name} ${JSON.stringify(attributes)}`).toHaveLength(1);
  return found[0]!;
}

/** Checks that each span of a trace has the expected parent and is not longer than it. */
function expectToHang(trace: readonly ReceivedSpan[]): void {
  const root = one(trace, 'job');
  expect(root.parentSpanId).toBeUndefined();
  expect(new Set(trace.map(({ traceId }) => traceId)).size).toBe(1);
  expect(new Set(trace.map(({ spanId }) => spanId)).size).toBe(trace.length);
  for (const span of trace) {
    if (span === root) continue;
    const parent = trace.find(({ spanId }) => spanId === span.parentSpanId);
    expect(parent, `the parent of a ${span.name}`).toBeDefined();
    expect(parent!.name).toBe(span.name === 'run' ? 'attempt' : 'job');
    expect(span.to).toBeGreaterThanOrEqual(span.from);
    const toleranceMs = span.service === parent!.service ? ONE_CLOCK_MS : CLOCKS_MS;
    expect(span.from).toBeGreaterThan(parent!.from - toleranceMs);
    expect(span.to).toBeLessThan(parent!.to + toleranceMs);
  }
}

describe('a job', () => {
  it('that central places has one trace through scheduler, central and worker', async () => {
    await using cluster = await connect(
      await startCluster(['--policy', 'hawk', '--cutoff', '1', '--estimator', 'given']),
    );
    const before = Date.now();
    const job = await cluster.submit({
      name: 'nightly',
      tasks: { count: 3, run: { sleep: 30 } },
      estimate: 60_000,
    });
    await job.wait();
    const after = Date.now();
    const trace = await traceOf(job.id, 14);
    expectToHang(trace);
    expect(['classify', 'place', 'queue', 'attempt', 'run'].map((name) => count(trace, name))).toEqual([
      1, 3, 3, 3, 3,
    ]);
    const root = one(trace, 'job');
    expect(root.attributes).toMatchObject({
      'goshawk.job.name': 'nightly',
      'goshawk.job.class': 'long',
      'goshawk.job.state': 'completed',
    });
    expect(root.from).toBeGreaterThan(before - CLOCKS_MS);
    expect(root.to).toBeLessThan(after + CLOCKS_MS);
    const services = Object.fromEntries(trace.map(({ name, service }) => [name, service]));
    expect(services).toEqual({
      job: 'goshawk-scheduler',
      classify: 'goshawk-scheduler',
      queue: 'goshawk-scheduler',
      attempt: 'goshawk-scheduler',
      place: 'goshawk-central',
      run: 'goshawk-worker',
    });
    for (let task = 0; task < 3; task++) {
      const [queue, attempt, run] = ['queue', 'attempt', 'run'].map((name) =>
        one(trace, name, { 'goshawk.task': task }),
      );
      expect(Math.abs(queue!.to - attempt!.from)).toBeLessThan(ONE_CLOCK_MS);
      expect(run!.parentSpanId).toBe(attempt!.spanId);
      expect(run!.to - run!.from).toBeGreaterThan(29);
      expect(run!.attributes['goshawk.worker']).toMatch(/^w\d$/);
    }
  });

  it('that is classified by its pilots and matched by central has one trace, too', async () => {
    await using cluster = await connect(
      await startCluster(['--policy', 'goshawk', '--estimator', 'pilot', '--cutoff', '1']),
    );
    const job = await cluster.submit({ tasks: { count: 20, run: { sleep: 20 } } });
    await job.wait();
    const trace = await vi.waitFor(
      () => {
        const spans = collector.spans.filter((span) => span.attributes['goshawk.job'] === job.id);
        expect([count(spans, 'job'), count(spans, 'classify'), count(spans, 'run')]).toEqual([1, 1, 20]);
        expect(count(spans, 'match')).toBeGreaterThan(0);
        return spans;
      },
      { timeout: 60_000 },
    );
    expectToHang(trace);
    const classify = one(trace, 'classify');
    expect(classify.attributes['goshawk.job.pilots']).toBeGreaterThan(0);
    expect(classify.to - classify.from).toBeGreaterThan(15);
  });

  it('whose task fails shows each attempt, and that the second one waited since the end of the first', async () => {
    await using cluster = await connect(await startCluster(['--policy', 'sparrow']));
    const job = await cluster.submit({ tasks: [{ exec: ['false'] }], retries: 1 });
    await job.wait();
    const trace = await traceOf(job.id, 8);
    expectToHang(trace);
    const first = one(trace, 'attempt', { 'goshawk.attempt': 1 });
    const second = one(trace, 'queue', { 'goshawk.attempt': 2 });
    expect(Math.abs(second.from - first.to)).toBeLessThan(ONE_CLOCK_MS);
    expect(
      trace
        .filter(({ isError }) => isError)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['attempt', 'attempt', 'job', 'run', 'run']);
  });

  it('links to the span that it was submitted from, and its tasks know the span of their run', async () => {
    await using cluster = await connect(await startCluster(['--policy', 'sparrow']));
    const span = `${'a'.repeat(32)}-${'b'.repeat(16)}`;
    const job = await cluster.submit({
      tasks: [{ exec: ['sh', '-c', 'echo $TRACEPARENT'] }],
      traceparent: `00-${span}-01`,
    });
    await job.wait();
    let said = '';
    for await (const { bytes } of job.logs()) said += Buffer.from(bytes).toString();
    const trace = await traceOf(job.id, 5);
    expect(one(trace, 'job').links).toEqual([span]);
    const run = one(trace, 'run');
    expect(said.trim()).toBe(`00-${run.traceId}-${run.spanId}-01`);
  });

  it('is sampled by all processes or by none', async () => {
    const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
    await using cluster = await connect(await startCluster(['--policy', 'sparrow'], sampler));
    const jobs = await Promise.all(
      Array.from({ length: 40 }, () => cluster.submit({ tasks: { count: 2, run: { sleep: 1 } } })),
    );
    for (const job of jobs) await job.wait();
    // Processes send their remaining spans before they exit.
    for (const daemon of daemons.all) {
      daemon.signal('SIGTERM');
      await daemon.ended;
    }
    const spansOf = jobs.map(({ id }) =>
      collector.spans.filter((span) => span.attributes['goshawk.job'] === id),
    );
    const sampled = spansOf.filter((trace) => trace.length > 0);
    for (const trace of sampled) {
      expectToHang(trace);
      expect(trace).toHaveLength(8);
    }
    expect(sampled.length).toBeGreaterThan(0);
    expect(sampled.length).toBeLessThan(jobs.length);
  });
});

it('a missing collector does no harm and is logged once', async () => {
  await using cluster = await connect(
    await startCluster(['--policy', 'sparrow'], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }),
  );
  const job = await cluster.submit({ tasks: { count: 2, run: { sleep: 1 } } });
  await job.result();
  await expect
    .poll(() =>
      ['central', 's', 'w'].map((name) => daemons.logOf(name).split('traces cannot be sent').length - 1),
    )
    .toEqual([0, 1, 1]);
});
