// What stands around every page: navigation, the line at the top, banners, the log of calls.
import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { log } from '../api/log.ts';
import { ask, Questions } from '../ui/dialog.tsx';
import { focusPage } from '../ui/focus.ts';
import { plural } from '../ui/format.ts';
import { Icon, Logo } from '../ui/icons.tsx';
import { job } from '../ui/jobs.ts';
import { Menu } from '../ui/menu.tsx';
import { NewsBar, Spoken } from '../ui/told.tsx';
import { keyHelp, useKeys } from './keys.ts';
import { Lazy } from './lazy.tsx';
import { isLive, lookNow } from './live.ts';
import { type Page, pages } from './pages.ts';
import { go, href, route, setConfirmLeaving } from './router.ts';
import { session, signInBecause, signOut } from './session.ts';
import { store } from './settings.ts';
import { away, boot, limited, pulse, tooOld } from './state.ts';
import { kThemes, theme } from './theme.ts';

// What lies over the page: loaded when it is first opened.
type Over = 'palette' | 'log' | 'keys' | null;
export const over = signal<Over>(null);

const loadPalette = () => import('./palette.tsx');
const loadLog = () => import('./log_drawer.tsx');
const loadKeyList = () => import('./key_list.tsx');
const loadSignIn = () => import('./sign_in.tsx');
const loadJobPanel = () => import('./job_panel.tsx');

// Whether the dialog that asks for an access key is open, where somebody has to sign in again.
const signInOpen = signal(true);
signInBecause.subscribe(() => {
  signInOpen.value = true;
});

setConfirmLeaving((sentence) =>
  ask({
    title: 'Leave without saving?',
    body: <p>{sentence}</p>,
    confirm: 'Leave',
    dangerous: true,
  }),
);

// Nothing can be shown before a user has signed in.
const mustSignIn = (): boolean => signInBecause.value !== null && boot.value === null;

export function Frame() {
  const all = pages();
  const current = currentPage(all);
  useFrameKeys(all);
  return (
    <>
      <button
        type="button"
        class="skip"
        onClick={() => {
          focusPage();
          scrollTo(0, 0);
        }}
      >
        Skip to the page
      </button>
      <Top />
      <Side pages={mustSignIn() ? [] : all} current={current} />
      <Main page={current} />
      <Overlays />
    </>
  );
}

// What is typed right after Ctrl K is for the palette: it is there before it is asked for.
setTimeout(() => void loadPalette().catch(() => {}), 1500);

function currentPage(all: readonly Page[]): Page {
  const [first = 'overview'] = route.value.path;
  return all.find((page) => page.id === first) ?? (all[0] as Page);
}

function useFrameKeys(all: readonly Page[]): void {
  const bindings: Record<string, () => void> = {
    'ctrl+k': () => {
      over.value = 'palette';
    },
    '?': () => {
      over.value = 'keys';
    },
    r: lookNow,
    l: toggleLive,
  };
  const help: Record<string, string> = {
    'Ctrl K': 'Search pages, tables, actions and keys',
    '?': 'This list',
    r: 'Ask the server again',
    l: 'Follow the server, or pause',
  };
  for (const page of all) {
    bindings[`g ${page.key}`] = () => void go(href([page.id]));
    help[`g ${page.key}`] = page.name;
  }
  useKeys(bindings, help);
}

function toggleLive(): void {
  isLive.value = !isLive.peek();
  store('live', isLive.peek());
}

