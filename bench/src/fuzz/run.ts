import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '@goshawk/core';
import { generateKeys, type KeyRing, keyRing, writeKeyFolder } from '@goshawk/transport';
import { residentMebibytes } from '../proc.js';
import { metricsOf, RealCluster } from '../real-cluster.js';
import { Folder } from '../script.js';
import { startSubmitter, submittedBy } from '../submitter.js';
import {
  type Attacker,
  clientIdentity,
  FrameAttacker,
  frameMakers,
  httpMaker,
  impostorIdentity,
  newClients,
  TcpAttacker,
  zmtpMaker,
} from './attackers.js';
import { Inputs } from './inputs.js';

interface FuzzOptions {
  readonly seed: number;
  /** Number of inputs, over all targets. */
  readonly inputs: number;
  readonly hasKeys: boolean;
  readonly note: (line: string) => void;
}

export interface FuzzResult {
  /** Counts per attacker. */
  readonly inputs: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Processes that have exited. */
  readonly crashed: readonly string[];
  /** The 99th percentile of the event loop delay of each process, as an upper bound from its histogram, in ms. */
  readonly delayMs: Readonly<Record<string, number>>;
  /** Resident memory of each process after a tenth of the inputs, and shortly after the end, in MiB. */
  readonly memory: Readonly<Record<string, readonly [before: number, after: number]>>;
  /** Jobs submitted during the attack, and their runtimes, in ms. */
  readonly jobs: { readonly completed: number; readonly failed: number; readonly ms: readonly number[] };
  /** Runtimes of jobs before the attack, in ms. */
  readonly beforeMs: readonly number[];
  /** Refused inputs per metric. */
  readonly refused: Readonly<Record<string, number>>;
}

/** Number of inputs that one attacker sends before the next one takes its turn. */
const BURST = 500;
/** Small, so that a leak shows soon. */
const HEAP_MEBIBYTES = 300;
/** Options of the client whose jobs are not an attack. A late answer on a busy machine is not a failure. */
const LEGITIMATE = { inFlight: 1, pauseMs: 10, tasks: 4, sleepMs: 1, patienceMs: 60_000 };
/** Duration before the attack. */
const BEFORE_MS = 3_000;
/** Idle time after the attack. */
const REST_MS = 10_000;

