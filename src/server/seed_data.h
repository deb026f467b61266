// --init DIR: tables and items to start from.
//
//   DIR/NAME.table.json   a CreateTable request
//   DIR/NAME.items.jsonl  one item a line: {"Item": {"pk": {"S": "..."}, ...}}, as exports have it
//
// A table that exists already is left alone, and so are its items.
#pragma once

#include <string>

#include "base/result.h"
#include "ops/context.h"

namespace stator::server {

struct Seeded {
  int tables = 0;
  int64_t items = 0;
};

// Waits until everything is stored; not for a loop's thread. Errors name the file and the line.
Result<Seeded> LoadSeedData(ops::Environment& environment, const std::string& directory);

}  // namespace stator::server