function Top() {
  const server = boot.value;
  const now = pulse.value;
  return (
    <header class="top">
      <a class="brand" href={href(['overview'])}>
        <Logo />
        Stator
      </a>
      {server?.title && <span class={`server-title ${server.colour ?? ''}`}>{server.title}</span>}
      <button
        type="button"
        class="palette-button"
        aria-label="Search or jump to… Ctrl K"
        onClick={() => {
          over.value = 'palette';
        }}
      >
        <Icon name="search" />
        <span>Search or jump to…</span>
        <kbd>Ctrl K</kbd>
      </button>
      <div class="top-right">
        {server && (
          <span class="server-name" title={`Stator ${server.version}, account ${server.account}`}>
            {location.host} · {server.engine} · {server.region}
          </span>
        )}
        {server?.production && <span class="badge bad">production</span>}
        {server?.readOnly && <span class="badge warn">read-only</span>}
        {now?.clock === 'manual' && <span class="badge warn">manual clock</span>}
        {now && !now.writable && <span class="badge bad">not writable</span>}
        {server?.throttling === 'enforce' && <span class="badge">throttling enforced</span>}
        <LiveButton />
        <LogButton />
        <ThemeButton />
        <UserMenu />
      </div>
    </header>
  );
}

function LiveButton() {
  const live = isLive.value;
  const state = away.value !== null ? 'away' : live ? 'live' : 'paused';
  const words = { away: 'Server away', live: 'Live', paused: 'Paused' }[state];
  return (
    <button
      type="button"
      class={`quiet live ${state}`}
      aria-pressed={live}
      title={live ? 'Following the server. Pause with l.' : 'Paused. Go on with l.'}
      onClick={toggleLive}
    >
      <span class="dot" aria-hidden="true" />
      {words}
    </button>
  );
}

function LogButton() {
  const failures = log.failures.value;
  return (
    <button
      type="button"
      class="quiet square"
      aria-label={failures > 0 ? `Log of calls, ${plural(failures, 'failure')}` : 'Log of calls'}
      title={
        failures > 0
          ? `${plural(failures, 'call')} of this page failed: open the log`
          : 'Calls that this page made'
      }
      onClick={() => {
        over.value = over.peek() === 'log' ? null : 'log';
      }}
    >
      <Icon name="log" />
      {failures > 0 && <span class="count">{failures > 99 ? '99+' : failures}</span>}
    </button>
  );
}

function UserMenu() {
  const user = session.value;
  if (!user) return null;
  // arn:aws:iam::000000000000:user/alice, or :root.
  const name = user.arn.replace(/^.*[:/]/, '');
  return (
    <Menu
      label={`Signed in as ${name}`}
      class="quiet user"
      items={[
        { label: 'Users and policies', icon: 'user', run: () => void go(href(['access'])) },
        null,
        {
          label: 'Sign out',
          icon: 'out',
          run: () => void signOut('You signed out.').then(() => location.reload()),
        },
      ]}
    >
      <Icon name="user" />
      <span title={user.arn}>{name}</span>
    </Menu>
  );
}

const kThemeIcons = { system: 'auto', light: 'sun', dark: 'moon' } as const;

function ThemeButton() {
  const chosen = theme.value;
  const next = kThemes[(kThemes.indexOf(chosen) + 1) % kThemes.length] ?? 'system';
  return (
    <button
      type="button"
      class="quiet square"
      aria-label={`Colours: ${chosen}. Change to ${next}`}
      title={`Colours: ${chosen}`}
      onClick={() => {
        theme.value = next;
      }}
    >
      <Icon name={kThemeIcons[chosen]} />
    </button>
  );
}

function Side({ pages: all, current }: { pages: readonly Page[]; current: Page }) {
  const open = useSignal(false);
  // A page was chosen: the menu of narrow windows closes.
  const path = route.value;
  useEffect(() => {
    open.value = false;
  }, [path, open]);
  return (
    <nav class={`side ${open.value ? 'open' : ''}`} aria-label="Pages">
      <button
        type="button"
        class="side-toggle quiet"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon name="menu" />
        {current.name}
      </button>
      <ul>
        {all.map((page) => (
          <li key={page.id}>
            <a href={href([page.id])} aria-current={page === current ? 'page' : undefined}>
              <Icon name={page.icon} />
              {page.name}
            </a>
          </li>
        ))}
      </ul>
      <p class="side-foot muted small">
        <button
          type="button"
          class="link"
          onClick={() => {
            over.value = 'keys';
          }}
        >
          Keyboard <kbd>?</kbd>
        </button>
      </p>
    </nav>
  );
}

