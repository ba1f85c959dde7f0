import {
  closeSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';

/** Numbers below 1, the same for the same seed (mulberry32). */
export function drawing(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Damages a file as disks, copies and people do: truncates, zeroes or overwrites it, flips bits, or replaces it. @returns a
 * description
 */
export function damageFile(path: string, seed: number): string {
  const draw = drawing(seed);
  const below = (count: number): number => Math.floor(draw() * count);
  const { size } = statSync(path);
  const pages = Math.ceil(size / 4_096);
  const file = openSync(path, 'r+');
  const change = (at: number, length: number, to: (byte: number) => number): void => {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - at)));
    readSync(file, bytes, 0, bytes.length, at);
    writeSync(file, bytes.map(to), 0, bytes.length, at);
  };
  const flip = (count: number, from: number, to: number): string => {
    for (let i = 0; i < count; i++) {
      const bit = 1 << below(8);
      change(from + below(to - from), 1, (byte) => byte ^ bit);
    }
    return `${count} bits flipped`;
  };
  try {
    switch (seed % 8) {
      case 0: {
        const length = draw() < 0.5 ? size - 4_096 * (1 + below(3)) : below(size);
        truncateSync(path, Math.max(0, length));
        return `cut to ${length} of ${size} bytes`;
      }
      case 1: {
        const page = below(pages);
        const count = 1 + below(4);
        change(page * 4_096, count * 4_096, () => 0);
        return `${count} pages zeroed from ${page}`;
      }
      case 2:
        return flip(100, 0, size);
      case 3:
        return flip(1, 0, size);
      case 4:
        // Damages structure: one of the first two pages, or a page header.
        if (draw() < 0.5) return `of the first pages, ${flip(1 + below(3), 4_096 * below(2), 4_096 * 2)}`;
        return `of a head, ${flip(1 + below(3), 4_096 * below(pages), Math.min(size, 4_096 * below(pages) + 200))}`;
      case 5: {
        const [from, to] = [below(pages), below(pages)];
        const page = Buffer.alloc(4_096);
        readSync(file, page, 0, page.length, from * 4_096);
        writeSync(file, page, 0, page.length, to * 4_096);
        return `page ${from} written over page ${to}`;
      }
      case 6: {
        const page = below(pages);
        change(page * 4_096 + below(4_096), below(4_096), () => below(256));
        return `noise in page ${page}`;
      }
      default: {
        const foreign = [
          Buffer.alloc(0),
          Buffer.alloc(size),
          Buffer.from('no journal'),
          readFileSync(process.execPath).subarray(0, size),
        ];
        const choice = below(foreign.length);
        writeFileSync(path, foreign[choice]!);
        return `foreign file ${choice}`;
      }
    }
  } finally {
    closeSync(file);
  }
}
