import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { generateKeys } from '@goshawk/transport';
import { type BenchResult, percentile, printReport, result } from './bench-report.js';
import { openMailboxWire, openRawWire, type Wire } from './mailbox-wire.js';
import { note, readOptions } from './script.js';

/**
 * Measures the speed of the mailbox, and the cost of its features.
 *
 * Two processes over loopback exchange requests and replies one at a time, and one-way messages with 1, 10 and 100 in
 * each turn of the event loop, as counted by the receiver. Two variants are measured alternately in the same run: the
 * same with keys, that is with CURVE on all sockets; and a baseline of only the same sockets and MessagePack.
 */
const ASKS = { warmUp: 2_000, measured: 10_000 };
const BURSTS = [
  { bodies: 1, total: 200_000 },
  { bodies: 10, total: 500_000 },
  { bodies: 100, total: 1_000_000 },
];
const WIRES = ['mailbox', 'keyed', 'floor'] as const;
type WireName = (typeof WIRES)[number];

interface Side {
  readonly name: WireName;
  readonly wire: Wire;
  readonly peer: ChildProcess;
}

async function openSide(name: WireName): Promise<Side> {
  const keys = name === 'keyed' ? generateKeys() : undefined;
  const peer = fork(join(import.meta.dirname, 'mailbox-peer.js'), [
    name === 'floor' ? 'raw' : 'mailbox',
    ...(keys ? [JSON.stringify(keys.worker)] : []),
  ]);
  peer.once('exit', (code) => {
    if (code !== 0) {
      note(`the other process of the bench ended with code ${code}`);
      process.exit(1);
    }
  });
  const [{ address }] = (await once(peer, 'message')) as [{ address: string }];
  const wire = await (name === 'floor' ? openRawWire(address) : openMailboxWire(address, keys?.scheduler));
  return { name, wire, peer };
}

/** @returns latencies in ms. */
async function askAll(wire: Wire, asks: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let task = 0; task < asks; task++) {
    const startedMs = performance.now();
    await wire.ask(task);
    latencies.push(performance.now() - startedMs);
  }
  return latencies;
}

/** @returns messages per second, as the receiver counted them. */
async function tellAll({ wire, peer }: Side, bodies: number, total: number): Promise<number> {
  const counted = once(peer, 'message') as Promise<[{ perSecond: number }]>;
  await wire.start(total);
  for (let sent = 0; sent < total; sent += bodies) await wire.tell(sent, bodies);
  const [{ perSecond }] = await counted;
  return perSecond;
}

type Samples = Map<string, Record<WireName, number[]>>;

async function measureOnce(side: Side, samples: Samples): Promise<void> {
  const keep = (measure: string, value: number): void => {
    const entry = samples.get(measure) ?? { mailbox: [], keyed: [], floor: [] };
    entry[side.name].push(value);
    samples.set(measure, entry);
  };
  await askAll(side.wire, ASKS.warmUp);
  const latencies = await askAll(side.wire, ASKS.measured);
  keep('request–reply p50', percentile(latencies, 0.5));
  keep('request–reply p99', percentile(latencies, 0.99));
  for (const { bodies, total } of BURSTS) {
    keep(`one way, ${bodies} a turn`, await tellAll(side, bodies, total));
  }
}

const unitOf = (measure: string): string => (measure.startsWith('one way') ? 'messages/s' : 'ms');

/**
 * Returns the results of all three variants and their ratios per run, because machine noise affects all of them
 * equally.
 */
function results(samples: Samples): BenchResult[] {
  const over = (some: number[], others: number[]) =>
    some.map((value, run) => value / (others[run] ?? Number.NaN));
  return [...samples].flatMap(([measure, { mailbox, keyed, floor }]) => [
    result(measure, unitOf(measure), mailbox),
    result(`${measure}, floor`, unitOf(measure), floor),
    result(`${measure}, over floor`, 'ratio', over(mailbox, floor)),
    result(`${measure}, with keys`, unitOf(measure), keyed),
    result(`${measure}, with keys over without`, 'ratio', over(keyed, mailbox)),
  ]);
}

async function measure(runs: number): Promise<BenchResult[]> {
  const samples: Samples = new Map();
  const sides: Side[] = [];
  for (const name of WIRES) sides.push(await openSide(name));
  for (let run = 0; run < runs; run++) {
    for (const side of sides) {
      note(`run ${run + 1} of ${runs}: ${side.name}`);
      await measureOnce(side, samples);
    }
  }
  for (const { wire, peer } of sides) {
    peer.disconnect();
    await wire.close();
  }
  return results(samples);
}

const { runs, json } = readOptions({ runs: 5 });
printReport('mailbox', await measure(runs), json);
