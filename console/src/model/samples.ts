// The music sample: small enough to be read as a whole, with an attribute of each of the ten types.
import type { AttributeValue, Item } from './value.ts';

export const kMusicTable = {
  TableName: 'music',
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [
    { AttributeName: 'artist', AttributeType: 'S' },
    { AttributeName: 'title', AttributeType: 'S' },
    { AttributeName: 'year', AttributeType: 'N' },
  ],
  KeySchema: [
    { AttributeName: 'artist', KeyType: 'HASH' },
    { AttributeName: 'title', KeyType: 'RANGE' },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: 'by-year',
      KeySchema: [
        { AttributeName: 'year', KeyType: 'HASH' },
        { AttributeName: 'artist', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'ALL' },
    },
  ],
};

const kSongs: Record<string, [string, number, number][]> = {
  'Nina Simone': [
    ['Sinnerman', 1965, 622],
    ['Feeling Good', 1965, 174],
    ['Mississippi Goddam', 1964, 295],
    ['I Put a Spell on You', 1965, 155],
    ['Ain’t Got No, I Got Life', 1968, 137],
    ['My Baby Just Cares for Me', 1958, 216],
    ['Lilac Wine', 1966, 256],
  ],
  'Miles Davis': [
    ['So What', 1959, 562],
    ['Blue in Green', 1959, 337],
    ['All Blues', 1959, 693],
    ['Flamenco Sketches', 1959, 566],
    ['Spanish Key', 1970, 1052],
  ],
  'John Coltrane': [
    ['Acknowledgement', 1965, 463],
    ['Resolution', 1965, 440],
    ['Naima', 1960, 261],
    ['Giant Steps', 1960, 283],
    ['My Favorite Things', 1961, 821],
  ],
  'Billie Holiday': [
    ['Strange Fruit', 1939, 190],
    ['God Bless the Child', 1942, 182],
    ['Autumn in New York', 1952, 217],
  ],
  'Joni Mitchell': [
    ['A Case of You', 1971, 262],
    ['Blue', 1971, 185],
    ['River', 1971, 244],
    ['Both Sides, Now', 1969, 278],
    ['Amelia', 1976, 361],
  ],
  'Aretha Franklin': [
    ['Respect', 1967, 147],
    ['Chain of Fools', 1967, 167],
    ['I Say a Little Prayer', 1968, 216],
  ],
  'David Bowie': [
    ['Space Oddity', 1969, 314],
    ['Life on Mars?', 1971, 235],
    ['Five Years', 1972, 283],
    ['Heroes', 1977, 367],
    ['Blackstar', 2016, 597],
  ],
  'Kate Bush': [
    ['Wuthering Heights', 1978, 268],
    ['Running Up That Hill', 1985, 298],
    ['Cloudbusting', 1985, 310],
  ],
  Radiohead: [
    ['Paranoid Android', 1997, 387],
    ['Everything in Its Right Place', 2000, 251],
    ['Pyramid Song', 2001, 289],
    ['Reckoner', 2007, 290],
  ],
  Björk: [
    ['Jóga', 1997, 305],
    ['Hyperballad', 1995, 321],
    ['Pagan Poetry', 2001, 314],
  ],
};

const kGenres: Record<string, string[]> = {
  'Nina Simone': ['jazz', 'soul', 'blues'],
  'Miles Davis': ['jazz', 'fusion'],
  'John Coltrane': ['jazz'],
  'Billie Holiday': ['jazz', 'blues'],
  'Joni Mitchell': ['folk', 'jazz'],
  'Aretha Franklin': ['soul'],
  'David Bowie': ['rock', 'art rock'],
  'Kate Bush': ['art pop'],
  Radiohead: ['rock', 'electronic'],
  Björk: ['electronic', 'art pop'],
};

export function musicItems(): Item[] {
  const items: Item[] = [];
  for (const [artist, songs] of Object.entries(kSongs)) {
    for (const [title, year, seconds] of songs) {
      const item: Record<string, AttributeValue> = {
        artist: { S: artist },
        title: { S: title },
        year: { N: String(year) },
        seconds: { N: String(seconds) },
        genres: { SS: kGenres[artist] ?? ['other'] },
      };
      if (seconds > 500) item.long = { BOOL: true };
      items.push(item);
    }
  }
  // One item shows all ten types.
  Object.assign(items[0] as Item, {
    live: { BOOL: false },
    remastered: { NULL: true },
    chart: { NS: ['1', '4', '19'] },
    fingerprint: {
      B: 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAUUlEQVR42mP4+uEZJlIN2wtEWKUYMNVhIuwacKlG08NAjGpkPQxEqobrwaIBj6+waMAVYggNeIzHagnpGkh2EqWeJipYSY44cpIGOYmPyOQNAPLT4hQqy/95AAAAAElFTkSuQmCC',
    },
    stems: { BS: ['AAEC', 'AwQF'] },
    plays: { N: '12345678901234567890123456789012345678' },
    credits: {
      M: {
        piano: { S: 'Nina Simone' },
        drums: { S: 'Bobby Hamilton' },
        studio: { M: { city: { S: 'New York' }, year: { N: '1965' } } },
      },
    },
    versions: { L: [{ S: 'album' }, { N: '622' }, { M: { edit: { BOOL: true } } }] },
  });
  return items;
}
