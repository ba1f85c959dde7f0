import { connect as dial, type Socket } from 'node:net';
import type { Cluster, JobSubmission } from '@goshawk/client';
import { type Millis, Random } from '@goshawk/core';
import { clientIdentity, FrameAttacker, TcpAttacker, zmtpMaker } from '../fuzz/attackers.js';
import { Inputs } from '../fuzz/inputs.js';
import type { Target } from '../real-cluster.js';
import type { SoakCluster } from './processes.js';

/** The user who does harm. */
const USER = 'hostile';
const PERIOD_MS = 60_000;
const ACT_EVERY_MS = 1_000;

/** Whether the hostile user acts at this time: in every other minute, so that their effect on others is measured. */
export function isHostileAt(atMs: Millis): boolean {
  return Math.floor(atMs / PERIOD_MS) % 2 === 1;
}

/** Jobs that block more than they request, print without end, leave processes, fill memory, or never complete. */
const JOBS: readonly JobSubmission[] = [
  { tasks: { count: 64, run: { sleep: 20_000 } }, demand: { cpu: 0.001 } },
  { tasks: { count: 4, run: { exec: ['/bin/sh', '-c', 'yes | head -c 5000000'] } } },
  { tasks: { count: 8, run: { exec: ['/bin/sh', '-c', 'for i in 1 2 3; do sleep 600 & done'] } } },
  { hold: true, tasks: { count: 100, run: { exec: ['true', 'x'.repeat(4_000)] } } },
  { retries: 100, tasks: { count: 10, run: { exec: ['false'] } } },
];

/** Begins to act against a cluster as a user with many jobs, and as somebody without a key at its ports. */
export function beginHarm(cluster: SoakCluster, client: Cluster, seed: number): AsyncDisposable {
  const random = Random.seeded(seed).fork('hostile');
  const inputs = new Inputs(random.fork('inputs'), [`${cluster.url}!*/0`]);
  const portOf = ({ endpoint }: Target): number => Number(endpoint.split(':').at(-1));
  const attackers = [
    new FrameAttacker('frames', 0, clientIdentity('garbage', undefined), () => inputs.bytes(64)),
    new TcpAttacker('connections', 0, portOf, zmtpMaker(random.fork('zmtp'), inputs), 1),
  ];
  const unread = new Set<Socket>();
  const running = new Set<Promise<unknown>>();
  const beganAt = performance.now();
  let acts = 0;
  const act = async (): Promise<void> => {
    const job = JOBS[acts++ % JOBS.length]!;
    if (acts % JOBS.length === 0) askWithoutReading(cluster.page, unread);
    const posts = cluster.posts.filter(({ role, isAwake }) => isAwake && role !== 'postgres');
    const { daemon } = posts[Math.floor(random.next() * posts.length)]!;
    const target = { endpoint: daemon!.endpoint, role: 'central' } as Target;
    const isHttp = target.endpoint.startsWith('http');
    // She does not care for answers, nor for refusals.
    await Promise.allSettled([
      client.submit({ ...job, user: USER }),
      client.jobs({ all: true }),
      ...attackers.slice(isHttp ? 1 : 0).map((attacker) => attacker.attack(target, 5)),
    ]);
  };
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - beganAt;
    if (!isHostileAt(elapsedMs)) for (const socket of unread) socket.destroy();
    else {
      const one = act().finally(() => running.delete(one));
      running.add(one);
    }
  }, ACT_EVERY_MS);
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      for (const socket of unread) socket.destroy();
      await Promise.allSettled(running);
      for (const attacker of attackers) attacker.close();
    },
  };
}

/** Sends many requests on a connection whose answers nobody reads. */
function askWithoutReading(url: string, open: Set<Socket>): void {
  const { hostname, port } = new URL(url);
  const socket = dial(Number(port), hostname, () =>
    socket.write(`GET /v1/jobs?limit=1000 HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`.repeat(200)),
  );
  socket.pause();
  socket.on('error', () => {}).on('close', () => open.delete(socket));
  open.add(socket);
}
