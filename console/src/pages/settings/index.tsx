// What the user chooses for this browser, and what the server was started with.
import { SingleKeysBox } from '../../app/single_keys.tsx';
import { boot } from '../../app/state.ts';
import { kThemes, type Theme, theme } from '../../app/theme.ts';
import { Choice } from '../../ui/field.tsx';

export default function Settings() {
  const server = boot.value;
  return (
    <>
      <header class="page-head">
        <h1>Settings</h1>
      </header>
      <section class="card">
        <header>
          <h2>This browser</h2>
        </header>
        <div class="card-body stack">
          <Choice<Theme>
            legend="Colours"
            value={theme.value}
            options={kThemes.map((value) => ({
              value,
              label: { system: 'As the system', light: 'Light', dark: 'Dark' }[value],
            }))}
            onChange={(chosen) => {
              theme.value = chosen;
            }}
          />
          <SingleKeysBox />
        </div>
      </section>
      {server && (
        <section class="card">
          <header>
            <h2>This server</h2>
          </header>
          <div class="card-body">
            <dl class="facts">
              <dt>Version</dt>
              <dd>{server.version}</dd>
              <dt>Engine</dt>
              <dd>
                {server.engine}
                {server.durability && `, durability ${server.durability}`}
              </dd>
              <dt>Region and account</dt>
              <dd>
                {server.region}, {server.account}
              </dd>
              <dt>Throttling</dt>
              <dd>{server.throttling}</dd>
              <dt>Clock</dt>
              <dd>{server.clock.clock}</dd>
              <dt>Access control</dt>
              <dd>
                {server.accessControl ? 'yes' : 'none: whoever reaches the port owns the data'}
              </dd>
            </dl>
          </div>
        </section>
      )}
    </>
  );
}
