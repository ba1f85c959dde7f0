import type { LocalCluster } from '@goshawk/client';
import { type Column, defineCommand, painter, renderTable, wholeList } from '@goshawk/command';
import { ago } from '@goshawk/core';

export const clustersCommand = defineCommand({
  name: 'clusters',
  describe: 'list your clusters on this machine that were started with `goshawk up`',
  examples: [['goshawk clusters', 'also show which cluster commands in this folder use']],
  needsNoCluster: true,
  options: {},
  async run(context) {
    const { findLocalCluster, isHere, localClusterAt, localClusters } = await import('@goshawk/client');
    const clusters = localClusters(context.environment, context.cwd);
    // A setting such as GOSHAWK_CLUSTER takes precedence over the folder.
    const { cluster: set } = context.global;
    const isMeant = (cluster: LocalCluster): boolean => {
      try {
        const meant =
          set === undefined
            ? findLocalCluster(context.environment, context.cwd)
            : localClusterAt(set, context.environment, context.cwd);
        return meant?.url === cluster.url;
      } catch {
        // Several clusters run, so none is the default.
        return false;
      }
    };
    if (context.global.json) {
      const shown = clusters.map((cluster) => ({
        cluster: cluster.url,
        dataFolder: cluster.dataFolder ?? null,
        keys: cluster.keys ?? null,
        pid: cluster.pid,
        startedAt: cluster.startedAt === undefined ? null : new Date(cluster.startedAt).toISOString(),
        here: isHere(cluster, context.cwd),
      }));
      context.json({ schema: 'goshawk.clusters/1', clusters: shown, ...wholeList(shown) });
      return;
    }
    if (clusters.length === 0) context.note('no cluster is running on this machine; `goshawk up` starts one');
    else {
      const started = ({ startedAt }: LocalCluster) =>
        startedAt === undefined ? '' : ago(Date.now() - startedAt);
      const meant = (cluster: LocalCluster) =>
        isMeant(cluster) ? 'commands in this folder use this cluster' : '';
      const columns: readonly Column<LocalCluster>[] = [
        { title: 'cluster', of: ({ url }) => url },
        { title: 'data folder', of: ({ dataFolder = '' }) => dataFolder },
        { title: 'process', align: 'right', of: ({ pid }) => `${pid}` },
        { title: 'started', align: 'right', expendable: 1, of: started },
        { title: '', shrinkTo: 14, wraps: true, of: meant },
      ];
      context.out(renderTable(columns, clusters, painter(context)));
    }
  },
});
