import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { sumOf } from '@goshawk/core';

/**
 * Reads lmdb's file as bytes, without its native code, which crashes on a damaged page. Nothing is mapped or written,
 * each page is visited once, and damage is reported. The layout is that of lmdb 1.0 as lmdb-js has it (`mdb.c`:
 * MDB_page_header, MDB_meta, MDB_db, MDB_node).
 */
export class LmdbFile {
  /** Size of a page. Bytes. */
  readonly pageSize: number;
  /** The snapshot that lmdb would open. */
  readonly meta: Meta;
  /** The snapshot before it, whose pages have not been reused. */
  readonly previous: Meta;
  readonly #file: number;
  readonly #size: number;
  /** Pages visited so far, to detect shared pages and cycles. */
  readonly #seen: Uint8Array;
  #free: ReadonlySet<number> | undefined;

  private constructor(file: number, size: number, metas: readonly Meta[]) {
    this.#file = file;
    this.#size = size;
    const [first, second] = metas as [Meta, Meta];
    [this.meta, this.previous] = first.transaction >= second.transaction ? [first, second] : [second, first];
    this.pageSize = this.meta.pageSize;
    this.#seen = new Uint8Array(Math.min(this.meta.lastPage + 1, this.pageCount));
  }

  /** @throws DamagedFileError if it is not a file of lmdb, or is truncated */
  static open(path: string): LmdbFile {
    const file = openSync(path, 'r');
    try {
      const size = fstatSync(file).size;
      return new LmdbFile(file, size, readMetas(file, size));
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  /** Number of complete pages. */
  get pageCount(): number {
    return Math.floor(this.#size / this.pageSize);
  }

  get bytes(): number {
    return this.#size;
  }

  /** Size of the pages that the trees reached in the last read. */
  get usedBytes(): number {
    return sumOf(this.#seen) * this.pageSize;
  }

  /** Returns the latest transaction in the file now. */
  latestTransaction(): number {
    const [first, second] = readMetas(this.#file, this.#size) as [Meta, Meta];
    return Math.max(first.transaction, second.transaction);
  }

  /**
   * Validates every page that lmdb may ever follow: trees, values of several pages, and the list of free pages.
   *
   * @returns the number of entries of each tree
   * @throws DamagedFileError for the first fault
   */
  check(): ReadonlyMap<string, number> {
    const fail: OnDamage = (problem) => {
      throw new DamagedFileError(problem);
    };
    const { lastPage } = this.meta;
    if (lastPage >= this.pageCount)
      fail(`it has ${this.#size} bytes but should have ${(lastPage + 1) * this.pageSize}`);
    const counts = new Map<string, number>();
    for (const [tree] of this.#all(fail, this.meta)) counts.set(tree, (counts.get(tree) ?? 0) + 1);
    for (const block of this.#freeBlocks(fail)) this.#mark(block);
    return counts;
  }

  /**
   * Yields the entries of all trees, each in order, and skips damaged parts.
   *
   * @param onDamage called with each skipped part
   */
  *entries(onDamage: OnDamage, meta: Meta = this.meta): Iterable<Entry> {
    for (const [tree, { key, value }] of this.#all(onDamage, meta)) yield { tree, key, value: value() };
  }

  /** Like `entries`, but reads values on demand, because together they may have gigabytes. */
  *#all(onDamage: OnDamage, { main }: Meta): Iterable<readonly [tree: string, leaf: Leaf]> {
    this.#seen.fill(0);
    const trees: [name: string, tree: Tree][] = [];
    for (const { key, isTree, value } of this.#leaves(main, onDamage)) {
      if (isTree) trees.push([nameOf(key), treeAt(value(), 0)]);
      else onDamage('a tree has no root');
    }
    for (const [name, tree] of trees) {
      for (const leaf of this.#leaves(tree, onDamage)) yield [name, leaf];
    }
  }

  /** Returns whether the list of free pages is readable. Call it after `entries`. */
  knowsFreePages(): boolean {
    this.#free ??= this.#freePages();
    return this.#free !== undefined;
  }

  /**
   * Yields the entries of leaf pages that are in use but that no tree leads to, in file order: the remains of trees
   * whose upper pages are lost. If the free pages are unknown, only pages of the last transaction are considered.
   * Call it after `entries`.
   */
  *stray(): Iterable<Omit<Entry, 'tree'>> {
    const knowsFree = this.knowsFreePages();
    const strays = (page: number): readonly Leaf[] => {
      const bytes = this.#page(page);
      const isInUse = knowsFree || number64(bytes, 8) === this.meta.transaction;
      return isInUse && bytes.readUInt16LE(FLAGS) === LEAF ? this.#leavesIn(page, bytes) : [];
    };
    for (let page = META_PAGES; page < this.#seen.length; page++) {
      if (this.#seen[page] !== 0 || this.#free?.has(page)) continue;
      for (const { key, isTree, value } of sound(() => strays(page)) ?? []) {
        const bytes = isTree ? undefined : sound(value);
        if (bytes !== undefined) yield { key, value: bytes };
      }
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Yields leaves in order of keys, and skips unsound pages and subtrees. */
  *#leaves(tree: Tree, onDamage: OnDamage): Iterable<Leaf> {
    const counted = { branches: 0, leaves: 0, overflow: 0, entries: 0 };
    let isWhole = true;
    const damaged: OnDamage = (problem) => {
      isWhole = false;
      onDamage(problem);
    };
    const stack: Step[] =
      tree.root === NO_PAGE ? [] : [{ page: tree.root, depth: 1, from: undefined, to: undefined }];
    for (let step = stack.pop(); step !== undefined; step = stack.pop()) {
      const at = step;
      if (at.depth !== tree.depth) {
        const steps = sound(() => this.#below(at, tree), damaged);
        if (steps === undefined) continue;
        counted.branches++;
        stack.push(...steps.reverse());
        continue;
      }
      const leaves = sound(() => this.#take(at, tree, (page, bytes) => this.#leavesIn(page, bytes)), damaged);
      if (leaves === undefined) continue;
      counted.leaves++;
      for (const leaf of leaves) {
        const pages = sound(() => this.#takeOverflow(leaf), damaged);
        if (pages === undefined) continue;
        counted.overflow += pages;
        counted.entries++;
        yield leaf;
      }
    }
    const agrees = (Object.keys(counted) as (keyof typeof counted)[]).every(
      (what) => counted[what] === tree[what],
    );
    if (isWhole && !agrees) onDamage(`a tree has ${counted.entries} entries but should have ${tree.entries}`);
  }

  /** Returns the pages that a branch page points to. */
  #below(step: Step, tree: Tree): Step[] {
    const branches = this.#take(step, tree, (page, bytes) => this.#branchesIn(page, bytes));
    return branches.map(({ child, key }, i) => ({
      page: child,
      depth: step.depth + 1,
      from: i === 0 ? step.from : key,
      to: branches[i + 1]?.key ?? step.to,
    }));
  }

  /** Returns the nodes of a page, which must be visited only once. */
  #take<N extends Node>(step: Step, tree: Tree, nodesIn: (page: number, bytes: Buffer) => readonly N[]) {
    const { page, depth } = step;
    this.#mark({ page, pages: 1 });
    const nodes = nodesIn(page, this.#page(page));
    checkOrder(step, nodes, depth === tree.depth, tree.hasIntegerKeys);
    return nodes;
  }

  /** @returns the number of overflow pages of a value */
  #takeOverflow({ overflow, size }: Leaf): number {
    if (overflow === undefined) return 0;
    const { page, pages } = overflow;
    if (pages !== pagesOf(size, this.pageSize)) throw damage(page, 'has a value of the wrong size');
    this.#mark(overflow);
    // Bytes after the header are ignored.
    const head = this.#checked(page, this.#read(page * this.pageSize, HEADER));
    if (head.readUInt16LE(FLAGS) !== OVERFLOW) throw damage(page, 'has no value');
    if (head.readUInt32LE(LOWER) !== pages) throw damage(page, 'has a value of the wrong size');
    return pages;
  }

  #mark({ page, pages }: Block): void {
    if (page < META_PAGES || page + pages > this.#seen.length) throw damage(page, 'is not in the file');
    for (let at = page; at < page + pages; at++) {
      if (this.#seen[at] !== 0) throw damage(at, 'is used twice');
      this.#seen[at] = 1;
    }
  }

  #branchesIn(page: number, bytes: Buffer): Branch[] {
    return this.#nodesIn(page, bytes, BRANCH, (at, key) => ({
      key,
      bytes: NODE + key.length,
      // The flags of a branch are the upper part of its page number.
      child: bytes.readUInt32LE(at) + bytes.readUInt16LE(at + 4) * 2 ** 32,
    }));
  }

  #leavesIn(page: number, bytes: Buffer): Leaf[] {
    return this.#nodesIn(page, bytes, LEAF, (at, key) => {
      const size = bytes.readUInt32LE(at);
      const flags = bytes.readUInt16LE(at + 4);
      if (flags !== 0 && flags !== BIG && flags !== SUB_TREE)
        throw damage(page, 'has an entry of an unknown kind');
      const valueAt = at + NODE + key.length;
      const inPage = flags === BIG ? OVERFLOW_REFERENCE : size;
      if (valueAt + inPage > this.pageSize || (flags === SUB_TREE && size !== TREE))
        throw damage(page, 'has an entry outside of it');
      const overflow =
        flags === BIG ? { page: number64(bytes, valueAt), pages: number64(bytes, valueAt + 16) } : undefined;
      return {
        key,
        bytes: NODE + key.length + inPage,
        isTree: flags === SUB_TREE,
        size,
        overflow,
        value: () =>
          overflow === undefined
            ? bytes.subarray(valueAt, valueAt + size)
            : this.#overflowValue(overflow.page, size),
      };
    });
  }

  /**
   * @param nodeAt reads a node that begins at this byte of the page, with this key
   * @throws DamagedFileError for a page of another kind
   */
  #nodesIn<N extends Node>(
    page: number,
    bytes: Buffer,
    kind: number,
    nodeAt: (at: number, key: Buffer) => N,
  ): N[] {
    if (bytes.readUInt16LE(FLAGS) !== kind) throw damage(page, 'is of an unexpected kind');
    const room = this.pageSize - HEADER;
    const lower = bytes.readUInt16LE(LOWER);
    const upper = bytes.readUInt16LE(UPPER);
    if (lower % 2 !== 0 || lower > upper || upper > room || lower < (kind === LEAF ? 2 : 4))
      throw damage(page, 'has impossible bounds');
    const nodes: N[] = [];
    const spans: [at: number, size: number][] = [];
    for (let i = 0; i < lower / 2; i++) {
      const at = bytes.readUInt16LE(HEADER + 2 * i);
      if (at < upper || at + NODE > room) throw damage(page, 'has an entry outside of it');
      const keyAt = HEADER + at + NODE;
      const keyEnd = keyAt + bytes.readUInt16LE(HEADER + at + 6);
      if (keyEnd > this.pageSize) throw damage(page, 'has an entry outside of it');
      const node = nodeAt(HEADER + at, bytes.subarray(keyAt, keyEnd));
      spans.push([at, node.bytes + (node.bytes & 1)]);
      nodes.push(node);
    }
    // Entries are contiguous up to the end of the page.
    let end = upper;
    for (const [at, size] of spans.sort(([a], [b]) => a - b)) {
      if (at !== end) throw damage(page, 'has entries that overlap');
      end += size;
    }
    if (end !== room) throw damage(page, 'has entries that overlap');
    return nodes;
  }

  #overflowValue(page: number, size: number): Buffer {
    const at = page * this.pageSize + HEADER;
    if (at + size > this.#size) throw damage(page, 'is not in the file');
    return this.#read(at, size);
  }

  /** Returns undefined if the free pages are unknown. */
  #freePages(): ReadonlySet<number> | undefined {
    let isWhole = true;
    const free = new Set<number>();
    const blocks = this.#freeBlocks(() => {
      isWhole = false;
    });
    for (const { page, pages } of blocks) {
      for (let at = page; at < Math.min(page + pages, this.#seen.length); at++) free.add(at);
    }
    return isWhole ? free : undefined;
  }

  *#freeBlocks(onDamage: OnDamage): Iterable<Block> {
    for (const { key, value } of this.#leaves(this.meta.free, onDamage)) {
      if (key.length !== 8 || number64(key, 0) > this.meta.transaction) onDamage(FREE_LIST_DAMAGED);
      yield* blocksIn(value(), onDamage);
    }
  }

  /**
   * @throws DamagedFileError for a page that is missing, names another page number, or belongs to a later transaction
   */
  #page(page: number): Buffer {
    if (page < META_PAGES || page >= this.#seen.length) throw damage(page, 'is not in the file');
    return this.#checked(page, this.#read(page * this.pageSize, this.pageSize));
  }

  #checked(page: number, bytes: Buffer): Buffer {
    if (number64(bytes, 0) !== page) throw damage(page, 'is misplaced, or was never written');
    if (number64(bytes, 8) > this.meta.transaction) throw damage(page, 'is newer than the file');
    return bytes;
  }

  /** Bytes beyond the end of the file are zero. */
  #read(at: number, size: number): Buffer {
    const bytes = Buffer.alloc(size);
    readSync(this.#file, bytes, 0, size, at);
    return bytes;
  }
}

/** Damage of a file, worded to follow "the journal is damaged: ". */
export class DamagedFileError extends Error {
  override name = 'DamagedFileError';
}

type OnDamage = (problem: string) => void;

/** Returns the result of `read`; undefined after reporting damage. */
function sound<T>(read: () => T, onDamage: OnDamage = () => {}): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DamagedFileError)) throw error;
    onDamage(error.message);
    return undefined;
  }
}

