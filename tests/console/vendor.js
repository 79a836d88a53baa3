// Fetches the packages that console/vendor.json names, and copies their files, byte for byte, into console/vendor.
// Another version begins with its name, version and integrity there; the sums of the files are written by this script.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const list = new URL('../../console/vendor.json', import.meta.url);
const packages = JSON.parse(await readFile(list, 'utf8'));
const dir = await mkdtemp(join(tmpdir(), 'fanfold-vendor-'));
try {
  for (const p of packages) {
    const [packed] = JSON.parse(execFileSync('npm', ['pack', '--json', '--pack-destination', dir, `${p.name}@${p.version}`], { encoding: 'utf8' }));
    const archive = join(dir, packed.filename);
    const integrity = 'sha512-' + createHash('sha512').update(await readFile(archive)).digest('base64');
    if (integrity !== p.integrity) throw new Error(`${p.name} ${p.version} is ${integrity}, and vendor.json has ${p.integrity}`);
    const licence = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).split('\n').find((name) => /^package\/licen[cs]e(\.\w+)?$/i.test(name));
    if (licence === undefined) throw new Error(`${p.name} ${p.version} has no licence`);
    const own = p.files[0].file.replace(/\.\w+$/, '.licence.txt');
    p.files = [...p.files.filter((/** @type {any} */ f) => f.file !== own), { file: own, from: licence.slice('package/'.length), sha256: '' }];
    for (const f of p.files) {
      const text = execFileSync('tar', ['-xzOf', archive, 'package/' + f.from], { maxBuffer: 1 << 26 });
      f.sha256 = createHash('sha256').update(text).digest('hex');
      await writeFile(new URL('vendor/' + f.file, list), text);
    }
    console.log(`${p.name} ${p.version}`);
  }
  await writeFile(list, JSON.stringify(packages, null, 2) + '\n');
} finally {
  await rm(dir, { recursive: true });
}
