import { type JournalReader, OfflineJournal } from './offline.js';
import { isJournalUrl } from './postgres/url.js';

export { type Backup, backUp, backupAgeOf, markBackedUp } from './backup.js';
export type { JournalCommitted } from './channels.js';
export type { Journal, JournalListener, JournalMetrics, Lineage } from './contract.js';
export { JournalError } from './errors.js';
export { claimFolder, type FolderClaim, isClaimed } from './folder-claim.js';
export { type Entry, GroupCommit, type Pace } from './group-commit.js';
export { type Identity, newIdentity, succeededBy } from './identity.js';
export { parseExport } from './import-lines.js';
export { openLmdbJournal } from './lmdb-journal.js';
export { exportLines, type JournalReader, type JournalSummary, summaryOf, verify } from './offline.js';
export { OUTPUT_LIMITS, OutputFolder, type OutputLimits } from './output/output-folder.js';
export type { PostgresJournals, SharedJournal } from './postgres/journals.js';
export { isJournalUrl, type JournalUrl, parseJournalUrl, shownJournalUrl } from './postgres/url.js';
export type { Damaged, Filed } from './reading.js';
export { decodeRecord } from './record-codec.js';
export { importJournal, repairJournal } from './repair.js';
export { ROOM_LIMITS, type RoomLimits } from './room.js';
export { type SentGroup, SentGroups } from './sent-groups.js';

/**
 * Opens the journals at a place; the caller closes them.
 *
 * @param place a journal's folder, or a URL of PostgreSQL with the journals of all schedulers
 * @param tag only the journal with this prefix of job ids
 * @throws JournalError
 */
export async function journalsAt(place: string, tag?: string): Promise<JournalReader[]> {
  if (!isJournalUrl(place)) return [await OfflineJournal.open(place)];
  return (await inPostgres()).storedJournals(place, tag);
}

/** PostgreSQL journals, loaded on demand. */
export const inPostgres = () => import('./postgres/index.js');