/** Sends inputs to every socket and HTTP server of a real cluster, while jobs are submitted to it. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  using own = new Folder('fuzz');
  const folder = own.path;
  const keys = options.hasKeys ? generateKeys() : undefined;
  if (keys !== undefined) writeKeyFolder(join(folder, 'keys'), keys);
  const cluster = new RealCluster(folder);
  let submitter: ChildProcess | undefined;
  try {
    const keyFolder = keys && join(folder, 'keys');
    await cluster.start({ keys: keyFolder, heapMebibytes: HEAP_MEBIBYTES });
    submitter = await startSubmitter({ url: cluster.url, keys: keyFolder, ...LEGITIMATE });
    return await attackAll(options, cluster, submitter, keys && keyRing(keys.client, 'fuzz'));
  } finally {
    submitter?.kill('SIGKILL');
    for (const line of cluster.errors()) options.note(line);
    await cluster.daemons.stop();
  }
}

async function attackAll(
  { seed, inputs, note }: FuzzOptions,
  cluster: RealCluster,
  submitter: ChildProcess,
  ring: KeyRing | undefined,
): Promise<FuzzResult> {
  const { targets } = cluster;
  await pause(BEFORE_MS);
  const before = await submittedBy(submitter);
  const attackers = attackersOf(
    seed,
    targets.map(({ endpoint }) => endpoint),
    ring,
  );
  const thrown: Record<string, number> = Object.fromEntries(attackers.map(({ name }) => [name, 0]));
  const memory: Record<string, [number, number]> = {};
  let total = 0;
  const startedAt = performance.now();
  let shown = 0;
  for (let round = 0; total < inputs; round++) {
    const target = targets[round % targets.length]!;
    if (target.hasEnded) break;
    await Promise.all(
      attackers.map(async (attacker) => {
        const share = Math.max(1, Math.round((BURST * attacker.share) / 100));
        await attacker.attack(target, share);
        thrown[attacker.name]! += share;
        total += share;
      }),
    );
    if (total >= inputs / 10 && memory.central === undefined) {
      for (const each of targets) memory[each.role] = [residentMebibytes(each.daemon.pid), 0];
    }
    if (total - shown >= inputs / 10) {
      shown = total;
      note(`${total} of ${inputs} inputs`);
    }
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const jobs = await submittedBy(submitter);
  submitter.kill('SIGKILL');
  for (const attacker of attackers) attacker.close();
  const alive = targets.filter(({ hasEnded }) => !hasEnded);
  const delayMs: Record<string, number> = {};
  for (const each of alive) delayMs[each.role] = delayOf(await metricsOf(each.httpPort));
  await pause(REST_MS);
  for (const each of alive) memory[each.role]![1] = residentMebibytes(each.daemon.pid);
  return {
    inputs: thrown,
    seconds,
    crashed: targets.filter(({ hasEnded }) => hasEnded).map(({ role }) => role),
    delayMs,
    memory,
    jobs: { completed: jobs.endedMs.length, failed: jobs.failed + jobs.refused, ms: jobs.endedMs },
    beforeMs: before.endedMs,
    refused: await refusals(alive),
  };
}

function attackersOf(seed: number, endpoints: readonly string[], ring: KeyRing | undefined): Attacker[] {
  const random = Random.seeded(seed);
  const inputs = new Inputs(
    random.fork('inputs'),
    endpoints.map((endpoint) => `${endpoint}!*/0`),
  );
  const frames = frameMakers(random.fork('frames'), inputs);
  const zmtpPort = ({ endpoint }: { endpoint: string }) => Number(endpoint.split(':').at(-1));
  const client = (id: string) => clientIdentity(id, ring);
  return [
    new FrameAttacker('random frames', 20, client('garbage'), frames.garbage),
    new FrameAttacker('mutated frames', 40, client('mutated'), frames.mutated),
    new FrameAttacker('sound frames of any role', 20, client('sound'), frames.sound),
    new FrameAttacker('replayed frames', 10, client('replayed'), frames.replayed),
    new FrameAttacker('submissions', 5, client('submissions'), () => inputs.submission()),
    new FrameAttacker('multipart frames', 1, client('parts'), () => inputs.parts(frames.sound())),
    new FrameAttacker('requests of a client that reads no answers', 5, client('deaf'), frames.replayed, {
      reads: false,
    }),
    new FrameAttacker('requests of many clients', 5, newClients(ring), frames.replayed, {
      inputsPerClient: 10,
    }),
    ...(ring ? [new FrameAttacker('frames under false names', 6, impostorIdentity(ring), frames.sound)] : []),
    new TcpAttacker('random connections', 1, zmtpPort, zmtpMaker(random.fork('zmtp'), inputs), 1),
    new TcpAttacker(
      'HTTP requests',
      8,
      ({ httpPort }) => httpPort,
      httpMaker(random.fork('http'), inputs),
      8,
    ),
  ];
}

function delayOf(metrics: ReadonlyMap<string, number>): number {
  const name = 'goshawk_event_loop_delay_seconds';
  const all = metrics.get(`${name}_count`) ?? 0;
  const bounds = [...metrics].flatMap(([key, count]) => {
    const bound = key.startsWith(`${name}_bucket`) ? /le="([^"]+)"/.exec(key)?.[1] : undefined;
    return bound === undefined || count < 0.99 * all ? [] : [bound === '+Inf' ? Infinity : Number(bound)];
  });
  return 1_000 * Math.min(...bounds);
}

async function refusals(targets: RealCluster['targets']): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const target of targets) {
    for (const [name, value] of await metricsOf(target.httpPort)) {
      if (/refused|rejected/.test(name) && value > 0) sums[name] = (sums[name] ?? 0) + value;
    }
  }
  return sums;
}
