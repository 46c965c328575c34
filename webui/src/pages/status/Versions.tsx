/** What runs: the server, the database's tables, and the gateways; and the addresses for programs. */
import type { StatusAnswer } from '../../api/types.ts';
import { useSession } from '../../api/useSession.ts';
import { plural } from '../../selection/numbers.ts';
import { Command } from '../../ui/Command.tsx';
import { Facts } from '../../views/fleet/Facts.tsx';

export function Versions({ versions: { api, schema, gateways } }: Pick<StatusAnswer, 'versions'>) {
  const session = useSession();
  return (
    <section className="panel" aria-label="versions">
      <h2>
        Versions <span className="note">gateways: of the latest profile of each machine</span>
      </h2>
      <Facts
        facts={[
          ['API', api],
          ['Database schema', schema || 'unknown'],
          [
            'Gateways',
            gateways.length === 0
              ? 'no profile in the last day'
              : gateways
                  .map(
                    ({ program, machines }) => `${program || 'not recorded'}: ${plural(machines, 'machine')}`,
                  )
                  .join('; '),
          ],
          ['Your role', session.data?.role ?? null],
          [
            'API reference',
            <a key="api" href="/api/v1/openapi.json">
              /api/v1/openapi.json
            </a>,
          ],
          [
            'Health',
            <a key="health" href="/healthz">
              /healthz
            </a>,
          ],
          [
            'Metrics',
            <Command
              key="metrics"
              text={`curl -H "Authorization: Bearer $TOKEN" ${location.origin}/metrics`}
            />,
          ],
        ]}
      />
    </section>
  );
}
