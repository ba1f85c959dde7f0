import fs, {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { InputError, makeFolder, parseProcessStat, UnreachableError, untrustedAt } from '@goshawk/core';

/** A cluster that `goshawk up` runs on this machine, for this user. */
export interface LocalCluster {
  readonly url: string;
  /** Folder of its keys; undefined without keys. A user who cannot read it cannot connect. */
  readonly keys?: string | undefined;
  /** Process that runs it. */
  readonly pid: number;
  /** Absolute path. */
  readonly dataFolder?: string | undefined;
  /** Address of its web page with the token, if it has one. */
  readonly page?: string | undefined;
  /** Wall clock, ms since 1970. */
  readonly startedAt?: number | undefined;
}

/** Start time of the process, because its pid may be reused after its end or a reboot. */
type Registered = LocalCluster & { readonly birth?: string | undefined };

type Environment = Readonly<Record<string, string | undefined>>;

/** A file in the data folder of a cluster, so that commands started there find it regardless of their state home. */
const IN_DATA_FOLDER = 'cluster.json';

/**
 * Registers a started cluster's URL and keys in its data folder and in the state home, so that clients of this user find both. A
 * data folder has one cluster: entries of a killed one are removed.
 */
export function registerLocalCluster(cluster: LocalCluster, environment: Environment): void {
  const registered: Registered = { ...cluster, birth: processStart(cluster.pid) };
  const text = `${JSON.stringify(registered)}\n`;
  if (cluster.dataFolder !== undefined) {
    const file = join(cluster.dataFolder, IN_DATA_FOLDER);
    rmSync(file, { force: true });
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  }
  const folder = folderOf(environment);
  // Root may have the HOME of another user, who could have put links there.
  const untrusted = untrustedAt(fs, resolve(folder), uid());
  if (untrusted !== undefined) throw new Error(untrusted);
  makeFolder(fs, folder, 0o700);
  for (const name of cluster.dataFolder === undefined ? [] : filesIn(folder)) {
    const file = join(folder, name);
    if (read(file)?.dataFolder === cluster.dataFolder) rmSync(file, { force: true });
  }
  const file = fileOf(cluster.url, environment);
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
}

/** Removes only the entry of this cluster: another one may have been started at the same place. */
export function unregisterLocalCluster(
  { url, pid, dataFolder }: LocalCluster,
  environment: Environment,
): void {
  const inData = dataFolder === undefined ? [] : [join(dataFolder, IN_DATA_FOLDER)];
  for (const file of [fileOf(url, environment), ...inData])
    if (read(file)?.pid === pid) rmSync(file, { force: true });
}

/** Returns running clusters that are registered in the state home, or have their data in `here`; oldest first. */
export function localClusters(environment: Environment, here?: string): LocalCluster[] {
  const folder = folderOf(environment);
  const clusters = here === undefined ? [] : clustersIn(here);
  for (const name of filesIn(folder)) {
    const cluster = found(read(join(folder, name)));
    if (cluster === undefined) continue;
    if (!clusters.some(({ pid, url }) => pid === cluster.pid && url === cluster.url)) clusters.push(cluster);
  }
  return clusters.sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0) || (a.url < b.url ? -1 : 1));
}

/** Returns whether its data folder is this folder or is directly inside it. */
export function isHere({ dataFolder }: LocalCluster, folder: string): boolean {
  if (dataFolder === undefined) return false;
  const [data, here] = [realPath(dataFolder), realPath(folder)];
  return data === here || dirname(data) === here;
}

/**
 * Returns the default cluster: the one whose data folder is here; else the only one that runs.
 *
 * @param folder working folder of the caller
 * @throws UnreachableError `no-cluster` if none runs; InputError `several-clusters`, which lists them
 */
export function findLocalCluster(environment: Environment, folder: string): LocalCluster {
  const all = localClusters(environment, folder);
  const here = all.filter((cluster) => isHere(cluster, folder));
  const candidates = here.length > 0 ? here : all;
  const [found, other] = candidates;
  if (found === undefined) {
    const ignored = ignoredIn(folder);
    throw new UnreachableError(
      'no-cluster',
      `no cluster is running on this machine${ignored === undefined ? '' : `; ${ignored}`}`,
      'start one with `goshawk up`, or pass an address with --cluster or GOSHAWK_CLUSTER',
    );
  }
  if (other === undefined) return found;
  const which =
    here.length > 0 ? 'have their data in this folder' : 'run on this machine, none from this folder';
  const list = candidates.map(({ url, dataFolder }) =>
    dataFolder === undefined ? url : `${url} (${dataFolder})`,
  );
  throw new InputError(
    'several-clusters',
    `${candidates.length} clusters ${which}: ${list.join(', ')}`,
    'choose one with --cluster or GOSHAWK_CLUSTER; `goshawk clusters` lists them',
  );
}

