/** The names of the pages' sections, by the first part of their paths. */
export const SECTION_NAMES: Readonly<Record<string, string>> = {
  '': 'Home',
  explore: 'Explore',
  service: 'Service',
  fn: 'Function',
  graph: 'Call graph',
  source: 'Source',
  asm: 'Assembly',
  compare: 'Compare',
  releases: 'Releases',
  changes: 'Changes',
  'shared-code': 'Shared code',
  reports: 'Reports',
  machines: 'Machines',
  campaigns: 'Campaigns',
  symbols: 'Symbols',
  status: 'Status',
  settings: 'Settings',
};

/** The first part of a path: `/releases/checkout` belongs to `releases`. */
export function sectionOf(path: string): string {
  return path.split(/[/?#]/)[1] ?? '';
}
