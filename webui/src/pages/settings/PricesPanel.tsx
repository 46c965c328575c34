/** Prices per core-hour: the default of the setting, and those of platforms that differ. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { answerOf, api } from '../../api/client.ts';
import type { Prices } from '../../api/types.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { useReasonAgainst } from '../../api/useSession.ts';
import { useToast } from '../../app/Toast.tsx';
import { DataTable } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { ProblemText } from '../../views/fleet/ProblemText.tsx';
import { When } from '../../views/fleet/When.tsx';

export function PricesPanel() {
  const answer = useAnswer('/api/v1/prices', {});
  const reason = useReasonAgainst('admin');
  const client = useQueryClient();
  const say = useToast();
  const replace = useMutation({
    mutationFn: (platforms: Record<string, number>) =>
      answerOf<Prices>(api.PUT('/api/v1/prices', { body: { platforms } })),
    onSuccess: () => {
      say('Prices saved.');
      void client.invalidateQueries({ queryKey: ['/api/v1/prices'] });
    },
  });
  return (
    <section className="panel" aria-label="prices">
      <h2>
        Prices <span className="note">of a core-hour</span>
      </h2>
      <Answered query={answer} what="the prices" skeleton={<TableSkeleton />}>
        {(prices) => {
          const known = Object.fromEntries(
            prices.platforms.map(({ platform, price_per_core_hour }) => [platform, price_per_core_hour]),
          );
          const without = (platform: string): Record<string, number> =>
            Object.fromEntries(Object.entries(known).filter(([name]) => name !== platform));
          return (
            <>
              <p className="panel-body">
                {prices.default === null
                  ? 'There is no default: FLEETPROF_PRICE_PER_CORE_HOUR is not set.'
                  : `Default: ${prices.default} (FLEETPROF_PRICE_PER_CORE_HOUR).`}
              </p>
              <DataTable
                label="prices of platforms"
                rows={prices.platforms}
                keyOf={({ platform }) => platform}
                empty={<p className="note">No platform has a price of its own.</p>}
                columns={[
                  { name: 'Platform', cell: ({ platform }) => platform, sortBy: ({ platform }) => platform },
                  {
                    name: 'Price',
                    number: true,
                    cell: ({ price_per_core_hour }) => price_per_core_hour,
                    sortBy: ({ price_per_core_hour }) => price_per_core_hour,
                  },
                  {
                    name: 'Changed',
                    cell: ({ changed_at, changed_by }) => (
                      <span title={changed_by}>
                        <When at={changed_at} now={answer.dataUpdatedAt} />
                      </span>
                    ),
                  },
                  {
                    name: 'Remove',
                    cell: ({ platform }) => (
                      <button
                        type="button"
                        disabled={reason !== '' || replace.isPending}
                        title={reason}
                        aria-label={`remove the price of ${platform}`}
                        onClick={() => replace.mutate(without(platform))}
                      >
                        Remove
                      </button>
                    ),
                  },
                ]}
              />
              <AddPrice
                reason={reason}
                busy={replace.isPending}
                add={(platform, price) => replace.mutate({ ...known, [platform]: price })}
              />
              <ProblemText error={replace.error} />
            </>
          );
        }}
      </Answered>
    </section>
  );
}

interface AddProps {
  reason: string;
  busy: boolean;
  add: (platform: string, price: number) => void;
}

function AddPrice({ reason, busy, add }: AddProps) {
  const [platform, setPlatform] = useState('');
  const [price, setPrice] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add(platform.trim(), Number(price));
  };
  return (
    <form className="panel-body" aria-label="price of a platform" onSubmit={submit}>
      <div className="form-grid">
        <label className="field">
          Platform
          <input
            required
            maxLength={256}
            value={platform}
            onChange={(event) => setPlatform(event.target.value)}
          />
        </label>
        <label className="field">
          Price per core-hour
          <input
            type="number"
            required
            min={0}
            step="any"
            value={price}
            onChange={(event) => setPrice(event.target.value)}
          />
        </label>
      </div>
      <p className="form-actions">
        <button type="submit" disabled={reason !== '' || busy} title={reason}>
          Set the price
        </button>
        {reason !== '' && <span className="note">{reason}</span>}
      </p>
    </form>
  );
}
