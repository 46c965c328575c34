/** The views of the explorer. */
export const VIEWS = [
  { value: 'table', text: 'Table' },
  { value: 'both', text: 'Both' },
  { value: 'flame', text: 'Flame graph' },
] as const;
/** Needs a function. */
export const SANDWICH = {
  value: 'sandwich',
  text: 'Callers and callees',
  title: 'of the chosen function, in all stacks',
} as const;
