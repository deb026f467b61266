// What the advice rests on: how each table and index was used, and what the recording does not say.
import { href } from '../../app/router.ts';
import type { AdviceReply, KeyUse } from '../../model/advice.ts';
import { count, percent, unitRate } from '../../ui/format.ts';
import { Scroll } from '../../ui/scroll.tsx';

const kGrades = { good: 'good', fair: 'warn', poor: 'bad', unknown: '' } as const;

export function Looked({
  reply,
  table,
  isThere,
}: {
  reply: AdviceReply;
  table: string | null;
  isThere: (name: string) => boolean;
}) {
  const shown = reply.report.tables.filter((one) => !table || one.name === table);
  const limits = reply.report.recording.limits;
  return (
    <section class="card" aria-labelledby="looked-title">
      <header>
        <h2 id="looked-title">What it rests on</h2>
      </header>
      <div class="card-body stack">
        <Scroll label="Use of tables and indexes">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Table or index</th>
                <th scope="col" class="num">
                  Reads
                </th>
                <th scope="col" class="num">
                  Writes
                </th>
                <th scope="col">Keys read</th>
                <th scope="col">Keys written</th>
                <th scope="col">Hottest key</th>
              </tr>
            </thead>
            <tbody>
              {shown.flatMap((one) =>
                one.resources.map((resource) => (
                  <tr key={`${one.name} ${resource.kind} ${resource.name}`}>
                    <th scope="row">
                      {isThere(one.name) ? (
                        <a href={href(['tables', one.name, 'heat'])}>{one.name}</a>
                      ) : (
                        <>
                          {one.name} <span class="badge">deleted</span>
                        </>
                      )}
                      {resource.kind === 'index' && ` · ${resource.name}`}
                    </th>
                    <td class="num">{count(resource.reads.requests)}</td>
                    <td class="num">{count(resource.writes.requests)}</td>
                    <td>
                      <Grade use={resource.reads} />
                    </td>
                    <td>
                      <Grade use={resource.writes} />
                    </td>
                    <td>
                      <Hottest read={resource.reads} write={resource.writes} />
                    </td>
                  </tr>
                )),
              )}
            </tbody>
          </table>
        </Scroll>
        <ul class="small muted limits">
          {reply.looked < reply.of && (
            <li>
              {count(reply.looked)} of {count(reply.of)} requests were looked at: three seconds were
              not enough for all.
            </li>
          )}
          {limits.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function Grade({ use }: { use: KeyUse }) {
  if (use.requests === 0) return <span class="muted">–</span>;
  if (use.distribution === 'unknown') return <span class="muted">too few</span>;
  // Of one key nothing can be said to be uneven.
  const single = (use.hottest[0]?.share ?? 0) >= 0.9999;
  return (
    <>
      <span class={`badge ${single ? '' : kGrades[use.distribution]}`}>
        {single ? 'one key' : use.distribution}
      </span>{' '}
      <span class="small muted nowrap">at most {unitRate(use.peak_units_per_second)}</span>
    </>
  );
}

function Hottest({ read, write }: { read: KeyUse; write: KeyUse }) {
  const use = write.units > read.units ? write : read;
  const first = use.hottest[0];
  if (!first) return <span class="muted">–</span>;
  return (
    <>
      <code>{first.key.length > 40 ? `${first.key.slice(0, 40)}…` : first.key}</code>{' '}
      <span class="small muted">{percent(first.share)}</span>
    </>
  );
}
