import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { sumOf } from '@goshawk/core';

/**
 * lmdb's file read as bytes, without its native code, which ends the process over a page that is not as it should be.
 * Nothing is mapped or written, each page is looked at once, and what is wrong is said. The layout is that of lmdb
 * 1.0 as lmdb-js has it (`mdb.c`: MDB_page_header, MDB_meta, MDB_db, MDB_node).
 */
export class LmdbFile {
  /** Size of a page. Bytes. */
  readonly pageSize: number;
  /** The snapshot that lmdb would open. */
  readonly meta: Meta;
  /** The one before it, whose pages have not been used again. */
  readonly previous: Meta;
  readonly #file: number;
  readonly #size: number;
  readonly #chunks = new Map<number, Buffer>();
  /** Which pages have been seen, so that none is used twice and no circle is followed for ever. */
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

  /** @throws DamagedFileError when it is no file of lmdb, or shorter than it says */
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

  /** How many whole pages there are. */
  get pageCount(): number {
    return Math.floor(this.#size / this.pageSize);
  }

  get bytes(): number {
    return this.#size;
  }

  /** Of the pages that trees lead to, in what was read last. */
  get usedBytes(): number {
    return sumOf(this.#seen) * this.pageSize;
  }

  /** The latest transaction that is in the file by now. */
  latestTransaction(): number {
    const [first, second] = readMetas(this.#file, this.#size) as [Meta, Meta];
    return Math.max(first.transaction, second.transaction);
  }

  /**
   * Looks at every page that lmdb may ever follow: trees, values of many pages, and the list of free pages.
   *
   * @returns how many entries each tree has
   * @throws DamagedFileError for the first thing that is wrong
   */
  check(): ReadonlyMap<string, number> {
    const fail: OnDamage = (problem) => {
      throw new DamagedFileError(problem);
    };
    this.#checkEnd(fail);
    const counts = new Map<string, number>();
    for (const [tree] of this.#all(fail, this.meta)) counts.set(tree, (counts.get(tree) ?? 0) + 1);
    this.#checkFree(this.meta.free, fail);
    return counts;
  }

  /**
   * The entries of all trees, each in order; of what is damaged, the rest.
   *
   * @param onDamage told of each part that is left out
   */
  *entries(onDamage: OnDamage, meta: Meta = this.meta): Iterable<Entry> {
    for (const [tree, { key, value }] of this.#all(onDamage, meta)) yield { tree, key, value: value() };
  }

  /** The same, with values that are not read: together they may be gigabytes. */
  *#all(onDamage: OnDamage, { main }: Meta): Iterable<readonly [tree: string, node: Node]> {
    this.#seen.fill(0);
    const trees: [name: string, tree: Tree][] = [];
    for (const { key, flags, value } of this.#entries(main, onDamage)) {
      if ((flags & SUB_TREE) === 0) onDamage('a tree has no root');
      else trees.push([nameOf(key), treeAt(value(), 0)]);
    }
    for (const [name, tree] of trees) {
      for (const node of this.#entries(tree, onDamage)) yield [name, node];
    }
  }

  /** Whether the list of free pages can be read. To be asked after `entries`. */
  knowsFreePages(): boolean {
    this.#free ??= this.#freePages();
    return this.#free !== undefined;
  }

  /**
   * Entries of leaf pages that no tree was found to lead to and that are in use, in the order of the file: what is left
   * of trees whose upper pages are gone. Where nobody knows which pages are free, only of those that the last
   * transaction has written. To be called after `entries`.
   */
  *stray(): Iterable<Omit<Entry, 'tree'>> {
    const knowsFree = this.knowsFreePages();
    for (let page = META_PAGES; page < this.#seen.length; page++) {
      if (this.#seen[page] !== 0 || this.#free?.has(page)) continue;
      let nodes: readonly Node[] = [];
      try {
        const bytes = this.#page(page);
        const isInUse = knowsFree || number64(bytes, 8) === this.meta.transaction;
        if (isInUse && bytes.readUInt16LE(FLAGS) === LEAF) nodes = this.#nodes(page, bytes, LEAF);
      } catch (error) {
        if (!(error instanceof DamagedFileError)) throw error;
      }
      for (const { key, flags, value } of nodes) {
        if ((flags & SUB_TREE) !== 0) continue;
        try {
          yield { key, value: value() };
        } catch (error) {
          if (!(error instanceof DamagedFileError)) throw error;
        }
      }
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #checkEnd(onDamage: OnDamage): void {
    const { lastPage } = this.meta;
    if (lastPage < this.pageCount) return;
    onDamage(`it has ${this.#size} bytes and should have ${(lastPage + 1) * this.pageSize}`);
  }

  /** In order of keys; of an unsound page or subtree, nothing. */
  *#entries(tree: Tree, onDamage: OnDamage): Iterable<Node> {
    const counted = { branches: 0, leaves: 0, overflow: 0, entries: 0 };
    const stack: Step[] =
      tree.root === NO_PAGE ? [] : [{ page: tree.root, depth: 1, from: undefined, to: undefined }];
    let isWhole = true;
    const damaged: OnDamage = (problem) => {
      isWhole = false;
      onDamage(problem);
    };
    while (stack.length > 0) {
      const step = stack.pop()!;
      let nodes: readonly Node[];
      const isLeaf = step.depth === tree.depth;
      try {
        nodes = this.#take(step, isLeaf ? LEAF : BRANCH);
        checkOrder(step, nodes, isLeaf, tree.hasIntegerKeys);
      } catch (error) {
        if (!(error instanceof DamagedFileError)) throw error;
        damaged(error.message);
        continue;
      }
      if (isLeaf) {
        counted.leaves++;
        for (const node of nodes) {
          try {
            if (node.overflow !== undefined) counted.overflow += this.#takeOverflow(node.overflow, node.size);
          } catch (error) {
            if (!(error instanceof DamagedFileError)) throw error;
            damaged(error.message);
            continue;
          }
          counted.entries++;
          yield node;
        }
      } else {
        counted.branches++;
        for (let i = nodes.length - 1; i >= 0; i--) {
          const { child, key } = nodes[i]!;
          const from = i === 0 ? step.from : key;
          stack.push({ page: child, depth: step.depth + 1, from, to: nodes[i + 1]?.key ?? step.to });
        }
      }
    }
    if (!isWhole) return;
    const { branches, leaves, overflow, entries } = tree;
    const agrees =
      branches === counted.branches &&
      leaves === counted.leaves &&
      overflow === counted.overflow &&
      entries === counted.entries;
    if (!agrees) onDamage(`a tree has ${counted.entries} entries and should have ${entries}`);
  }

  /** The nodes of a page that is used once. */
  #take(step: Step, kind: number): readonly Node[] {
    this.#mark(step.page, 1);
    return this.#nodes(step.page, this.#page(step.page), kind);
  }

  /** @returns how many pages a value of its own has */
  #takeOverflow({ page, pages }: Overflow, size: number): number {
    if (pages !== pagesOf(size, this.pageSize)) throw damage(page, 'has a value of another size');
    this.#mark(page, pages);
    const head = this.#sound(page, this.#headOf(page));
    if (head.readUInt16LE(FLAGS) !== OVERFLOW) throw damage(page, 'holds no value');
    if (head.readUInt32LE(LOWER) !== pages) throw damage(page, 'has a value of another size');
    return pages;
  }

  #mark(page: number, count: number): void {
    if (page < META_PAGES || page + count > this.#seen.length) throw damage(page, 'is not in the file');
    for (let at = page; at < page + count; at++) {
      if (this.#seen[at] !== 0) throw damage(at, 'is used twice');
      this.#seen[at] = 1;
    }
  }

  /** @throws DamagedFileError for a page that is not what it is taken for */
  #nodes(page: number, bytes: Buffer, kind: number): readonly Node[] {
    if (bytes.readUInt16LE(FLAGS) !== kind) throw damage(page, 'is of another kind than it should be');
    const room = this.pageSize - HEADER;
    const lower = bytes.readUInt16LE(LOWER);
    const upper = bytes.readUInt16LE(UPPER);
    if (lower % 2 !== 0 || lower > upper || upper > room || lower < (kind === LEAF ? 2 : 4))
      throw damage(page, 'has bounds that cannot be');
    const nodes: Node[] = [];
    const spans: [at: number, size: number][] = [];
    for (let i = 0; i < lower / 2; i++) {
      const at = bytes.readUInt16LE(HEADER + 2 * i);
      if (at < upper || at + NODE > room) throw damage(page, 'has an entry outside of it');
      const node = this.#node(page, bytes, HEADER + at, kind);
      spans.push([at, node.bytes + (node.bytes & 1)]);
      nodes.push(node);
    }
    // Entries lie one behind the other, to the end of the page.
    let end = upper;
    for (const [at, size] of spans.sort(([a], [b]) => a - b)) {
      if (at !== end) throw damage(page, 'has entries that overlap');
      end += size;
    }
    if (end !== room) throw damage(page, 'has entries that overlap');
    return nodes;
  }

  #node(page: number, bytes: Buffer, at: number, kind: number): Node {
    const flags = bytes.readUInt16LE(at + 4);
    const keyBytes = bytes.readUInt16LE(at + 6);
    const size = bytes.readUInt32LE(at);
    const valueAt = at + NODE + keyBytes;
    if (valueAt > this.pageSize) throw damage(page, 'has an entry outside of it');
    const key = bytes.subarray(at + NODE, valueAt);
    const none = { flags: 0, size: 0, child: NO_PAGE, overflow: undefined, key, value: () => EMPTY };
    // The flags of a branch are the upper part of a page's number.
    if (kind === BRANCH) return { ...none, child: size + flags * 2 ** 32, bytes: NODE + keyBytes };
    if (flags !== 0 && flags !== BIG && flags !== SUB_TREE)
      throw damage(page, 'has an entry of no known kind');
    const inPage = flags === BIG ? OVERFLOW_REFERENCE : size;
    if (valueAt + inPage > this.pageSize || (flags === SUB_TREE && size !== TREE))
      throw damage(page, 'has an entry outside of it');
    const taken = { ...none, flags, size, bytes: NODE + keyBytes + inPage };
    if (flags !== BIG) return { ...taken, value: () => bytes.subarray(valueAt, valueAt + size) };
    const overflow = { page: number64(bytes, valueAt), pages: number64(bytes, valueAt + 16) };
    return { ...taken, overflow, value: () => this.#overflowValue(overflow, size) };
  }

  #overflowValue({ page }: Overflow, size: number): Buffer {
    const at = page * this.pageSize + HEADER;
    if (at + size > this.#size) throw damage(page, 'is not in the file');
    const value = Buffer.alloc(size);
    readSync(this.#file, value, 0, size, at);
    return value;
  }

  #checkFree(free: Tree, onDamage: OnDamage): void {
    for (const { key, value } of this.#entries(free, onDamage)) {
      if (key.length !== 8 || number64(key, 0) > this.meta.transaction)
        onDamage('the list of free pages is damaged');
      for (const { page, count } of freeBlocks(value(), onDamage)) {
        try {
          this.#mark(page, count);
        } catch (error) {
          onDamage((error as Error).message);
        }
      }
    }
  }

  /** Undefined when nobody knows which pages are free. */
  #freePages(): ReadonlySet<number> | undefined {
    let isWhole = true;
    const onDamage: OnDamage = () => {
      isWhole = false;
    };
    const pages = new Set<number>();
    for (const { value } of this.#entries(this.meta.free, onDamage)) {
      for (const { page, count } of freeBlocks(value(), onDamage)) {
        for (let at = page; at < Math.min(page + count, this.#seen.length); at++) pages.add(at);
      }
    }
    return isWhole ? pages : undefined;
  }

  /** @throws DamagedFileError for a page that is not there, or says that it is another, or of later */
  #page(page: number): Buffer {
    return this.#sound(page, this.#bytesOf(page));
  }

  #sound(page: number, bytes: Buffer): Buffer {
    if (number64(bytes, 0) !== page) throw damage(page, 'is not where it should be, or was never written');
    if (number64(bytes, 8) > this.meta.transaction) throw damage(page, 'is of a later time than the file');
    return bytes;
  }

  /** Of a value of many pages: what follows is not looked at. */
  #headOf(page: number): Buffer {
    const head = Buffer.alloc(HEADER);
    readSync(this.#file, head, 0, HEADER, page * this.pageSize);
    return head;
  }

  #bytesOf(page: number): Buffer {
    if (page < META_PAGES || page >= this.#seen.length) throw damage(page, 'is not in the file');
    const perChunk = Math.max(1, CHUNK / this.pageSize);
    const number = Math.floor(page / perChunk);
    let chunk = this.#chunks.get(number);
    if (chunk === undefined) {
      chunk = Buffer.alloc(perChunk * this.pageSize);
      readSync(this.#file, chunk, 0, chunk.length, number * chunk.length);
      if (this.#chunks.size >= CHUNKS_MAX) this.#chunks.delete(this.#chunks.keys().next().value!);
      this.#chunks.set(number, chunk);
    }
    const at = (page % perChunk) * this.pageSize;
    return chunk.subarray(at, at + this.pageSize);
  }
}

/** What is wrong with a file, in words that follow "the journal is damaged: ". */
export class DamagedFileError extends Error {
  override name = 'DamagedFileError';
}

type OnDamage = (problem: string) => void;

/** One of the two first pages: what there was after one transaction. */
interface Meta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: number;
  readonly free: Tree;
  readonly main: Tree;
}

/** What is filed under a key in one of the trees. */
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

/** A value too large for a page of its tree: so many pages from here. */
interface Overflow {
  readonly page: number;
  readonly pages: number;
}

interface Node {
  readonly key: Buffer;
  readonly flags: number;
  /** Of the value. Bytes. */
  readonly size: number;
  /** Of the whole node in its page. */
  readonly bytes: number;
  readonly child: number;
  readonly overflow: Overflow | undefined;
  value(): Buffer;
}

/** A page that a tree leads to, and between which keys it has to be. */
interface Step {
  readonly page: number;
  readonly depth: number;
  readonly from: Buffer | undefined;
  readonly to: Buffer | undefined;
}

const EMPTY = Buffer.alloc(0);
const META_PAGES = 2;
/** Of a page's header: its number, its transaction, padding, and these. */
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
/** More pages than any disk has; lmdb writes all ones for a tree without any. */
const NO_PAGE = Number(0xffff_ffff_ffff_ffffn);

const MAGIC = 0xbeef_c0de;
const VERSION = 2;
const META_BYTES = 168;
const PAGE_SIZES = [4_096, 8_192, 16_384, 32_768, 65_536];

/** Read at once, and kept so many. */
const CHUNK = 64 * 1024;
const CHUNKS_MAX = 256;

function readMetas(file: number, size: number): readonly Meta[] {
  const first = metaAt(file, 0, size, 'it is no file of lmdb');
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

/** @throws DamagedFileError unless keys rise, and lie between those of the pages beside it */
function checkOrder(
  { page, from, to }: Step,
  nodes: readonly Node[],
  isLeaf: boolean,
  isInteger: boolean,
): void {
  const compare = isInteger ? byInteger : Buffer.compare;
  // The first key of a branch is not looked at, and may be empty.
  const first = isLeaf ? 0 : 1;
  if (isInteger && nodes.slice(first).some(({ key }) => key.length !== 8))
    throw damage(page, 'has a key that cannot be');
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

/** A list of pages: its length, then pages, nothing (0), or the length of a block as a negative number and its first page. */
function* freeBlocks(
  list: Buffer,
  onDamage: OnDamage,
): Iterable<{ readonly page: number; readonly count: number }> {
  const length = list.length < 8 ? -1 : Number(list.readBigInt64LE(0));
  if (length < 0 || (length + 1) * 8 > list.length) return onDamage('the list of free pages is damaged');
  for (let i = 1; i <= length; i++) {
    const entry = Number(list.readBigInt64LE(8 * i));
    if (entry > 0) yield { page: entry, count: 1 };
    else if (entry < 0 && i < length) yield { page: Number(list.readBigInt64LE(8 * ++i)), count: -entry };
    else if (entry < 0) onDamage('the list of free pages is damaged');
  }
}

/** Names of trees end in a zero, or not. */
export function nameOf(key: Buffer): string {
  return key.toString('latin1').replace(/\0$/, '');
}

function pagesOf(size: number, pageSize: number): number {
  return Math.floor((HEADER - 1 + size) / pageSize) + 1;
}

/** What is too large for a number is too large for a file. */
function number64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

function damage(page: number, problem: string): DamagedFileError {
  return new DamagedFileError(page === NO_PAGE ? 'a tree has no root' : `page ${page} ${problem}`);
}
