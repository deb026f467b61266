// One record of a bulk put: an item, and the condition under which it is put.
//
//   {"Item":{...},"ConditionExpression":"...","ExpressionAttributeNames":{"#n":"..."},
//    "ExpressionAttributeValues":{":v":{...}}}
//
// or an Ion struct with these members. Only Item is required. A record with another member is
// refused: it might be a condition that this version does not know.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "exchange/codec.h"
#include "simdjson.h"

namespace stator::exchange {

struct PutRecord {
  std::string item;      // encoded, not checked against its table
  ConditionHolds holds;  // null: without a condition
};

// Reads the text of one document. Not thread-safe.
class RecordReader {
 public:
  explicit RecordReader(const Codec& codec) : codec_(codec) {}
  // Read a record from one document. kCorruption: the text behind this document cannot be parsed
  // either. Any other error: the document is not a record.
  Result<PutRecord> ReadJson(std::string_view text);
  Result<PutRecord> ReadIon(std::string_view text);

 private:
  Result<PutRecord> Compile(std::string item, RecordCondition condition);

  const Codec& codec_;
  simdjson::dom::parser parser_;
};

}  // namespace stator::exchange
