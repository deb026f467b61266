import type { TableDescription } from '../src/model/table.ts';
import music from './music.json';

export const kMusic = {
  ...music,
  TableStatus: 'ACTIVE',
  TableArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/music',
} as TableDescription;
