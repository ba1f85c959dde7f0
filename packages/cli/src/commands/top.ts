import { defineCommand, painter, redrawing } from '@goshawk/command';
import { findCluster, openCluster } from '@goshawk/command/cluster';
import { runTop } from '../jobs/run-top.js';
import { topPage } from '../jobs/top-page.js';

export const topCommand = defineCommand({
  name: 'top',
  describe:
    'show and control the cluster live: overview, jobs, workers, users, and reasons for waiting; prints once if stdout is not a terminal',
  examples: [['goshawk top', 'show the cluster until you press q; ? lists the keys']],
  options: {},
  async run(context) {
    const { ClusterWatch, Link } = await import('@goshawk/gateway');
    const found = await findCluster(context);
    await using cluster = await openCluster(context, { found });
    const watch = new ClusterWatch(new Link(async () => cluster), found.url, { samples: true });
    const stop = (): void => void watch.close();
    context.interrupted.addEventListener('abort', stop);
    if (context.global.json || context.stdout.isTTY !== true) {
      await watch.once();
      if (context.global.json) context.json(watch.overview);
      else context.out(topPage(watch, painter(context)));
    } else {
      const looked = watch.next();
      watch.pollFaster();
      watch.start();
      await looked;
      if (process.stdin.isTTY) await runTop(context, cluster, watch);
      else {
        const draw = redrawing(context);
        for (; !context.interrupted.aborted; await watch.next()) draw(topPage(watch, painter(context)));
      }
    }
    context.interrupted.removeEventListener('abort', stop);
    await watch.close();
  },
});
