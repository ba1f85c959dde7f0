import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** A cluster that `goshawk up` runs on this machine, for this user. */
export interface LocalCluster {
  readonly url: string;
  /** The folder of its keys; undefined where it has none. Who may not read it cannot connect. */
  readonly keys?: string | undefined;
  /** Of the process that runs it. */
  readonly pid: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** One that is started leaves word, so that whoever talks to it need not be told of its keys. */
export function leaveWord(cluster: LocalCluster, environment: Environment): void {
  for (const file of [latestFile(environment), fileOf(cluster.url, environment)]) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(cluster)}\n`);
  }
}

/** Only its own: another cluster may have been started since. */
export function takeWordBack({ url, pid }: LocalCluster, environment: Environment): void {
  for (const file of [latestFile(environment), fileOf(url, environment)]) {
    if (read(file)?.pid === pid) rmSync(file, { force: true });
  }
}

/** The one that was started last, if it runs. */
export function latestLocalCluster(environment: Environment): LocalCluster | undefined {
  return running(read(latestFile(environment)));
}

/** The one that runs at this URL, if one does; of several URLs, as `connect` takes them, the first that is known. */
export function localClusterAt(urls: string, environment: Environment): LocalCluster | undefined {
  for (const url of urls.split(',')) {
    const cluster = running(read(fileOf(url.trim(), environment)));
    if (cluster !== undefined) return cluster;
  }
  return undefined;
}

function stateFolder(environment: Environment): string {
  return join(environment.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'goshawk');
}

function latestFile(environment: Environment): string {
  return join(stateFolder(environment), 'cluster.json');
}

function fileOf(url: string, environment: Environment): string {
  const name = url.replace('//localhost:', '//127.0.0.1:').replaceAll(/[^\w.-]+/g, '_');
  return join(stateFolder(environment), 'clusters', `${name}.json`);
}

function read(file: string): LocalCluster | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as LocalCluster;
  } catch {
    return undefined;
  }
}

function running(cluster: LocalCluster | undefined): LocalCluster | undefined {
  return cluster !== undefined && isAlive(cluster.pid) ? cluster : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
