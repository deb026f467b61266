// Asks for an access key: as the page itself, or above a page whose session has ended.
import { useState } from 'preact/hooks';
import { tell } from '../api/errors.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Logo } from '../ui/icons.tsx';
import { hasCrypto, signIn } from './session.ts';

export interface SignInProps {
  // Why; empty: no user was signed in before.
  because: string;
  // Of the dialog above a page; null: it is the page.
  onClose: (() => void) | null;
}

export default function SignIn({ because, onClose }: SignInProps) {
  if (onClose) {
    return (
      <Dialog title="Sign in" onClose={onClose}>
        {because !== '' && <p>{because} What you typed stays here.</p>}
        <SignInForm />
      </Dialog>
    );
  }
  return (
    <section class="sign-in card" aria-labelledby="sign-in-title">
      <header>
        <Logo />
        <h1 id="sign-in-title">Sign in to Stator</h1>
      </header>
      <div class="card-body stack">
        {because !== '' && <p class="muted">{because}</p>}
        <SignInForm />
      </div>
    </section>
  );
}

function SignInForm() {
  const [keyId, setKeyId] = useState('');
  const [secret, setSecret] = useState('');
  const [token, setToken] = useState('');
  const [keep, setKeep] = useState(true);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);

  if (!hasCrypto()) {
    return (
      <p role="alert">
        This page cannot sign requests: browsers allow that on https and on localhost only. Put a
        proxy with TLS in front of the server, or open the console through{' '}
        <code>ssh -L 8000:localhost:8000</code>.
      </p>
    );
  }
  const ready = keyId.trim() !== '' && secret.trim() !== '' && !busy;
  const submit = async () => {
    if (!ready) return;
    setBusy(true);
    setError(null);
    try {
      await signIn({ keyId: keyId.trim(), secret: secret.trim(), token: token.trim(), keep });
    } catch (thrown) {
      setError(tell(thrown).message);
      setBusy(false);
    }
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field label="Access key id">
        {(ids) => (
          <input
            {...ids}
            class="mono"
            name="username"
            autocomplete="username"
            autofocus
            spellcheck={false}
            value={keyId}
            onInput={(event) => setKeyId(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field
        label="Secret access key"
        hint="It stays in this browser, as a key that no script can read, and is never sent."
        error={error}
      >
        {(ids) => (
          <input
            {...ids}
            class="mono"
            type="password"
            name="password"
            autocomplete="current-password"
            spellcheck={false}
            value={secret}
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
        )}
      </Field>
      <details>
        <summary>Temporary credentials</summary>
        <Field label="Session token" hint="Of keys that begin with ASIA">
          {(ids) => (
            <textarea
              {...ids}
              class="mono"
              rows={3}
              spellcheck={false}
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          )}
        </Field>
      </details>
      <label class="check">
        <input
          type="checkbox"
          checked={keep}
          onChange={(event) => setKeep(event.currentTarget.checked)}
        />
        Stay signed in when the page is reloaded, up to 12 hours
      </label>
      <div class="row end">
        <button type="submit" class="primary" disabled={!ready}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
      </div>
      <p class="muted small">
        The root user's key is in the file <code>stator-root-key</code> beside the server, or where{' '}
        <code>--root-key-file</code> says. Other users get keys from <code>stator.toml</code> or by{' '}
        <code>aws iam create-access-key</code>.
      </p>
    </form>
  );
}
