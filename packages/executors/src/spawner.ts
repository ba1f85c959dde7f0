/**
 * The spawner, a small process that starts the commands of one worker: forking blocks for 1 ms at 50 MB and 10 ms at 200 MB. It
 * imports only files beside it. When its link closes, it kills its process groups and exits.
 */
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { enterOwnCgroup, TaskCgroup } from './cgroup.js';
import { containerName, recordEngine, recordLabel } from './end-container.js';
import { FrameReader, FrameWriter } from './framing.js';
import { GroupUsage } from './group-usage.js';
import { GroupWatch } from './group-watch.js';
import { LINK_QUEUED_BYTES_MAX } from './limits.js';
import { closeInherited, OpenFiles } from './open-files.js';
import { GroupRecord, RECORD_VARIABLE } from './process-groups.js';
import { SpawnedRun } from './spawned-run.js';
import {
  endedBody,
  FrameKind,
  LINK_DESCRIPTOR,
  MALLOC_ENVIRONMENT,
  outputBody,
  readKillBody,
  readStartBody,
  type SpawnerSettings,
  type SpawnOrder,
  usedBody,
} from './spawner-protocol.js';

closeInherited(LINK_DESCRIPTOR + 1);
const settings = JSON.parse(process.argv[2]!) as SpawnerSettings;
const link = new Socket({ fd: LINK_DESCRIPTOR, readable: true, writable: true });
const writer = new FrameWriter(link);
const record = new GroupRecord(settings.recordFile, (error) => {
  console.error(`goshawk: cannot write the record of process groups: ${error.message}`);
});
/** Environment of commands: that of this process without its own settings. */
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name, value]) => MALLOC_ENVIRONMENT[name] !== value),
);

const openFiles = new OpenFiles(settings.openFiles);
const watch = new GroupWatch();
/** Runs by process group. */
const runOfGroup = new Map<number, number>();
const usage = new GroupUsage((used) => {
  const byRun = Array.from(used, ([group, each]) => [runOfGroup.get(group)!, each] as const);
  writer.send(FrameKind.Used, 0, usedBody(new Map(byRun)));
});
const home = settings.cgroup === undefined ? undefined : enterOwnCgroup(settings.cgroup);

/** Queued starts, in order. */
const waiting = new Map<number, Buffer>();
const live = new Map<number, SpawnedRun>();
let pumping = false;
let hasContainers = false;

/**
 * One fork per turn of the event loop: ends and output of running commands are handled in between, and each start is reported at
 * once rather than with the last of a batch.
 */
function pump(): void {
  writer.flush();
  const [next] = waiting;
  if (next === undefined) {
    pumping = false;
    return;
  }
  waiting.delete(next[0]);
  begin(next[0], next[1]);
  writer.flush();
  setImmediate(pump);
}

function begin(run: number, body: Buffer): void {
  const { order: given, stdin } = readStartBody(body);
  const order =
    given.cwd === undefined && existsSync(settings.folder) ? { ...given, cwd: settings.folder } : given;
  const { limits, container } = order;
  // The engine limits a container; the cgroup would limit its client.
  const place =
    home === undefined || limits === undefined || container !== undefined
      ? undefined
      : { cgroup: new TaskCgroup(settings.cgroup!, `task-${process.pid}-${run}`), limits, home };
  let slot: number | undefined;
  let group = 0;
  if (container !== undefined && !hasContainers) {
    hasContainers = true;
    try {
      recordEngine(settings.recordFile, container.program);
    } catch (error) {
      console.error(`goshawk: cannot record running containers: ${(error as Error).message}`);
    }
  }
  const engine = container && { ...container, name: containerName(settings.recordId, run) };
  const spawned = new SpawnedRun(
    order,
    settings.graceMs,
    { watch, usage },
    { place, engine },
    {
      started(pid) {
        slot = record.add(pid);
        group = pid;
        runOfGroup.set(pid, run);
        writer.send(FrameKind.Started, run);
      },
      output(stream, bytes) {
        writer.send(FrameKind.Output, run, ...outputBody(stream, bytes));
        if (link.writableLength + writer.queuedBytes > LINK_QUEUED_BYTES_MAX) pauseOutput();
      },
      ended(outcome, runMs, maxRssBytes, report) {
        live.delete(run);
        if (runOfGroup.get(group) === run) runOfGroup.delete(group);
        if (slot !== undefined) record.remove(slot);
        writer.send(FrameKind.Ended, run, endedBody({ outcome, runMs, maxRssBytes, report }));
      },
    },
  );
  openFiles.makeRoom(live.size);
  live.set(run, spawned);
  spawned.start(container === undefined ? order : named(order, run), stdin, environmentOf(order));
}

/** Names and labels a container, so that it can be removed when its client or this process is gone. */
function named(order: SpawnOrder, run: number): SpawnOrder {
  const [verb, ...args] = order.args;
  const name = containerName(settings.recordId, run);
  return { ...order, args: [verb!, '--name', name, '--label', recordLabel(settings.recordId), ...args] };
}

function environmentOf(order: SpawnOrder): Record<string, string | undefined> {
  return { ...inherited, ...order.env, [RECORD_VARIABLE]: settings.recordId };
}

/** The worker cannot keep up with the output of tasks: block them, as any slow reader would. */
function pauseOutput(): void {
  writer.flush();
  for (const run of live.values()) run.pauseOutput();
}

function resumeOutput(): void {
  for (const run of live.values()) run.resumeOutput();
}

function kill(run: number, body: Buffer): void {
  const reason = readKillBody(body);
  if (waiting.delete(run)) {
    writer.send(FrameKind.Ended, run, endedBody({ outcome: { kind: 'killed', reason }, runMs: 0 }));
  }
  live.get(run)?.kill(reason);
}

const reader = new FrameReader(({ kind, run, body }) => {
  if (kind === FrameKind.Start) {
    waiting.set(run, body);
    if (!pumping) {
      pumping = true;
      setImmediate(pump);
    }
  } else if (kind === FrameKind.Kill) {
    kill(run, body);
  }
});

function endAll(): never {
  for (const run of live.values()) run.abandon();
  // Containers may survive this process: with the record, the worker or its next start finds them.
  if (!hasContainers) record.delete();
  process.exit(0);
}

process.title = 'goshawk-spawner';
// Signals to a whole service or terminal are for the worker, which drains while its tasks go on.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => {});
link.on('data', (bytes) => reader.push(bytes));
link.on('drain', resumeOutput);
link.on('error', () => {});
link.on('close', endAll);
link.on('end', endAll);
writer.send(FrameKind.Ready, 0);
