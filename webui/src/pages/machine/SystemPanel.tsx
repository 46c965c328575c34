/** The hardware, the operating system, and the load in the last processed profile. */
import type { MachineAnswer } from '../../api/types.ts';
import { count, percent, significant } from '../../selection/numbers.ts';
import { ShareBar } from '../../views/fleet/ShareBar.tsx';
import { When } from '../../views/fleet/When.tsx';
import { bytesText } from '../../views/fleet/words.ts';
import { Facts } from '../../views/fleet/Facts.tsx';

const mhz = (value: number | null): string | null => (value === null ? null : `${count(value)} MHz`);
const whole = (value: number | null): string | null => (value === null ? null : count(value));
const bytes = (value: number | null): string | null => (value === null ? null : bytesText(value));

export function SystemPanel({ machine, now }: { machine: MachineAnswer; now: number }) {
  const { system } = machine;
  const range = [mhz(system.hardware_min_mhz), mhz(system.hardware_max_mhz)].filter(Boolean).join(' to ');
  return (
    <section className="panel" aria-label="system">
      <h2>
        System{' '}
        <span className="note">
          {machine.described_at === null ? (
            'its gateway has not described it yet'
          ) : (
            <>
              described <When at={machine.described_at} now={now} />
            </>
          )}
        </span>
      </h2>
      <Facts
        facts={[
          ['Platform', machine.platform],
          ['Architecture', machine.architecture],
          ['Logical CPUs', whole(machine.logical_cpus)],
          ['Cores', whole(system.cores)],
          ['Sockets', whole(system.packages)],
          ['NUMA nodes', whole(system.numa_nodes)],
          ['SMT', system.smt],
          ['Memory', bytes(system.memory_bytes)],
          ['Frequency', mhz(system.nominal_mhz)],
          ['Range', range],
          ['Microcode', system.microcode],
          ['Operating system', system.os],
          ['Kernel', machine.kernel],
          ['Kernel version', system.kernel_version],
          ['Virtualization', system.virtualization],
          ['Hostname', system.hostname],
          ['Gateway', machine.address],
          ['Datacenter', machine.datacenter],
          ['Cluster', machine.cluster],
          ['Added', <When key="added" at={machine.added_at} now={now} />],
          ['Labels', labelsText(machine.labels)],
        ]}
      />
    </section>
  );
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

export function LoadPanel({ machine, now }: { machine: MachineAnswer; now: number }) {
  const { load } = machine;
  const averages = [load?.load_1, load?.load_5, load?.load_15]
    .map((value) => (value == null ? '–' : significant(value)))
    .join(', ');
  return (
    <section className="panel" aria-label="load">
      <h2>
        Load{' '}
        {load !== null && (
          <span className="note">
            <When at={load.planned_at} now={now} />
          </span>
        )}
      </h2>
      <Facts
        empty="No profile with the machine’s load has been processed."
        facts={[
          [
            'Busy CPUs',
            machine.utilisation === null ? null : (
              <ShareBar
                key="busy"
                share={machine.utilisation}
                text={`${percent(machine.utilisation, 0)}${machine.busy_cores === null ? '' : `, ${significant(machine.busy_cores)} cores`}`}
              />
            ),
          ],
          ['Load average', load === null ? null : `${averages} (1, 5, 15 min)`],
          ['Tasks', whole(load?.tasks ?? null)],
          ['Free memory', bytes(load?.memory_available_bytes ?? null)],
          ['Swap used', bytes(load?.swap_used_bytes ?? null)],
          ['Governor', load?.governor ?? null],
        ]}
      />
    </section>
  );
}
