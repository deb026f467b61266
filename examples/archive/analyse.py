#!/usr/bin/env python3
"""Reads an archive and says how many messages each room had, and on which days they expired."""
import collections
import glob
import gzip
import json
import sys

directory = sys.argv[1] if len(sys.argv) > 1 else "/tmp/stator-archive"
rooms = collections.Counter()
days = collections.Counter()
seen = set()
for path in sorted(glob.glob(directory + "/Messages/date=*/hour=*/*.ndjson.gz")):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            change = json.loads(line)
            image = change["dynamodb"]["OldImage"]
            key = (image["room"]["S"], image["id"]["N"])
            assert key not in seen, f"{key} is there twice"
            seen.add(key)
            rooms[image["room"]["S"]] += 1
            days[path.split("date=")[1][:10]] += 1
for room, count in sorted(rooms.items()):
    print(f"{room}: {count}")
print(f"{len(seen)} messages expired on {len(days)} days, from {min(days)} to {max(days)}")
