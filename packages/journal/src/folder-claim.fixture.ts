import { claimFolder } from './folder-claim.js';

// A process that claims a folder, prints the outcome, and keeps the claim until it is killed.
try {
  await claimFolder(process.argv[2]!);
  process.stdout.write('claimed\n');
  setInterval(() => {}, 1_000);
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
}
