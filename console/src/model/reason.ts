// The codes of ThrottlingReasons in words.

// TableWriteProvisionedThroughputExceeded -> "Write capacity of the table"
export function reasonWords(reason: string): string {
  const match = /^(Table|Index)(Read|Write)(\w+?)(Exceeded)?$/.exec(reason);
  if (!match) return reason;
  const what = match[1] === 'Table' ? 'the table' : 'the index';
  const access = match[2] === 'Read' ? 'Reads' : 'Writes';
  switch (match[3]) {
    case 'ProvisionedThroughput':
      return `${access} beyond the provisioned capacity of ${what}`;
    case 'KeyRangeThroughput':
      return `${access} beyond what one partition of ${what} can do`;
    case 'MaxOnDemandThroughput':
      return `${access} beyond the on-demand maximum of ${what}`;
    case 'AccountLimit':
      return `${access} beyond the account’s quota for ${what}`;
    default:
      return `${access} of ${what}: ${reason}`;
  }
}

// "1,000 writes/s" of an older server's sentences are units: an item of 5 KB takes five.
export const inUnits = (text: string): string =>
  text.replace(/\b(read|write)s\/s\b/g, '$1 units/s');

// "write" of TableWriteKeyRangeThroughputExceeded.
export const accessOf = (reason: string): 'read' | 'write' =>
  reason.includes('Write') ? 'write' : 'read';
