import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';

const LOAD = loadavg()[0].toFixed(1);

/** Where and when, as files of `measurements/` have it. */
export function described() {
  return {
    machine: `${cpus().length} cores, Node ${process.versions.node.replace(/\.\d+$/, '')}, load ${LOAD} before`,
    date: new Date().toISOString().slice(0, 10),
    commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim(),
  };
}

/** A file of `measurements/`: a row of a table is a line. */
export function measurementText(measurement) {
  const lists = /\[\n\s+((?:"(?:[^"\\]|\\.)*"|[^[\]{}"])*?)\n\s+\]/g;
  const text = JSON.stringify(measurement, null, 2);
  return `${text.replace(lists, (_, cells) => `[${cells.replace(/\n\s+/g, ' ')}]`)}\n`;
}
