import { statusBytes } from './proc.js';

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

type Read = (path: string) => string | undefined;

/**
 * Returns the limits of the control groups of this process and of those that contain them.
 */
export function cgroupLimits(system: FileSystem): CgroupLimits {
  const read = reading(system);
  let [cpus, memory] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const { folder, isFirst, controls } of groupsOf(read)) {
    if (controls('cpu')) cpus = Math.min(cpus, cpusIn(read, folder, isFirst));
    if (controls('memory')) memory = Math.min(memory, memoryLimitIn(read, folder, isFirst));
  }
  return { cpus, memory };
}

/** Memory in bytes that a limit allows, and what of it is available. */
export interface MemoryRoom {
  readonly limit: number;
  readonly available: number;
}

/**
 * Returns the memory of the machine (`/proc/meminfo`), and of each control group that limits the memory of this process.
 * Files in a cache that the kernel can drop count as available.
 */
export function memoryRooms(system: FileSystem): MemoryRoom[] {
  const read = reading(system);
  const rooms: MemoryRoom[] = [];
  const meminfo = read('/proc/meminfo') ?? '';
  const [limit, available] = ['MemTotal', 'MemAvailable'].map((name) => statusBytes(meminfo, name));
  if (limit !== undefined && available !== undefined) rooms.push({ limit, available });
  for (const { folder, isFirst, controls } of groupsOf(read)) {
    if (!controls('memory')) continue;
    const limit = memoryLimitIn(read, folder, isFirst);
    const used = Number.parseInt(
      read(`${folder}/${isFirst ? 'memory.usage_in_bytes' : 'memory.current'}`) ?? '',
      10,
    );
    if (!Number.isSafeInteger(limit) || Number.isNaN(used)) continue;
    const name = isFirst ? 'total_inactive_file' : 'inactive_file';
    const [, droppable] = new RegExp(`^${name} (\\d+)$`, 'm').exec(read(`${folder}/memory.stat`) ?? '') ?? [];
    rooms.push({ limit, available: Math.max(0, limit - used + Number(droppable ?? 0)) });
  }
  return rooms;
}

function reading(system: FileSystem): Read {
  return (path) => {
    try {
      return system.readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  };
}

interface Group {
  readonly folder: string;
  /** Whether it is of version 1. */
  readonly isFirst: boolean;
  controls(name: string): boolean;
}

/** Returns the control groups of this process and those that contain them. */
function groupsOf(read: Read): Group[] {
  return (read('/proc/self/cgroup') ?? '').split('\n').flatMap((line): Group[] => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) return [];
    const isFirst = controllers !== '';
    const names = controllers.split(',');
    const controls = (name: string): boolean => !isFirst || names.includes(name);
    const root = isFirst ? `/sys/fs/cgroup/${controllers}` : '/sys/fs/cgroup';
    return upwards(root, path).map((folder) => ({ folder, isFirst, controls }));
  });
}

/** Returns the limit in bytes; Infinity if there is none. */
function memoryLimitIn(read: Read, folder: string, isFirst: boolean): number {
  const limit = Number.parseInt(
    read(`${folder}/${isFirst ? 'memory.limit_in_bytes' : 'memory.max'}`) ?? '',
    10,
  );
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}

/** Returns the CPU quota of one control group. Version 1 has it in two files. */
function cpusIn(read: Read, folder: string, isFirst: boolean): number {
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
