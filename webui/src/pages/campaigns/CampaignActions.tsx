/** Stop with a reason after a question, or resume. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, api } from '../../api/client.ts';
import type { CampaignAnswer, ChangedCampaign } from '../../api/types.ts';
import { useReasonAgainst } from '../../api/useSession.ts';
import { useToast } from '../../app/Toast.tsx';
import { Confirm } from '../../views/fleet/Confirm.tsx';
import { ProblemText } from '../../views/fleet/ProblemText.tsx';

interface Props {
  campaign: CampaignAnswer;
  change: () => void;
}

export function CampaignActions({ campaign: { name, state }, change }: Props) {
  const reason = useReasonAgainst('operator');
  const client = useQueryClient();
  const say = useToast();
  const [isAsking, setAsking] = useState(false);
  const [why, setWhy] = useState('');
  const done = ({ note }: ChangedCampaign, text: string): void => {
    say(`${text} ${note}`.trim());
    void client.invalidateQueries({ queryKey: ['/api/v1/campaigns'] });
  };
  const params = { path: { name } };
  const stop = useMutation({
    mutationFn: () =>
      answerOf<ChangedCampaign>(
        api.POST('/api/v1/campaigns/{name}/stop', {
          params,
          body: { why: why.trim() || 'Stopped by an operator.' },
        }),
      ),
    onSuccess: (answer) => {
      setAsking(false);
      setWhy('');
      done(answer, `Campaign ${name} is stopped.`);
    },
  });
  const resume = useMutation({
    mutationFn: () => answerOf<ChangedCampaign>(api.POST('/api/v1/campaigns/{name}/resume', { params })),
    onSuccess: (answer) => done(answer, `Campaign ${name} runs.`),
  });
  const isRunning = state === 'running';
  return (
    <>
      <p className="form-actions">
        <button type="button" disabled={reason !== ''} title={reason} onClick={change}>
          Change
        </button>
        {isRunning ? (
          <button type="button" disabled={reason !== ''} title={reason} onClick={() => setAsking(true)}>
            Stop …
          </button>
        ) : (
          <button
            type="button"
            className="primary"
            disabled={reason !== '' || resume.isPending}
            title={reason}
            onClick={() => resume.mutate()}
          >
            Resume
          </button>
        )}
        {reason !== '' && <span className="note">{reason}</span>}
      </p>
      <ProblemText error={resume.error} />
      {isAsking && (
        <Confirm
          title={`Stop the campaign ${name}?`}
          action="Stop the campaign"
          busy={stop.isPending}
          close={() => setAsking(false)}
          run={() => stop.mutate()}
        >
          <p>Its planned profiles are cancelled. It collects nothing until it is resumed.</p>
          <label className="field">
            Reason, shown to all readers
            <input value={why} maxLength={256} onChange={(event) => setWhy(event.target.value)} />
          </label>
          <ProblemText error={stop.error} />
        </Confirm>
      )}
    </>
  );
}
