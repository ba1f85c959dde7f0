import { join } from 'node:path';
import { printReport, result } from './bench-report.js';
import { Daemons } from './daemons.js';
import { killAfterAnswer } from './durability/kill-after-answer.js';
import { oneKeyTwoClients } from './durability/one-key.js';
import { Folder, note, readOptions } from './script.js';

const options = readOptions({
  kills: 200,
  keys: 100,
  folder: undefined,
});

const folder = new Folder('durability', options.folder);
let daemons = new Daemons(folder.path);
let isGood = true;
try {
  await daemons.startCentralAndWorkers();
  note(`a scheduler is killed ${options.kills} times right after an answer`);
  const killed = await killAfterAnswer(daemons, options.kills, (done) => {
    if (done % 20 === 0) note(`  ${done} kills`);
  });
  isGood &&= killed.lost.length === 0 && killed.doubled.length === 0 && killed.completed === killed.accepted;
  note(`  ${killed.accepted} jobs accepted, ${killed.lost.length} lost, ${killed.completed} completed`);
  note(`each of ${options.keys} keys is submitted by two clients at once`);
  await daemons.stop();
  // A fresh cluster, because the scheduler that is down would own some of the keys.
  daemons = new Daemons(join(folder.path, 'keys'));
  await daemons.startCentralAndWorkers();
  await daemons.startScheduler('one');
  await daemons.startScheduler('two');
  const keys = await oneKeyTwoClients(daemons, options.keys);
  isGood &&= keys.doubled.length === 0;
  const results = [
    result('schedulers killed right after an answer', 'kills', [killed.kills]),
    result('jobs accepted', 'jobs', [killed.accepted]),
    result('jobs lost', 'jobs', [killed.lost.length]),
    result('jobs completed', 'jobs', [killed.completed]),
    result('keys submitted twice that made two jobs', 'keys', [killed.doubled.length + keys.doubled.length]),
  ];
  printReport('durability', results, options.json);
} finally {
  await daemons.stop();
  if (isGood) folder.remove();
}
process.exitCode = isGood ? 0 : 1;