/**
 * Returns the running cluster at this URL; of several URLs, as `connect` accepts them, the first known one.
 *
 * @param folder working folder of the caller
 */
export function localClusterAt(
  urls: string,
  environment: Environment,
  folder: string,
): LocalCluster | undefined {
  const given = urls.split(',').map((url) => url.trim());
  const registered = given.flatMap((url) => found(read(fileOf(url, environment))) ?? [])[0];
  if (registered !== undefined && !hasMoved(registered)) return registered;
  const here = clustersIn(folder).find((cluster) =>
    given.some((url) => clusterFileName(url) === clusterFileName(cluster.url)),
  );
  return here ?? registered;
}

/** Returns running clusters with their data in this folder, or in a folder inside it. */
function clustersIn(folder: string): LocalCluster[] {
  const folders = [folder, ...foldersIn(folder)];
  return folders.flatMap((each) => {
    const file = join(each, IN_DATA_FOLDER);
    const cluster = running(read(file));
    return cluster === undefined ? [] : [whereItIs(cluster, each)];
  });
}

/** Says which record in this folder, or in a folder inside it, is ignored and why. */
function ignoredIn(folder: string): string | undefined {
  for (const each of [folder, ...foldersIn(folder)]) {
    const file = join(each, IN_DATA_FOLDER);
    const untrusted = existsSync(file) ? untrustedOf(file) : undefined;
    if (untrusted !== undefined) return `${file} is ignored because ${untrusted}`;
  }
  return undefined;
}

/** Returns a cluster with its present paths, if its data folder was renamed while it runs. */
function whereItIs(cluster: LocalCluster, folder: string): LocalCluster {
  if (!hasMoved(cluster)) return cluster;
  const { dataFolder = '', keys } = cluster;
  const isInside = keys?.startsWith(`${dataFolder}/`) === true;
  return { ...cluster, dataFolder: folder, keys: isInside ? folder + keys.slice(dataFolder.length) : keys };
}

/** Returns a running cluster, with its present paths if its data folder is still in the folder of its process. */
function found(registered: Registered | undefined): LocalCluster | undefined {
  const cluster = running(registered);
  if (cluster === undefined || !hasMoved(cluster)) return cluster;
  const processFolder = realPath(`/proc/${cluster.pid}/cwd`);
  return clustersIn(processFolder).find(({ pid }) => pid === cluster.pid) ?? cluster;
}

function hasMoved({ dataFolder }: LocalCluster): boolean {
  return dataFolder !== undefined && !existsSync(dataFolder);
}

/** Says how another user could have written a record, and so could redirect the caller to a cluster of theirs. */
function untrustedOf(file: string): string | undefined {
  return untrustedAt(fs, resolve(file), uid(), 'caller');
}

function uid(): number | undefined {
  return process.geteuid?.();
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.flatMap((entry) =>
      entry.isDirectory() || entry.isSymbolicLink() ? [join(folder, entry.name)] : [],
    );
  } catch {
    return [];
  }
}

function folderOf(environment: Environment): string {
  return join(stateFolder(environment), 'clusters');
}

/** Folder of this user for what running processes register. */
export function stateFolder(environment: Environment): string {
  return join(environment.XDG_STATE_HOME || join(homeFolder(), '.local', 'state'), 'goshawk');
}

/** Without HOME, a user id that has no account, as in many containers, has no home folder. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}

function fileOf(url: string, environment: Environment): string {
  return join(folderOf(environment), `${clusterFileName(url)}.json`);
}

/** Returns the name under which files about a cluster are kept. */
export function clusterFileName(url: string): string {
  return url.replace('//localhost:', '//127.0.0.1:').replaceAll(/[^\w.-]+/g, '_');
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    // No cluster was ever started.
    return [];
  }
}

/** @returns undefined if there is none, or another user may have written it */
function read(file: string): Registered | undefined {
  try {
    if (!statSync(file).isFile() || untrustedOf(file) !== undefined) return undefined;
    return JSON.parse(readFileSync(file, 'utf8')) as Registered;
  } catch {
    return undefined;
  }
}

/** Resolves links; returns the path unchanged if the folder is gone. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function running(registered: Registered | undefined): LocalCluster | undefined {
  if (registered === undefined) return undefined;
  const { birth, ...cluster } = registered;
  const isSame = birth === undefined || birth === processStart(cluster.pid);
  return isSame && isOwnProcess(cluster.pid) ? cluster : undefined;
}

/** Returns a value that together with the pid identifies a process; undefined if the system does not tell. */
export function processStart(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).start}`;
  } catch {
    return undefined;
  }
}

/** Returns whether a process of the caller has this id. A record of one that has ended may name a process of another user. */
function isOwnProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // Root may signal every process.
    return process.platform !== 'linux' || statSync(`/proc/${pid}`).uid === uid();
  } catch {
    return false;
  }
}