/** One of the first two pages: the state after one transaction. */
interface Meta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: number;
  readonly free: Tree;
  readonly main: Tree;
}

/** An entry under a key of one of the trees. */
export interface Entry {
  readonly tree: string;
  readonly key: Buffer;
  readonly value: Buffer;
}

interface Tree {
  readonly hasIntegerKeys: boolean;
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflow: number;
  readonly entries: number;
  readonly root: number;
}

/** A contiguous block of pages. */
interface Block {
  readonly page: number;
  readonly pages: number;
}

interface Node {
  readonly key: Buffer;
  /** Size of the whole node in its page. */
  readonly bytes: number;
}

interface Branch extends Node {
  readonly child: number;
}

interface Leaf extends Node {
  readonly isTree: boolean;
  /** Size of the value. Bytes. */
  readonly size: number;
  /** Overflow pages of a value that is too large for a page of its tree. */
  readonly overflow: Block | undefined;
  readonly value: () => Buffer;
}

/** A page to visit, with the range that its keys must lie in. */
interface Step {
  readonly page: number;
  readonly depth: number;
  readonly from: Buffer | undefined;
  readonly to: Buffer | undefined;
}

const META_PAGES = 2;
/** Offsets in a page header, after page number, transaction and padding. */
const FLAGS = 18;
const LOWER = 20;
const UPPER = 22;
const HEADER = 24;
const NODE = 8;
const TREE = 48;
const OVERFLOW_REFERENCE = 24;
const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
const META = 8;
const BIG = 1;
const SUB_TREE = 2;
const INTEGER_KEYS = 8;
/** An impossible page number; lmdb writes all ones for an empty tree. */
const NO_PAGE = Number(0xffff_ffff_ffff_ffffn);

