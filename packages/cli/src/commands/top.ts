import { findCluster, openCluster } from '../cluster.js';
import { defineCommand } from '../command.js';
import { topPage } from '../jobs/top-page.js';
import { painter } from '../terminal/paint.js';
import { redrawing } from '../terminal/redrawing.js';

export const topCommand = defineCommand({
  name: 'top',
  describe: 'show alerts, waiting tasks with reasons, and delays by class, live (without a terminal: once)',
  examples: [['goshawk top', 'until Ctrl-C; `goshawk dashboard` shows more, in a browser']],
  options: {},
  async run(context) {
    const { ClusterWatch, Link } = await import('@goshawk/gateway');
    const found = await findCluster(context);
    await using cluster = await openCluster(context, { found });
    const watch = new ClusterWatch(new Link(async () => cluster), found.url);
    const stop = (): void => void watch.close();
    context.interrupted.addEventListener('abort', stop);
    const looked = watch.next();
    watch.look();
    watch.start();
    await looked;
    if (context.global.json) context.json(watch.overview);
    else if (context.stdout.isTTY !== true) context.out(topPage(watch, painter(context)));
    else {
      const draw = redrawing(context);
      for (; !context.interrupted.aborted; await watch.next()) draw(topPage(watch, painter(context)));
    }
    context.interrupted.removeEventListener('abort', stop);
    await watch.close();
  },
});
