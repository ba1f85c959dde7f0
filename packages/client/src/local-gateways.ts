import fs, { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '@goshawk/core';
import { clusterFileName, processStart, stateFolder } from './local-clusters.js';

/** An HTTP gateway that `goshawk dashboard` serves on this machine, for this user. */
export interface LocalGateway {
  /** URL of its cluster, as the gateway was given it. */
  readonly cluster: string;
  /** `http://HOST:PORT` */
  readonly url: string;
  /** Token with all rights; undefined if requests need none, or if the operator distributes tokens. */
  readonly token?: string | undefined;
  readonly pid: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Registers a gateway in the state home, where Python programs of this user find it. The latest one of a cluster counts. */
export function registerLocalGateway(gateway: LocalGateway, environment: Environment): void {
  const folder = folderOf(environment);
  makeFolder(fs, folder, 0o700);
  const file = fileOf(gateway.cluster, environment);
  rmSync(file, { force: true });
  writeFileSync(file, `${JSON.stringify({ ...gateway, birth: processStart(gateway.pid) })}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
}

/** Removes only the entry of this gateway: another one of the same cluster may have started since. */
export function unregisterLocalGateway({ cluster, pid }: LocalGateway, environment: Environment): void {
  const file = fileOf(cluster, environment);
  try {
    const registered = JSON.parse(readFileSync(file, 'utf8')) as LocalGateway;
    if (registered.pid === pid) rmSync(file, { force: true });
  } catch {
    // Somebody has removed it.
  }
}

function folderOf(environment: Environment): string {
  return join(stateFolder(environment), 'gateways');
}

function fileOf(cluster: string, environment: Environment): string {
  return join(folderOf(environment), `${clusterFileName(cluster)}.json`);
}
