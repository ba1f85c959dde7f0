import type { Cluster } from '@goshawk/client';
import { counted, isFinal, PRIORITIES, type Priority } from '@goshawk/core';
import type { TopChange } from './top-commands.js';

/** Changes requested at once. */
const IN_FLIGHT = 16;

/** Performs a change of each job or worker, and returns what happened in one line. */
export async function changeAll(
  cluster: Cluster,
  kind: TopChange,
  of: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const said: string[] = [];
  const failed: string[] = [];
  for (let from = 0; from < of.length; from += IN_FLIGHT) {
    const some = of.slice(from, from + IN_FLIGHT);
    const settled = await Promise.allSettled(some.map((name) => change(cluster, kind, name, signal)));
    for (const outcome of settled) {
      if (outcome.status === 'fulfilled') said.push(outcome.value);
      else failed.push((outcome.reason as Error).message);
    }
  }
  const [first] = failed;
  if (of.length === 1) return said[0] ?? first ?? '';
  const done = `${kind}: ${said.length} of ${of.length}`;
  return first === undefined ? done : `${done}; ${counted(failed.length, 'failure')}, the first: ${first}`;
}

async function change(cluster: Cluster, kind: TopChange, name: string, signal: AbortSignal): Promise<string> {
  switch (kind) {
    case 'cancel': {
      const { state } = await cluster.job(name).cancel({ signal });
      return isFinal(state) ? `${name} is ${state}` : `${name} is being cancelled: running tasks are killed`;
    }
    case 'hold':
      await cluster.job(name).hold({ signal });
      return `${name} is on hold: no more tasks start (h releases it)`;
    case 'release':
      await cluster.job(name).release({ signal });
      return `${name} may start tasks`;
    case 'retry': {
      const { tasksAgain } = await cluster.job(name).retry({ signal });
      return `${counted(tasksAgain, 'task')} of ${name} ${tasksAgain === 1 ? 'runs' : 'run'} again`;
    }
    case 'raise':
    case 'lower': {
      const { priority } = await cluster.job(name).describe({ signal });
      const next = stepFrom(priority, kind);
      if (next === priority) return `${name} has the priority ${priority} already`;
      await cluster.job(name).update({ priority: next }, { signal });
      return `${name} has the priority ${next} (was ${priority})`;
    }
    default: {
      const { state, running } = await cluster.drain(name, kind === 'drain', { signal });
      if (state === 'removed') return `${name} was lost, and is listed no longer`;
      return `${name} is ${state}${running > 0 ? `, ${counted(running, 'task')} running` : ''}`;
    }
  }
}

/** The next priority in this direction. */
function stepFrom(priority: Priority, kind: 'raise' | 'lower'): Priority {
  const step = kind === 'raise' ? 1 : -1;
  return PRIORITIES[Math.max(0, Math.min(PRIORITIES.length - 1, PRIORITIES.indexOf(priority) + step))]!;
}
