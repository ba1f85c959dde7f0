import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { connect } from '@goshawk/client';
import type { Millis } from '@goshawk/core';
import { anonymousMebibytes } from '../proc.js';

/** Describes one map. The module fails on each multiple of `failEvery`. */
export interface Mapping {
  readonly url: string;
  readonly module: string;
  readonly inputs: number;
  readonly failEvery: number;
  readonly key?: string | undefined;
  readonly order: 'index' | 'completed';
}

/** Counts what the client has read so far. */
export interface Mapped {
  readonly values: number;
  readonly errors: number;
  /** Results that were duplicates, or did not match their input. */
  readonly wrong: number;
  readonly mebibytes: number;
  readonly ms: Millis;
  readonly isDone: boolean;
}

const SELF = fileURLToPath(new URL('../../dist/map/mapper.js', import.meta.url));
const REPORT_EVERY = 10_000;

/**
 * Starts a client process that maps, and reports after every 10,000 results.
 *
 * @param isEnough called with each report; the process is killed when it returns true
 * @returns the last report
 */
export function map(
  mapping: Mapping,
  onReport: (report: Mapped) => void = () => {},
  isEnough: (report: Mapped) => boolean = () => false,
): Promise<Mapped> {
  const child = fork(SELF, [JSON.stringify(mapping)]);
  return new Promise((resolve, reject) => {
    let last: Mapped | undefined;
    child.on('message', (report: Mapped) => {
      last = report;
      onReport(report);
      if (isEnough(report)) child.kill('SIGKILL');
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (last !== undefined && (code === 0 || signal === 'SIGKILL')) resolve(last);
      else reject(new Error(`the client ended with ${code ?? signal}`));
    });
  });
}

function* numbers(count: number): Generator<number> {
  for (let n = 0; n < count; n++) yield n;
}

async function main({ url, module, inputs, failEvery, key, order }: Mapping): Promise<void> {
  const began = performance.now();
  const seen = new Uint8Array(inputs);
  const counts = { values: 0, errors: 0, wrong: 0 };
  const report = (isDone: boolean) =>
    process.send!({
      ...counts,
      mebibytes: anonymousMebibytes(process.pid),
      ms: performance.now() - began,
      isDone,
    } satisfies Mapped);
  await using cluster = await connect(url);
  const options = { name: 'map', key, order, onError: 'collect' } as const;
  for await (const result of cluster.map<number, number>({ module }, numbers(inputs), options)) {
    const { index, value, error } = result;
    const fails = failEvery > 0 && index % failEvery === 0;
    const isRight = fails ? error?.message.includes(`no ${index}`) === true : value === 2 * index;
    if (!isRight || seen[index]!++ > 0) counts.wrong++;
    else counts[fails ? 'errors' : 'values']++;
    if ((counts.values + counts.errors) % REPORT_EVERY === 0) report(false);
  }
  report(true);
}

if (process.argv[1] === SELF) {
  await main(JSON.parse(process.argv[2]!) as Mapping);
  process.disconnect();
}