function Main({ page }: { page: Page }) {
  const ref = useRef<HTMLElement>(null);
  const place = route.value.path.slice(0, 3).join('/');
  const previous = useRef<string | null>(null);
  useEffect(() => {
    // The first view leaves the focus where the browser put it; a panel that opened with the page
    // has it already.
    if (previous.current !== null && previous.current !== place) {
      if (!document.activeElement?.closest('.drawer')) ref.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    previous.current = place;
  }, [place]);
  const table = route.value.path[0] === 'tables' ? route.value.path[1] : undefined;
  useEffect(() => {
    document.title = [table, page.name, 'Stator'].filter(Boolean).join(' · ');
  }, [page, table]);
  return (
    <main class="page" ref={ref} tabIndex={-1}>
      <Banners />
      {tooOld.value ? (
        <TooOld />
      ) : mustSignIn() ? (
        <Lazy load={loadSignIn} props={{ because: signInBecause.value ?? '', onClose: null }} />
      ) : (
        <Lazy key={page.id} load={page.load} props={{}} />
      )}
    </main>
  );
}

function Banners() {
  const why = away.value;
  const now = pulse.value;
  const server = boot.value;
  return (
    <>
      {why !== null && (
        <div class="banner bad" role="alert">
          <Icon name="warn" />
          <span>
            <strong>The server does not answer</strong> ({why}). What you typed stays here; the page
            asks again every two seconds.
          </span>
        </div>
      )}
      {signInBecause.value !== null && server && (
        <div class="banner warn">
          <Icon name="user" />
          <span>
            <strong>Nobody is signed in.</strong> {signInBecause.value}
          </span>
          <button
            type="button"
            class="small"
            onClick={() => {
              signInOpen.value = true;
            }}
          >
            Sign in
          </button>
        </div>
      )}
      {limited.value !== null && (
        <div class="banner warn">
          <Icon name="warn" />
          <span>
            <strong>Traffic and heat are not shown:</strong> {limited.value}
          </span>
        </div>
      )}
      {why === null && now && now.faults > 0 && (
        <div class="banner bad">
          <Icon name="faults" />
          <span>
            <strong>{plural(now.faults, 'fault rule')} set:</strong> this server misbehaves on
            purpose.
          </span>
        </div>
      )}
      {why === null && now && now.notReady !== null && (
        <div class="banner bad" role="alert">
          <Icon name="warn" />
          <span>
            <strong>Not ready:</strong> {now.notReady}
          </span>
        </div>
      )}
      {server && !server.accessControl && !server.loopback && (
        <div class="banner warn">
          <Icon name="warn" />
          <span>This server has no access control: whoever reaches this port owns the data.</span>
        </div>
      )}
    </>
  );
}

function TooOld() {
  return (
    <div class="empty">
      <h1>This server is older than the console</h1>
      <p>
        It has none of the calls that the console needs (<code>GET /_stator/console/boot</code>,{' '}
        <code>GET /_stator/pulse</code>). Start the console that came with it, or upgrade the
        server.
      </p>
    </div>
  );
}

function Overlays() {
  const close = () => {
    over.value = null;
  };
  return (
    <>
      {over.value === 'palette' && <Lazy load={loadPalette} props={{ onClose: close }} />}
      {over.value === 'log' && <Lazy load={loadLog} props={{ onClose: close }} />}
      {over.value === 'keys' && (
        <Lazy load={loadKeyList} props={{ onClose: close, keys: keyHelp() }} />
      )}
      {signInBecause.value !== null && boot.value !== null && signInOpen.value && (
        <Lazy
          load={loadSignIn}
          props={{
            because: signInBecause.value,
            onClose: () => {
              signInOpen.value = false;
            },
          }}
        />
      )}
      {job.value && <Lazy load={loadJobPanel} props={{}} />}
      <Questions />
      <NewsBar />
      <Spoken />
    </>
  );
}
