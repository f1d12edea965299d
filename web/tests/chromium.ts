/** The browser of the tests. */
export const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
