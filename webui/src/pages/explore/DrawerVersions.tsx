/** A function's total in each version, in its panel. */
import type { TableAnswer } from '../../api/types.ts';
import type { ExplorePlace } from '../../app/pages.ts';
import { groundOf, offered } from '../../estimates/measure.ts';
import { RowAmount } from './RowAmount.tsx';

interface Props {
  answer: TableAnswer;
  place: ExplorePlace;
  price: number | null;
}

export function DrawerVersions({ answer, place, price }: Props) {
  const ground = groundOf(answer.totals, answer.selection.select, price);
  const measure = offered(ground).includes(place.measure) ? place.measure : 'share';
  if (answer.rows.length === 0) return <p className="note">no data</p>;
  return (
    <table className="plain">
      <tbody>
        {answer.rows.map((row) => (
          <tr key={row.key['version']}>
            <th scope="row">{row.key['version'] || '(none)'}</th>
            <td className="number">
              <RowAmount row={row} column="total" measure={measure} ground={ground} />
            </td>
          </tr>
        ))}
      </tbody>
      {answer.rows_total > answer.rows.length && (
        <tfoot>
          <tr>
            <td colSpan={2} className="note">
              {answer.rows_total - answer.rows.length} more versions
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}
