import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { play } from '../transcripts/play.js';
import { STEPPING_DRIVERS } from './drivers.js';

const FOLDER = join(import.meta.dirname, '../transcripts');
const SUFFIX = '.golden.txt';

const transcripts = readdirSync(FOLDER).filter((file) => file.endsWith(SUFFIX));

/** The simulator is excluded, because it plays the transcripts in separate tests. */
const { 'the simulator': _, ...others } = STEPPING_DRIVERS;

describe.each(Object.entries(others))('%s has the machines do what stands in', (_, makeDriver) => {
  test.each(transcripts)('%s', (file) => {
    const transcript = readFileSync(join(FOLDER, file), 'utf8');
    expect(play(transcript, file.slice(0, -SUFFIX.length), makeDriver)).toBe(transcript);
  });
});
