/** The texts of a file: builds may have been made from different ones. */
import type { components } from '../../api/schema.gen.ts';

export type SourceVersion = components['schemas']['SourceVersion'];

/** Short, for URLs and choices: the first characters of the text's digest; `unknown` without a stored text. */
export function versionName({ sha256 }: Pick<SourceVersion, 'sha256'>): string {
  return sha256?.slice(0, 12) ?? 'unknown';
}
