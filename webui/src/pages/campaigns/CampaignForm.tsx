/** The form of a new campaign, or of a campaign's changes. Problems are shown at their fields. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState, type FormEvent } from 'react';
import { answerOf, api } from '../../api/client.ts';
import { ApiProblem } from '../../api/problem.ts';
import type { CampaignAnswer, CampaignsAnswer, ChangedCampaign } from '../../api/types.ts';
import { useToast } from '../../app/Toast.tsx';
import { ProblemText } from '../../views/fleet/ProblemText.tsx';
import { changeOf, draftOf, mistakesIn, type Draft, type Field } from './draft.ts';
import { EventFields } from './EventFields.tsx';

const FIELDS: readonly { field: Field; text: string; note: string; number: boolean }[] = [
  { field: 'name', text: 'Name', note: 'Without spaces and slashes.', number: false },
  { field: 'visits_per_round', text: 'Profiles per round', note: 'Over all machines.', number: true },
  { field: 'period_s', text: 'Seconds per round', note: '', number: true },
  {
    field: 'select_machines',
    text: 'Only machines with labels',
    note: 'For example kernel=6.18.1, rack=r1. Empty: all.',
    number: false,
  },
  { field: 'failure_threshold', text: 'Stop at failures of, in %', note: '', number: true },
  { field: 'failure_window', text: 'Of the latest profiles', note: '', number: true },
  {
    field: 'counted_events',
    text: 'Counted events',
    note: 'Besides the default counters, separated by commas.',
    number: false,
  },
  {
    field: 'counted_cgroups',
    text: 'Counted control groups',
    note: 'Counted separately, at most 16.',
    number: true,
  },
];

interface Props {
  /** null: a new campaign. */
  campaign: CampaignAnswer | null;
  /** The server's plan of a new campaign, and the events that are sampled at a rate. */
  terms: Pick<CampaignsAnswer, 'new' | 'timed_events'>;
  close: () => void;
}

export function CampaignForm({ campaign, terms, close }: Props) {
  const id = useId();
  const say = useToast();
  const client = useQueryClient();
  const [unchanged] = useState<Draft | null>(() => campaign && draftOf(campaign, campaign.name));
  const [fresh] = useState<Draft>(() => draftOf(terms.new));
  const [draft, setDraft] = useState<Draft>(unchanged ?? fresh);
  const [isChecked, setChecked] = useState(false);
  const mistakes = mistakesIn(draft, unchanged);
  const change = useMutation({
    mutationFn: () =>
      answerOf<ChangedCampaign>(
        api.PATCH('/api/v1/campaigns/{name}', {
          params: { path: { name: draft.name } },
          body: changeOf(draft, unchanged),
        }),
      ),
    onSuccess: ({ changed, created, note }) => {
      const done = created ? 'Campaign created.' : changed ? 'Campaign changed.' : 'Nothing differs.';
      say(`${done} ${note}`.trim());
      void client.invalidateQueries({ queryKey: ['/api/v1/campaigns'] });
      close();
    },
  });
  const wrong = change.error instanceof ApiProblem ? change.error.parameter.split('.')[0] : '';
  const isKnown = FIELDS.some(({ field }) => field === wrong);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setChecked(true);
    if (Object.keys(mistakes).length === 0) change.mutate();
  };
  return (
    <form
      className="panel-body"
      noValidate
      onSubmit={submit}
      aria-label={campaign ? `change ${campaign.name}` : 'new campaign'}
    >
      <div className="form-grid">
        {FIELDS.filter(({ field }) => field !== 'name' || campaign === null).map(
          ({ field, text, note, number }) => {
            const mistake =
              (isChecked && mistakes[field]) || (wrong === field && change.error ? change.error.message : '');
            return (
              <label key={field} className="field">
                {text}
                <input
                  inputMode={number ? 'decimal' : 'text'}
                  value={draft[field]}
                  spellCheck={false}
                  aria-invalid={mistake !== ''}
                  aria-describedby={`${id}-${field}`}
                  onChange={(event) => setDraft({ ...draft, [field]: event.target.value })}
                />
                <span
                  id={`${id}-${field}`}
                  className={mistake ? 'bad' : 'note'}
                  role={mistake ? 'alert' : undefined}
                >
                  {mistake || note}
                </span>
              </label>
            );
          },
        )}
      </div>
      <EventFields
        draft={draft}
        first={fresh.events[0]}
        timed={terms.timed_events}
        mistakes={isChecked ? mistakes : {}}
        onChange={(events) => setDraft({ ...draft, events })}
      />
      {!isKnown && <ProblemText error={change.error} />}
      <p className="form-actions">
        <button type="submit" className="primary" disabled={change.isPending}>
          {campaign === null ? 'Create and start' : 'Save changes'}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </p>
    </form>
  );
}
