import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { endRecordedContainers } from './end-container.js';
import { GROUP_POLL_MS, LEFTOVERS_WAIT_MS } from './limits.js';
import {
  type GroupRecordContents,
  parseRecord,
  RECORD_VARIABLE,
  recordFolder,
  streamsFolder,
} from './process-groups.js';
import { bootId, isAlive, signal } from './process-identity.js';

/**
 * Kills the commands of workers that died together with their spawners, before the next attempts start. Records of
 * live workers, including other processes with this folder, stay.
 *
 * @returns the number of process groups that were still running
 */
export async function endLeftovers(dataFolder: string): Promise<number> {
  let ended = 0;
  for (const name of await recordNames(dataFolder)) {
    const file = join(recordFolder(dataFolder), name);
    const record = parseRecord(await readFile(file, 'latin1').catch(() => ''));
    if (record !== undefined && isAlive(record.worker) && record.boot === bootId()) continue;
    ended += await endRecorded(file);
  }
  return ended;
}

/**
 * Kills everything that a dead spawner left running, then removes its record.
 *
 * @returns the number of process groups that were still running
 */
export async function endRecorded(file: string): Promise<number> {
  const record = parseRecord(await readFile(file, 'latin1').catch(() => ''));
  let groups = 0;
  // After a reboot, the recorded pids belong to other processes.
  if (record !== undefined && record.boot === bootId()) {
    // The spawner of a dead worker ends automatically. Kill it now, so that it starts nothing more.
    if (isAlive(record.spawner)) signal(record.spawner.pid, 'SIGKILL');
    groups = record.groups.filter(isVerifiablyAlive).length;
    await endUntilGone(record, recordIdOf(file));
  }
  await rm(streamsFolder(file), { recursive: true, force: true });
  // If the engine does not answer, the next start tries again.
  if (await endRecordedContainers(file, recordIdOf(file))) await rm(file, { force: true });
  return groups;
}

/**
 * Repeats until nothing is found, because a process may fork before it is killed. Searches the recorded groups, and the
 * environments of processes that left their group, outlived its leader or were never recorded.
 */
async function endUntilGone(record: GroupRecordContents, recordId: string): Promise<void> {
  const deadline = performance.now() + LEFTOVERS_WAIT_MS;
  for (;;) {
    const groups = record.groups.filter(isVerifiablyAlive);
    for (const { pid } of groups) signal(-pid, 'SIGKILL');
    const marked = await processesOfRecord(recordId);
    for (const pid of marked) signal(pid, 'SIGKILL');
    if ((groups.length === 0 && marked.length === 0) || performance.now() > deadline) return;
    await delay(GROUP_POLL_MS);
  }
}

/** Without a start time (no /proc), the pid may belong to another process, so nothing is killed. */
function isVerifiablyAlive(leader: { pid: number; start: number }): boolean {
  return leader.start !== 0 && isAlive(leader);
}

async function processesOfRecord(recordId: string): Promise<number[]> {
  const entries = await readdir('/proc').catch(() => []);
  const marker = `${RECORD_VARIABLE}=${recordId}/`;
  const found: number[] = [];
  for (const entry of entries) {
    if (!/^\d+$/.test(entry)) continue;
    // The process belongs to another user or is gone. An ended process has no environment.
    const environment = await readFile(`/proc/${entry}/environ`, 'latin1').catch(() => '');
    if (environment.startsWith(marker) || environment.includes(`\0${marker}`)) found.push(Number(entry));
  }
  return found;
}

async function recordNames(dataFolder: string): Promise<string[]> {
  const names = await readdir(recordFolder(dataFolder)).catch(() => []);
  return names.filter((name) => name.endsWith('.txt'));
}

function recordIdOf(file: string): string {
  return file.slice(file.lastIndexOf('/') + 1, -'.txt'.length);
}
