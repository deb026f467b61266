// The switch for commands of single letters, kept for this browser.
import { singleKeys } from './keys.ts';
import { store } from './settings.ts';

export function SingleKeysBox() {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={singleKeys.value}
        onChange={(event) => {
          singleKeys.value = event.currentTarget.checked;
          store('single-keys', singleKeys.peek());
        }}
      />
      Single letters work as commands
    </label>
  );
}