const MAGIC = 0xbeef_c0de;
const VERSION = 2;
const META_BYTES = 168;
const PAGE_SIZES = [4_096, 8_192, 16_384, 32_768, 65_536];

const FREE_LIST_DAMAGED = 'the list of free pages is damaged';

function readMetas(file: number, size: number): readonly Meta[] {
  const first = metaAt(file, 0, size, 'it is not an LMDB file');
  const second = metaAt(file, first.pageSize, size, 'its second page is damaged');
  if (second.pageSize !== first.pageSize)
    throw new DamagedFileError('its first two pages contradict each other');
  // Transactions write the two in turn, even ones the first; a copy begins with the second.
  const isPair = Math.abs(first.transaction - second.transaction) === 1 || first.transaction === 0;
  const isInTurn = first.transaction % 2 === 0 && (second.transaction % 2 === 1 || second.transaction === 0);
  if (!isPair || !isInTurn) throw new DamagedFileError('its first two pages contradict each other');
  return [first, second];
}

function metaAt(file: number, at: number, size: number, problem: string): Meta {
  const bytes = Buffer.alloc(META_BYTES);
  if (at + META_BYTES > size || readSync(file, bytes, 0, META_BYTES, at) < META_BYTES)
    throw new DamagedFileError(problem);
  const pageSize = bytes.readUInt32LE(48);
  const isMeta =
    bytes.readUInt16LE(FLAGS) === META &&
    bytes.readUInt32LE(24) === MAGIC &&
    (bytes.readUInt32LE(28) & 0xffff) === VERSION &&
    PAGE_SIZES.includes(pageSize);
  if (!isMeta) throw new DamagedFileError(problem);
  const lastPage = number64(bytes, 144);
  if (!Number.isSafeInteger(lastPage)) throw new DamagedFileError(problem);
  return {
    pageSize,
    lastPage,
    transaction: number64(bytes, 152),
    free: treeAt(bytes, 48),
    main: treeAt(bytes, 96),
  };
}

