/** The subset of `node:fs` used here; this package may not import it. */
interface FileSystem {
  readFileSync(path: string, encoding: 'utf8'): string;
}

/** Limits of control groups; Infinity for a resource without a limit. */
interface CgroupLimits {
  readonly cpus: number;
  /** In bytes. */
  readonly memory: number;
}

/**
 * Returns the limits of the control groups of this process and of those that contain them.
 */
export function cgroupLimits(system: FileSystem): CgroupLimits {
  const read = (path: string): string | undefined => {
    try {
      return system.readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  };
  let [cpus, memory] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const line of (read('/proc/self/cgroup') ?? '').split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    const isFirst = controllers !== '';
    const names = controllers.split(',');
    for (const folder of upwards(isFirst ? `/sys/fs/cgroup/${controllers}` : '/sys/fs/cgroup', path)) {
      if (!isFirst || names.includes('cpu')) cpus = Math.min(cpus, cpusIn(read, folder, isFirst));
      if (isFirst && !names.includes('memory')) continue;
      const file = isFirst ? 'memory.limit_in_bytes' : 'memory.max';
      const limit = Number.parseInt(read(`${folder}/${file}`) ?? '', 10);
      if (limit > 0) memory = Math.min(memory, limit);
    }
  }
  return { cpus, memory };
}

/** Returns the CPU quota of one control group. Version 1 has it in two files. */
function cpusIn(read: (path: string) => string | undefined, folder: string, isFirst: boolean): number {
  const [quota, period] = isFirst
    ? [read(`${folder}/cpu.cfs_quota_us`), read(`${folder}/cpu.cfs_period_us`)]
    : (read(`${folder}/cpu.max`) ?? '').split(' ');
  const cpus = Number.parseInt(quota ?? '', 10) / Number.parseInt(period ?? '', 10);
  return cpus > 0 ? cpus : Number.POSITIVE_INFINITY;
}

/** Returns the folder of a group and those that contain it. In a container, only the root may exist. */
function upwards(root: string, path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '..');
  return Array.from({ length: parts.length + 1 }, (_, left) =>
    [root, ...parts.slice(0, parts.length - left)].join('/'),
  );
}
