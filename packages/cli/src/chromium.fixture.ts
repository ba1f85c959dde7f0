import { existsSync } from 'node:fs';
import { leaveOut } from '@goshawk/journal/testing';
import type { Browser } from 'playwright-core';

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/**
 * Returns the path of Chromium; undefined, with a notice about skipped tests, if it is not installed.
 *
 * @throws with `GOSHAWK_REQUIRE=chromium` if it is not installed
 */
export function chromiumProgram(): string | undefined {
  const found = PROGRAMS.find((program) => existsSync(program));
  if (found !== undefined) return found;
  leaveOut(
    'chromium',
    'there is no Chromium on this machine (apt-get install chromium)',
    'the tests of the page',
  );
  return undefined;
}

export async function launchChromium(program: string): Promise<Browser> {
  // Loaded here: tests and benches without a browser import this module too.
  const { chromium } = await import('playwright-core');
  // Chromium's sandbox does not work for root in containers, where tests run; the browser opens only the
  // dashboard.
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** Closes a browser. If it does not exit within 20 s, Playwright kills it when this process exits. */
export async function closeChromium(browser: Browser): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, 20_000);
  });
  await Promise.race([browser.close(), late]);
  clearTimeout(timer);
}