function treeAt(bytes: Buffer, at: number): Tree {
  return {
    hasIntegerKeys: (bytes.readUInt16LE(at + 4) & INTEGER_KEYS) !== 0,
    depth: bytes.readUInt16LE(at + 6),
    branches: number64(bytes, at + 8),
    leaves: number64(bytes, at + 16),
    overflow: number64(bytes, at + 24),
    entries: number64(bytes, at + 32),
    root: number64(bytes, at + 40),
  };
}

/** @throws DamagedFileError unless keys ascend, and lie between those of the neighboring pages */
function checkOrder(
  { page, from, to }: Step,
  nodes: readonly Node[],
  isLeaf: boolean,
  isInteger: boolean,
): void {
  const compare = isInteger ? byInteger : Buffer.compare;
  // The first key of a branch is ignored and may be empty.
  const first = isLeaf ? 0 : 1;
  if (isInteger && nodes.slice(first).some(({ key }) => key.length !== 8))
    throw damage(page, 'has an impossible key');
  for (let i = first; i < nodes.length; i++) {
    const { key } = nodes[i]!;
    const before = i === first ? from : nodes[i - 1]!.key;
    if (before === undefined) continue;
    const order = compare(before, key);
    if (order > 0 || (order === 0 && i > first)) throw damage(page, 'has keys out of order');
  }
  if (to !== undefined && nodes.length > first && compare(nodes.at(-1)!.key, to) >= 0)
    throw damage(page, 'has keys out of order');
}

