import { Dialog } from '../ui/dialog.tsx';
import type { KeyHelp } from './keys.ts';
import { SingleKeysBox } from './single_keys.tsx';

export default function KeyList({ keys, onClose }: { keys: KeyHelp[]; onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <SingleKeysBox />
      <table class="plain">
        <tbody>
          {keys.map((one) => (
            <tr key={one.keys}>
              <th scope="row">
                {one.keys.split(' ').map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </th>
              <td>{one.what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
