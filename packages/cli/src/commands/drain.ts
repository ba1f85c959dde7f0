import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, type DrainAnswer, drainJson } from '@goshawk/client';
import { type Context, defineCommand, plain, startProgress, throwAll } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { counted, formatDuration, InputError } from '@goshawk/core';

/** Poll interval (ms) for a draining worker. */
const POLL_MS = 200;
/** Time (ms) for a worker to confirm that it accepts tasks again. */
const UNDO_MS = 2_000;

export const drainCommand = defineCommand({
  name: 'drain',
  words: 'WORKER…',
  completes: 'workers',
  describe:
    'start no new tasks on workers; running tasks finish, and waiting tasks move to other workers; list lost workers no longer',
  examples: [
    ['goshawk drain w3 w4 --wait', 'drain two workers, and wait until no task runs on them'],
    ['goshawk drain w3 --deadline 10m', 'restart elsewhere the tasks that still run after ten minutes'],
    ['goshawk drain w3 --undo', 'let the worker accept tasks again'],
    ['goshawk drain w9', 'if w9 was lost, and does not return: list it no longer'],
  ],
  options: {
    deadline: {
      type: 'duration',
      setting: false,
      placeholder: 'TIME',
      describe:
        'tasks that still run after this time are stopped, and restart on other workers (default: the deadline of an earlier drain still in effect, else none)',
    },
    undo: {
      type: 'flag',
      setting: false,
      describe: 'let the workers accept tasks again, also before the end of a quarantine',
    },
    wait: { type: 'flag', setting: false, describe: 'wait until no task runs on the workers' },
  },
  async run(context, options, { words }) {
    const other = options.wait ? '--wait' : options.deadline === undefined ? undefined : '--deadline';
    if (options.undo && other !== undefined)
      throw new InputError('usage', `drain: --undo and ${other} cannot be used together`, 'use one of them');
    await using cluster = await openCluster(context);
    const deadlineMs = options.deadline;
    const signal = context.interrupted;
    const show = (answer: DrainAnswer): void => context.show(drainJson(answer), () => sentence(answer));
    const answers: DrainAnswer[] = [];
    const problems: unknown[] = [];
    for (const worker of new Set(words)) {
      try {
        answers.push(await cluster.drain(worker, !options.undo, { deadlineMs, signal }));
      } catch (error) {
        signal.throwIfAborted();
        // The other workers are still drained.
        problems.push(error);
      }
    }
    // All workers have received the request before the first one is awaited.
    for (const answer of answers) {
      if (options.undo) show(await untilActive(context, cluster, answer));
      else show(options.wait ? await untilDrained(context, cluster, answer) : answer);
    }
    throwAll(context, problems);
  },
});

/**
 * Waits until a worker accepts tasks again. A worker that shuts down keeps draining, and the result says so.
 */
async function untilActive(context: Context, cluster: Cluster, first: DrainAnswer): Promise<DrainAnswer> {
  const signal = context.interrupted;
  const giveUpAt = performance.now() + UNDO_MS;
  let answer = first;
  while (answer.state !== 'active' && performance.now() < giveUpAt) {
    await pause(POLL_MS / 10, undefined, { signal });
    answer = await cluster.drain(first.worker, false, { signal });
  }
  return answer;
}

async function untilDrained(context: Context, cluster: Cluster, first: DrainAnswer): Promise<DrainAnswer> {
  const { worker } = first;
  const signal = context.interrupted;
  const progress = startProgress(context, `draining ${worker}`, first.running);
  try {
    let answer = first;
    while (answer.state !== 'drained' && answer.state !== 'removed') {
      progress.update(Math.max(0, first.running - answer.running), `${counted(answer.running, 'task')} left`);
      await pause(POLL_MS, undefined, { signal });
      answer = await cluster.drain(worker, true, { signal });
    }
    progress.update(first.running, 'drained');
    return answer;
  } catch (error) {
    if (!signal.aborted) throw error;
    context.note(`${worker} continues to drain; \`goshawk drain ${worker} --undo\` undoes this`);
    throw signal.reason;
  } finally {
    progress.stop();
  }
}

function sentence({ worker: name, state, running, deadlineMs }: DrainAnswer): string {
  const worker = plain(name);
  switch (state) {
    case 'active':
      return `${worker} accepts tasks`;
    case 'draining':
      return `${worker} is draining; ${counted(running, 'task')} still running${
        deadlineMs === undefined
          ? ''
          : `, to be stopped in ${formatDuration(deadlineMs)} and restarted elsewhere`
      }`;
    case 'quarantined':
      return `${worker} is quarantined for a while: tasks cannot start there`;
    case 'removed':
      return `${worker} was lost, and is listed no longer`;
    case 'drained':
      return `${worker} is drained: no tasks are running`;
  }
}
