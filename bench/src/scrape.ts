/**
 * Measures the cost of monitoring: the processor time of one scrape of `/metrics`, with one connection per scrape like
 * Prometheus at its interval, and from that the share of a core that 100 workers use together at one scrape every 15 s.
 *
 *     npm run bench -- scrape -- [--shapes 4x25,10x1] [--scrapes 200] [--every 15] [--json]
 *
 * A shape is a number of processes times a number of workers each. Processes report their processor time in µs; their idle
 * usage is measured first and subtracted.
 */
import { Agent, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { meanOf } from '@goshawk/core';
import { type BenchResult, printReport, result } from './bench-report.js';
import { Daemons, WITH_HTTP } from './daemons.js';
import { Folder, readOptions } from './script.js';

const options = readOptions({
  shapes: ['4x25', '10x1'],
  scrapes: 200,
  every: 15,
});

const WORKERS = 100;
/** Duration of the measurement of idle usage, before any scrapes, in ms. */
const IDLE_MS = 5_000;
const { scrapes, every: everySeconds } = options;
/** A connection for each scrape. */
const agent = new Agent({ keepAlive: false });

interface Cost {
  /** The processor time of a scrape, in ms. */
  readonly processorMs: number;
  readonly bytes: number;
}

function ask(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, async (response) => {
      let body = '';
      for await (const part of response) body += part;
      resolve(body);
    }).on('error', reject);
  });
}

async function processorSeconds(door: string): Promise<number> {
  return Number(/^goshawk_process_cpu_seconds_total (\S+)$/m.exec(await ask(`${door}/metrics`))?.[1]);
}

/** Scrapes one process after another; the first scrapes warm up the code and are not counted. */
async function costOf(door: string): Promise<Cost> {
  for (let i = 0; i < scrapes / 4; i++) await ask(`${door}/metrics`);
  const atRest = await processorSeconds(door);
  const restedAt = performance.now();
  await pause(IDLE_MS);
  const before = await processorSeconds(door);
  const began = performance.now();
  const idlePerMs = (before - atRest) / (began - restedAt);
  let bytes = 0;
  for (let i = 0; i < scrapes; i++) bytes = (await ask(`${door}/metrics`)).length;
  const spent = (await processorSeconds(door)) - before - idlePerMs * (performance.now() - began);
  return { processorMs: (1_000 * spent) / (scrapes + 1), bytes };
}

async function measure(shape: string): Promise<BenchResult[]> {
  const [processes, workers] = shape.split('x').map(Number) as [number, number];
  using own = new Folder('scrape');
  const daemons = new Daemons(own.path);
  try {
    await daemons.startCentral(WITH_HTTP);
    await daemons.startScheduler('s', WITH_HTTP);
    const costs: Cost[] = [];
    const names = Array.from({ length: processes }, (_, i) => `w${i}-`);
    for (const name of names) await daemons.startWorker(name, ['--workers', `${workers}`, ...WITH_HTTP]);
    for (const name of names) costs.push(await costOf(await daemons.httpAddressOf(name)));
    const each = costs.map(({ processorMs }) => processorMs);
    const mean = meanOf(each);
    // The number of processes with a hundred workers in total, times their scrapes per second.
    const share = ((mean / 1_000) * (WORKERS / workers)) / everySeconds;
    const named = `${shape}: `;
    return [
      result(`${named}scrape of a process with ${workers} workers`, 'ms', each),
      result(
        `${named}its answer`,
        'bytes',
        costs.map(({ bytes }) => bytes),
      ),
      result(`${named}${WORKERS} workers, each ${everySeconds} s`, '% of a core', [100 * share]),
      result(`${named}a scrape of central`, 'ms', [
        (await costOf(await daemons.httpAddressOf('central'))).processorMs,
      ]),
      result(`${named}a scrape of a scheduler`, 'ms', [
        (await costOf(await daemons.httpAddressOf('s'))).processorMs,
      ]),
    ];
  } finally {
    await daemons.stop();
  }
}

const results: BenchResult[] = [];
for (const shape of options.shapes) results.push(...(await measure(shape)));
printReport('scrape', results, options.json);
