import { closeSync, openSync, writeSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LogSink } from './log-sink.js';

/** Accepts this many bytes, and then has no room. */
function disk(room: number) {
  const disk = {
    room,
    text: '',
    write: (bytes: Buffer) => {
      if (disk.room === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      const taken = bytes.subarray(0, disk.room);
      disk.room -= taken.length;
      disk.text += taken.toString();
      return taken.length;
    },
  };
  return disk;
}

describe('a log', () => {
  test('drops and counts lines while the disk is full, and continues when there is space', () => {
    const full = disk(6);
    const sink = new LogSink(full.write);
    const recovered: number[] = [];
    sink.onRecovered = (dropped) => recovered.push(dropped);
    for (const line of ['one\n', 'two\n', 'three\n']) sink.write(line);
    expect(sink.dropped).toBe(2);
    full.room = 100;
    sink.write('four\n');
    sink.write('five\n');
    expect(full.text).toBe('one\ntw\nfour\nfive\n');
    expect(recovered).toEqual([2]);
  });

  test.runIf(process.platform === 'linux')('continues on a full device', () => {
    const file = openSync('/dev/full', 'w');
    const sink = new LogSink((bytes) => writeSync(file, bytes));
    sink.write('a line\n');
    sink.write('another\n');
    expect(sink.dropped).toBe(2);
    closeSync(file);
  });
});
