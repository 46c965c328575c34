/** The cause of a change in words. */
import type { Mover } from '../../api/types.ts';

/** `version r10389 (93 % of the change)`; `why` has the details. */
export function causeOf({ cause, because, release }: Mover): { text: string; why: string } {
  const best = cause?.best ?? null;
  if (best !== null) {
    const value = best.value === '' ? 'none' : best.value;
    const part = Math.round(100 * best.explained.value);
    const range = `${Math.round(100 * best.explained.lo)} to ${Math.round(100 * best.explained.hi)} %`;
    const same = (cause?.inseparable ?? []).map(({ label, value: v }) => `${label} ${v}`);
    const how =
      best.kind === 'mix'
        ? 'its part of the selection changed'
        : 'the function changed where this value runs';
    return {
      text: `${best.label} ${value} (${part} % of the change)`,
      why: `95 % interval ${range}; ${how}${same.length > 0 ? `; always together with ${same.join(', ')}` : ''}`,
    };
  }
  if (release !== null)
    return { text: `version ${release.version}`, why: 'Both versions were compared directly.' };
  return { text: 'not found', why: because?.detail ?? 'No label explains at least half of the change.' };
}
