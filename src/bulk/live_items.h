// Items of another endpoint on their way into the target.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "bulk/batch.h"
#include "bulk/mask.h"
#include "model/key_schema.h"
#include "simdjson.h"

namespace stator::bulk {

// Changes of different keys: of several changes of a key the last one stays.
class ChangeSet {
 public:
  explicit ChangeSet(const model::KeySchema& key) : key_(key) {}
  // `item` is encoded and has the key.
  void Put(const std::string& item);
  // `key` is an encoded item of the key's attributes.
  void Delete(const std::string& key);
  std::vector<Change> Take() { return std::move(changes_); }

 private:
  void Add(std::string key, Change change);

  const model::KeySchema& key_;
  std::vector<Change> changes_;
  std::unordered_map<std::string, size_t> places_;  // by the encoded key
};

// Returns the encoded item of a JSON object, masked. kValidation if it is none.
Result<std::string> ReadMasked(simdjson::dom::element json, const std::optional<Mask>& mask);

// Returns the puts of a page of a scan.
Result<std::vector<Change>> PutsOf(simdjson::dom::array items, const model::KeySchema& key,
                                   const std::optional<Mask>& mask);

// A page of a stream's records, in their order.
struct RecordPage {
  std::vector<Change> changes;  // of different keys
  size_t records = 0;
  std::string last;            // the sequence number of the last one; empty: there is none
  int64_t created_micros = 0;  // of the last one; 0: it is not said
};
// kValidation for a record that has no image to put.
Result<RecordPage> ChangesOf(simdjson::dom::array records, const model::KeySchema& key,
                             const std::optional<Mask>& mask);

}  // namespace stator::bulk
