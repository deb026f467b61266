// A form that another page filled in for the next visit of this one: Import, Design.
import type { CreateForm } from '../../model/create.ts';

let waiting: { form: CreateForm } | null = null;

export const handedOver = {
  put(form: CreateForm): void {
    waiting = { form };
  },
  take(): { form: CreateForm } | null {
    const taken = waiting;
    waiting = null;
    return taken;
  },
};
