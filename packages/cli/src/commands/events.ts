import type { Cluster, HappenedEvent } from '@goshawk/client';
import { type Context, defineCommand, plain } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import { eventTable, formatDuration } from '@goshawk/core';
import { localTime } from '../jobs/local-time.js';
import { repeatUntilInterrupted } from '../repeat-until-interrupted.js';

/** Interval between requests with `--follow`. ms */
const FOLLOW_MS = 1_000;

export const eventsCommand = defineCommand({
  name: 'events',
  describe:
    'list what happened to the cluster: members lost and back, quarantines, drains, takeovers, changes of settings',
  examples: [
    ['goshawk events --since 2h', 'list the events of the last two hours'],
    ['goshawk events --follow', 'list the events of the last day, and print those that follow'],
  ],
  options: {
    since: {
      type: 'duration',
      setting: false,
      default: '1d',
      describe: 'how far back; central keeps events for seven days',
    },
    follow: { type: 'flag', setting: false, describe: 'continue until Ctrl-C' },
  },
  async run(context, { since, follow }) {
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    const sinceMs = Date.now() - since;
    const show = (event: HappenedEvent): void => showEvent(context, event);
    const first = await cluster.events({ sinceMs, signal });
    if (first.since > sinceMs && !context.global.json)
      context.note(
        `older events are not known: the record begins ${formatDuration(Math.max(0, Date.now() - first.since))} ago`,
      );
    first.events.forEach(show);
    if (follow) await followEvents(context, cluster, first.next, show);
    else if (first.events.length === 0 && !context.global.json) context.note('no events');
  },
});

async function followEvents(
  context: Context,
  cluster: Cluster,
  from: number,
  show: (event: HappenedEvent) => void,
): Promise<void> {
  let after = from;
  await repeatUntilInterrupted(context, FOLLOW_MS, async () => {
    const { events, next } = await cluster.events({ after, signal: context.interrupted });
    events.forEach(show);
    after = next;
  });
}

function showEvent(context: Context, event: HappenedEvent): void {
  if (context.global.json) context.json({ schema: 'goshawk.event/1', ...eventTable.json(event, undefined) });
  else context.out(`${localTime(event.at)}  ${plain(event.text)}`);
}
