import { availableParallelism } from 'node:os';
import type { ExecPayload, KillReason } from '@goshawk/core';
import type { Containers } from './containers.js';
import { type Executor, failed, type Run, type RunOrder, type RunSink, refused } from './contract.js';
import { spawnOrder } from './exec-order.js';
import { BUSY_MS, BUSY_STARTS_MIN, SPAWNERS_MAX, UNANSWERED_STARTS_MAX } from './limits.js';
import { type ModuleLimits, moduleOutcome, moduleProcess } from './module-process-protocol.js';
import { checkExec } from './payload.js';
import { type Settle, SpawnerLink, type SpawnerOptions, type WaitingRun } from './spawner-link.js';
import type { SpawnOrder } from './spawner-protocol.js';
import { withReport } from './task-result.js';

interface ExecExecutorOptions extends SpawnerOptions {
  readonly containers?: Containers | undefined;
  /** Default: one per processor, and at most `SPAWNERS_MAX`. */
  readonly spawnersMax?: number;
}

const NO_IMAGES_IN_ISOLATION = 'this worker isolates tasks (--run-as) and does not run images';
const NO_ENGINE = 'this worker has neither Docker nor Podman, or may not use them';

/** Calls `forget` if the engine did not start the container, for example because the image was removed. */
function withoutImage(sink: RunSink, forget: () => void): RunSink {
  return {
    started: () => sink.started?.(),
    output: (chunk) => sink.output(chunk),
    used: (usage) => sink.used?.(usage),
    ended: (outcome, ...measured) => {
      if (outcome.kind === 'failed' && outcome.error.code === 'container-failed') forget();
      sink.ended(outcome, ...measured);
    },
  };
}

const UNCHANGED_OUTCOME: Settle = (outcome) => outcome;

/**
 * Runs commands through spawner processes. The first starts with the first run, or with the first one after a crash;
 * others start while all of them are busy, up to `spawnersMax`. Waiting runs of a spawner that dies go to another one.
 */
export class ExecExecutor implements Executor {
  readonly #options: ExecExecutorOptions;
  /** Runs that have not been sent to a spawner, by number, in order. */
  readonly #waiting = new Map<number, WaitingRun>();
  #nextRun = 1;
  /** All spawners, and dead ones until they are cleaned up. */
  readonly #spawners = new Set<SpawnerLink>();
  #spawnersMax: number;
  /** All spawners have been busy since this time; undefined: at least one is not. */
  #busySince: number | undefined;

  constructor(options: ExecExecutorOptions) {
    this.#options = options;
    this.#spawnersMax = options.spawnersMax ?? Math.min(availableParallelism(), SPAWNERS_MAX);
  }

  /** @throws BadPayload, which executors.ts turns into a failed run */
  start(order: RunOrder, sink: RunSink): Run {
    const payload = order.payload as ExecPayload;
    checkExec(payload);
    const stdin = typeof payload.stdin === 'string' ? Buffer.from(payload.stdin) : payload.stdin;
    const given = spawnOrder(order, payload);
    const { isolation, environment } = this.#options;
    if (payload.image !== undefined) return this.#startInImage(given, payload.image, order, stdin, sink);
    const started = isolation === undefined ? given : isolation.isolate(given, order, environment);
    if ('kind' in started) return refused(started, sink);
    return this.#queue(started, stdin, sink, started.reportBytesMax === undefined ? undefined : withReport);
  }

  /** Runs a module in a process under isolation. @throws BadPayload */
  startModule(order: RunOrder, sink: RunSink, limits: ModuleLimits): Run {
    const { isolation, environment } = this.#options;
    const made = moduleProcess(order, limits);
    if ('kind' in made) return refused(made, sink);
    const started = isolation!.isolate(made.order, { ...order, ...made }, environment);
    if ('kind' in started) return refused(started, sink);
    return this.#queue(started, made.stdin, sink, (ended, report) => moduleOutcome(ended, report, limits));
  }

  #queue(order: SpawnOrder, stdin: Uint8Array | undefined, sink: RunSink, settle = UNCHANGED_OUTCOME): Run {
    const run = this.#nextRun;
    this.#nextRun = run === 0xffff_ffff ? 1 : run + 1;
    this.#waiting.set(run, { order, stdin, sink, settle, isPaused: false });
    // The sink is called only after this call has returned.
    queueMicrotask(() => this.#advance());
    return {
      kill: (reason) => this.#kill(run, reason),
      pause: () => this.#setPaused(run, true),
      resume: () => this.#setPaused(run, false),
    };
  }

