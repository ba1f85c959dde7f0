import { chromiumProgram, launchChromium } from '@goshawk/cli/testing';
import { openGateway } from '@goshawk/gateway';
import { changingCluster } from './changing.js';
import { PARTS } from './parts.js';

/** @throws Error if Chromium is not installed */
async function chromium() {
  const program = chromiumProgram();
  if (program === undefined) throw new Error('--ways nobody,readers --watch 0 runs without Chromium');
  return launchChromium(program);
}

/** Opens this many pages, each showing a different part. */
export async function openPages(url: string, count: number): Promise<AsyncDisposable> {
  const browser = await chromium();
  for (let index = 0; index < count; index++) {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    await page.goto(`${url}#/${PARTS[index % PARTS.length]!.address}`);
  }
  return { [Symbol.asyncDispose]: () => browser.close() };
}

/** Measurements of a page in Chromium. */
interface Watched {
  /** The size of the gateway's events. */
  readonly bytesPerSecond: number;
  /** Times between consecutive frames, in ms. */
  readonly frames: readonly number[];
  /** Number of updates that the page received. */
  readonly looks: number;
}

/** Measures one part of the page with this many workers, all of which change with every update. */
export async function watchPage(address: string, workers: number, seconds: number): Promise<Watched> {
  let [bytes, looks] = [0, 0];
  const gateway = await openGateway({
    bind: '127.0.0.1:0',
    tokens: [],
    where: 'a missing cluster',
    version: '0',
    connect: async () => changingCluster(workers, () => looks++),
  });
  const browser = await chromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    const wire = await page.context().newCDPSession(page);
    await wire.send('Network.enable');
    await page.goto(`${gateway.url}/#/${address}`);
    // The first update has everything, once.
    await page.locator('.legend li, .tile').first().waitFor();
    wire.on('Network.dataReceived', ({ dataLength }) => {
      bytes += dataLength;
    });
    looks = 0;
    const frames = await page.evaluate<number[]>(framesFor(1_000 * seconds));
    return { bytesPerSecond: bytes / seconds, frames, looks };
  } finally {
    await browser.close();
    await gateway.close();
  }
}

/** A script of the page. */
function framesFor(ms: number): string {
  return `new Promise((resolve) => {
  const frames = [];
  const began = performance.now();
  let last = began;
  requestAnimationFrame(function next(now) {
    frames.push(now - last);
    last = now;
    if (now - began < ${ms}) requestAnimationFrame(next);
    else resolve(frames);
  });
})`;
}
