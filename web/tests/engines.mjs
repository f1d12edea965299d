// Every package must do with node 18, which is Debian 12's: newer versions of some ask for more.

import {readFileSync} from 'node:fs';

/** Does a range such as "^18.0.0 || >=20" have 18.20 in it? Of what the packages write, no more. */
function admits18(range) {
  return range.split('||').some((part) => {
    const [, operator, major] = /^\s*(\^|~|>=?|)\s*(\d+)/.exec(part) ?? [];
    return operator?.startsWith('>') ? Number(major) <= 18 : Number(major) === 18;
  });
}

const {packages} = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const refusing = Object.entries(packages).filter(([, {engines}]) => engines?.node && !admits18(engines.node));
for (const [name, {version, engines}] of refusing) console.error(`${name} ${version} wants node ${engines.node}`);
process.exitCode = refusing.length > 0 ? 1 : 0;
