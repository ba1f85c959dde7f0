// `npm run demo`: Hawk's prototype experiment (§4.10), small enough to watch. A hundred workers, one central
// and ten schedulers as real processes run Google-like work under Goshawk's own policy, under Hawk, then Sparrow.
//
//     npm run demo -- --for 5s --jobs 600      shorter; any option of `goshawk replay` goes here
//     GOSHAWK_DEMO_FOR=5s npm run demo
import { fileURLToPath } from 'node:url';

const own = process.argv.slice(2);
const report = fileURLToPath(new URL('../report-demo.html', import.meta.url));
const defaults = {
  '--policy': 'goshawk,hawk,sparrow',
  '--workers': '100',
  '--schedulers': '10',
  '--cpus': '1',
  '--load': '0.9',
  '--for': process.env.GOSHAWK_DEMO_FOR || '30s',
  '--report': report,
};
// The variable is not a setting of Goshawk.
delete process.env.GOSHAWK_DEMO_FOR;
// --scale replaces --for.
if (own.some((word) => word === '--scale' || word.startsWith('--scale='))) delete defaults['--for'];

const isGiven = (flag) => own.some((word) => word === flag || word.startsWith(`${flag}=`));
const flags = Object.entries(defaults).flatMap(([flag, value]) => (isGiven(flag) ? [] : [flag, value]));

process.argv.splice(2, own.length, 'replay', 'google-like:jobs=3300,seed=12', ...flags, ...own);
await import('../packages/cli/bin/goshawk.js');
