/** The texts of a file: builds may have been made from different ones. */
import type { components } from '../../api/schema.gen.ts';

export type SourceVersion = components['schemas']['SourceVersion'];

/** Short, for URLs and choices: the first characters of the text's digest; `unknown` without a stored text. */
export function versionName({ sha256 }: Pick<SourceVersion, 'sha256'>): string {
  return sha256?.slice(0, 12) ?? 'unknown';
}

/** The version of this name, or else the first with a text; null: the file has no samples. */
export function chosenVersion(versions: readonly SourceVersion[], name: string): SourceVersion | null {
  return (
    versions.find((version) => versionName(version) === name) ??
    versions.find(({ sha256 }) => sha256 !== null) ??
    versions[0] ??
    null
  );
}

/** The version's builds, those of this binary first. */
export function inBinary({ builds }: SourceVersion, binary: string): SourceVersion['builds'] {
  return [...builds].sort((a, b) => Number(b.binary === binary) - Number(a.binary === binary));
}
