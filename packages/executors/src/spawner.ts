/**
 * The spawner: a small process that starts the commands of one worker. A fork blocks for 1 ms in a process of
 * 50 MB, and for 10 ms at 200 MB, so the spawner imports only files beside it and `@goshawk/core/system`. When
 * its link closes, it kills its process groups and exits.
 */
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { enterOwnCgroup, TaskCgroup } from './cgroup.js';
import { CommandStreams } from './command-streams.js';
import { containerName, recordEngine, recordLabel } from './end-container.js';
import { FrameReader, FrameWriter } from './framing.js';
import { GroupUsage } from './group-usage.js';
import { GroupWatch } from './group-watch.js';
import { LINK_QUEUED_BYTES_MAX } from './limits.js';
import { closeInherited, OpenFiles } from './open-files.js';
import { GroupRecord, RECORD_VARIABLE, streamsFolder } from './process-groups.js';
import { markerOf, RunLeftovers } from './run-leftovers.js';
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
/** Environment of commands: the environment of this process without the settings of the spawner. */
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name, value]) => MALLOC_ENVIRONMENT[name] !== value),
);

const openFiles = new OpenFiles(settings.openFiles);
const watch = new GroupWatch();
/** Run number by process group. */
const runOfGroup = new Map<number, number>();
const usage = new GroupUsage((used) => {
  const byRun = Array.from(used, ([group, each]) => [runOfGroup.get(group)!, each] as const);
  writer.send(FrameKind.Used, 0, usedBody(new Map(byRun)));
});
const streams = new CommandStreams(streamsFolder(settings.recordFile), (reason) => {
  console.error(
    `goshawk: commands cannot open /dev/stdin, /dev/stdout and /dev/stderr: no named pipes: ${reason}`,
  );
});
const home = settings.cgroup === undefined ? undefined : enterOwnCgroup(settings.cgroup);

/** Bodies of queued starts, in order, by run number. */
const waiting = new Map<number, Buffer>();
const live = new Map<number, SpawnedRun>();
const leftovers = new RunLeftovers(settings.recordId, (run) => live.has(run));
/** Queued starts that begin paused. */
const pausedEarly = new Set<number>();
let pumping = false;
let hasContainers = false;

/**
 * Forks once per turn of the event loop. Ends and output of running commands are handled in between, and each
 * start is reported at once.
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
  // The engine limits a container. A cgroup would limit only the client.
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
    { watch, usage, streams },
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
      ended(outcome, runMs, measured, report) {
        live.delete(run);
        if (runOfGroup.get(group) === run) runOfGroup.delete(group);
        if (slot !== undefined) record.remove(slot);
        if (group !== 0) leftovers.runEnded();
        writer.send(FrameKind.Ended, run, endedBody({ outcome, runMs, measured, report }));
      },
    },
  );
  openFiles.makeRoom(live.size);
  live.set(run, spawned);
  if (pausedEarly.delete(run)) spawned.pause();
  spawned.start(container === undefined ? order : named(order, run), stdin, environmentOf(order, run));
}

/** Names and labels a container, so that it can be removed after its client or this process has ended. */
function named(order: SpawnOrder, run: number): SpawnOrder {
  const [verb, ...args] = order.args;
  const name = containerName(settings.recordId, run);
  return { ...order, args: [verb!, '--name', name, '--label', recordLabel(settings.recordId), ...args] };
}

function environmentOf(order: SpawnOrder, run: number): Record<string, string | undefined> {
  return { ...inherited, ...order.env, [RECORD_VARIABLE]: markerOf(settings.recordId, run) };
}

/** Blocks the tasks, because the worker cannot keep up with their output. */
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
    pausedEarly.delete(run);
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
  } else if (kind === FrameKind.Pause) {
    if (waiting.has(run)) pausedEarly.add(run);
    live.get(run)?.pause();
  } else if (kind === FrameKind.Resume) {
    pausedEarly.delete(run);
    live.get(run)?.resume();
  }
});

function endAll(): never {
  for (const run of live.values()) run.abandon();
  leftovers.endAll();
  streams.delete();
  // Containers may survive this process. The worker or the next spawner finds them by the record.
  if (!hasContainers) record.delete();
  process.exit(0);
}

process.title = 'goshawk-spawner';
// Ignores signals to a whole service or terminal. The worker handles them, and drains while its tasks
// continue.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => {});
link.on('data', (bytes) => reader.push(bytes));
link.on('drain', resumeOutput);
link.on('error', () => {});
link.on('close', endAll);
link.on('end', endAll);
writer.send(FrameKind.Ready, 0);