function byInteger(a: Buffer, b: Buffer): number {
  return number64(a, 0) - number64(b, 0);
}

/**
 * A list of pages: its length, followed by pages, nothing (0), or the length of a block as a negative number and its
 * first page.
 */
function* blocksIn(list: Buffer, onDamage: OnDamage): Iterable<Block> {
  const length = list.length < 8 ? -1 : Number(list.readBigInt64LE(0));
  if (length < 0 || (length + 1) * 8 > list.length) return onDamage(FREE_LIST_DAMAGED);
  for (let i = 1; i <= length; i++) {
    const entry = Number(list.readBigInt64LE(8 * i));
    if (entry > 0) yield { page: entry, pages: 1 };
    else if (entry < 0 && i < length) yield { page: Number(list.readBigInt64LE(8 * ++i)), pages: -entry };
    else if (entry < 0) onDamage(FREE_LIST_DAMAGED);
  }
}

/** Names of trees may end in a zero. */
export function nameOf(key: Buffer): string {
  return key.toString('latin1').replace(/\0$/, '');
}

function pagesOf(size: number, pageSize: number): number {
  return Math.floor((HEADER - 1 + size) / pageSize) + 1;
}

/** An out-of-range number is too large for any file. */
function number64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

function damage(page: number, problem: string): DamagedFileError {
  return new DamagedFileError(page === NO_PAGE ? 'a tree has no root' : `page ${page} ${problem}`);
}
