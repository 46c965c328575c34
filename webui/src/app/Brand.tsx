import { Link } from 'wouter';

export function Brand() {
  return (
    <Link className="brand" href="/">
      <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
        <rect width="16" height="16" rx="3" fill="var(--accent)" />
        <path fill="var(--accent-ink)" d="M3 4h10v2H3zm0 3h6v2H3zm0 3h3v2H3z" />
      </svg>
      fleetprof
    </Link>
  );
}
