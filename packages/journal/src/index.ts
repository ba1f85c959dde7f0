export type { Journal, JournalListener, JournalMetrics, JournalState } from './contract.js';
export { JournalError } from './errors.js';
export { type LmdbJournalOptions, openLmdbJournal } from './lmdb-journal.js';
export { MemoryDisk, type MemoryJournalOptions, openMemoryJournal } from './memory-journal.js';
export { type Damaged, type JournalSummary, OfflineJournal } from './offline.js';
export { ROOM_LIMITS, type RoomLimits } from './room.js';