  /** Queues a run in a container, and pulls the image first if this machine lacks it. */
  #startInImage(
    order: SpawnOrder,
    image: string,
    { folder }: RunOrder,
    stdin: Uint8Array | undefined,
    sink: RunSink,
  ): Run {
    const { isolation, containers } = this.#options;
    if (isolation !== undefined) return refused(failed('not-allowed', NO_IMAGES_IN_ISOLATION), sink);
    if (containers === undefined) return refused(failed('image-unavailable', NO_ENGINE), sink);
    const contained = containers.contain(order, image, { folder });
    if ('kind' in contained) return refused(contained, sink);
    let queued: Run | undefined;
    let killed = false;
    let isPaused = false;
    void containers.prepare(image).then((problem) => {
      if (killed) return;
      if (problem === undefined) {
        queued = this.#queue(
          contained,
          stdin,
          withoutImage(sink, () => containers.invalidate(image)),
        );
        if (isPaused) queued.pause();
      } else sink.ended(problem, 0);
    });
    const setPaused = (paused: boolean): void => {
      isPaused = paused;
      if (paused) queued?.pause();
      else queued?.resume();
    };
    return {
      kill: (reason) => {
        if (queued !== undefined) return queued.kill(reason);
        if (killed) return;
        killed = true;
        queueMicrotask(() => sink.ended({ kind: 'killed', reason }, 0));
      },
      pause: () => setPaused(true),
      resume: () => setPaused(false),
    };
  }

  #setPaused(run: number, isPaused: boolean): void {
    const waiting = this.#waiting.get(run);
    if (waiting !== undefined) waiting.isPaused = isPaused;
    else for (const spawner of this.#spawners) spawner.setPaused(run, isPaused);
  }

  #kill(run: number, reason: KillReason): void {
    const waiting = this.#waiting.get(run);
    if (waiting === undefined) {
      for (const spawner of this.#spawners) spawner.kill(run, reason);
    } else {
      this.#waiting.delete(run);
      queueMicrotask(() => waiting.sink.ended({ kind: 'killed', reason }, 0));
    }
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#spawners, (spawner) => spawner.close()));
  }

  /** Sends waiting runs to the spawners with the fewest unanswered starts, and adds a spawner if it is needed. */
  #advance(): void {
    for (const [run, waiting] of this.#waiting) {
      const spawner = this.#leastBusy();
      if (spawner === undefined || spawner.unansweredCount >= UNANSWERED_STARTS_MAX) break;
      this.#waiting.delete(run);
      spawner.send(run, waiting);
    }
    if (this.#needsSpawner()) this.#addSpawner();
  }

  #leastBusy(): SpawnerLink | undefined {
    let least: SpawnerLink | undefined;
    for (const spawner of this.#spawners) {
      if (!spawner.isReady) continue;
      if (least === undefined || spawner.unansweredCount < least.unansweredCount) least = spawner;
    }
    return least;
  }

  #needsSpawner(): boolean {
    const spawners = this.#alive();
    if (spawners.length === 0) return this.#waiting.size > 0;
    const isBusy = spawners.every((each) => each.isReady && each.unansweredCount >= BUSY_STARTS_MIN);
    if (!isBusy) {
      this.#busySince = undefined;
      return false;
    }
    const now = performance.now();
    this.#busySince ??= now;
    return now - this.#busySince >= BUSY_MS && spawners.length < this.#spawnersMax;
  }

  #alive(): SpawnerLink[] {
    return [...this.#spawners].filter(({ hasEnded }) => !hasEnded);
  }

  #addSpawner(): void {
    const spawner = new SpawnerLink(this.#options, {
      advanced: () => this.#advance(),
      lost: () => this.#onLost(spawner),
    });
    this.#spawners.add(spawner);
  }

  /** Waiting runs fail only if no other spawner can take them. */
  #onLost(spawner: SpawnerLink): void {
    const { problem } = spawner;
    let refused: WaitingRun[] = [];
    if (problem !== undefined) {
      const others = this.#alive().length;
      if (others > 0) this.#spawnersMax = others;
      else refused = this.#takeWaiting();
    }
    void spawner.cleaned.then(() => {
      this.#spawners.delete(spawner);
      for (const { sink } of refused) sink.ended(failed('spawner-failed', problem!), 0);
      this.#advance();
    });
  }

  #takeWaiting(): WaitingRun[] {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiting;
  }
}
